// The limits of an access key as rules for one namespace: one list for the scope and one for each rule set.

import type { AccessKeyRestrictions, AccessKeyRule, AccessKeyScope } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { alwaysAllowedRules } from "./always-allowed.ts";
import { FILTERED_RESOURCES } from "./filtered-resources.ts";
import { issuesCredential } from "./issues-credential.ts";
import type { ProxyRequest, RequestDestination } from "./platform-request.ts";
import { allowsAll, matchesName, ruleApplies } from "./rules.ts";
import type { ScopeContext } from "./scope-context.ts";

/** A request must be allowed by all lists. May tell less than the restrictions open, never more. */
export function restrictionRules(
  { scope, ruleSets }: AccessKeyRestrictions,
  namespace: string,
  { names }: ScopeContext,
): readonly (readonly PolicyRule[])[] {
  const always = alwaysAllowedRules(names);
  if (scope === undefined && ruleSets.length === 0) return [always];
  return [
    ...(scope === undefined ? [] : [[...always, ...scopeRules(scope, namespace, names)]]),
    ...ruleSets.map((rules) => [...always, ...rules.flatMap((rule) => rulesOf(rule, namespace, names))]),
  ];
}

function scopeRules(scope: AccessKeyScope, namespace: string, names: PlatformNames): readonly PolicyRule[] {
  const project = names.projectOf(namespace);
  const isHere = (entry: { readonly project: string }): boolean =>
    project !== undefined && matchesName(entry.project, project);
  const managed = (verbs: readonly string[], resources: readonly string[], name: string): PolicyRule => ({
    verbs,
    apiGroups: [names.managementGroup],
    resources,
    // A name that is a star has been widened to what the rule is about.
    resourceNames: name === "*" ? [] : [name],
    nonResourceURLs: [],
  });
  const intoInstance = (resource: string, name: string): readonly PolicyRule[] => [
    managed(["get", "use"], [resource], name),
    managed(["create"], [`${resource}/kubeconfig`], name),
  ];
  return [
    managed(["list", "watch"], FILTERED_RESOURCES, "*"),
    ...scope.projects.filter(isHere).map(() => inNamespace),
    ...scope.virtualClusters
      .filter(isHere)
      .flatMap((entry) => [
        ...intoInstance("virtualclusterinstances", entry.virtualCluster),
        ...projectRead(managed, project),
      ]),
    ...scope.spaces
      .filter(isHere)
      .flatMap((entry) => [...intoInstance("spaceinstances", entry.space), ...projectRead(managed, project)]),
    ...scope.clusters.map(({ cluster }) => managed(["get", "use"], ["clusters"], cluster)),
  ];
}

const projectRead = (
  managed: (verbs: readonly string[], resources: readonly string[], name: string) => PolicyRule,
  project: string | undefined,
): readonly PolicyRule[] => (project === undefined ? [] : [managed(["get"], ["projects"], project)]);

/** In a namespace, the entry of a project allows everything. */
const inNamespace: PolicyRule = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  resourceNames: [],
  nonResourceURLs: [],
};

/**
 * The rules of each list in a namespace behind the proxy; a request must be allowed by all lists. A scope allows the whole cluster: otherwise the
 * request would have been refused before.
 */
export const restrictionRulesBehind = (
  { ruleSets }: AccessKeyRestrictions,
  target: RequestDestination<ProxyRequest>,
  namespace: string,
  names: PlatformNames,
): readonly (readonly PolicyRule[])[] =>
  ruleSets.map((rules) =>
    rules
      .filter((rule) => ruleApplies(rule, target, names))
      .flatMap((rule) => {
        const opened = contentsOf(rule, namespace, true);
        return allowsAll(rule) ? opened : opened.flatMap(withoutCredentials);
      }),
  );

/** Credentials of a cluster come only with all of it. A star includes them, so such a rule is dropped as a whole. */
function withoutCredentials(rule: PolicyRule): readonly PolicyRule[] {
  if (rule.resources.length === 0) return [rule];
  const resources = rule.resources.filter((pattern) => {
    const [resource = "", subresource = ""] = pattern.split("/");
    if (resource === "*" && subresource === "") return true;
    return !rule.apiGroups.some((apiGroup) =>
      issuesCredential({ isResourceRequest: true, verb: "create", apiGroup, resource, subresource }),
    );
  });
  return resources.length === 0 ? [] : [{ ...rule, resources }];
}

const MANAGEMENT = { target: "Management" } as const;

/** Undefined parts of a rule are open; what rules of roles cannot say is left out. */
const rulesOf = (rule: AccessKeyRule, namespace: string, names: PlatformNames): readonly PolicyRule[] =>
  // At the level of the cluster a star would take in access keys, which it does not open.
  ruleApplies(rule, MANAGEMENT, names) ? contentsOf(rule, namespace, namespace !== "") : [];

function contentsOf(rule: AccessKeyRule, namespace: string, hasStars: boolean): readonly PolicyRule[] {
  const { namespaces, resources, nonResourceURLs } = rule;
  const verbs = rule.verbs.length === 0 ? ["*"] : rule.verbs;
  const namesNothing = resources.length === 0 && nonResourceURLs.length === 0;
  const paths = namespaces.length > 0 ? [] : namesNothing ? ["*"] : nonResourceURLs;
  const onPaths = paths.length === 0 ? [] : [{ ...NOTHING, verbs, nonResourceURLs: paths }];
  if (resources.length === 0 && !namesNothing) return onPaths;
  // Cluster-wide permissions apply in every namespace: a rule with namespaces cannot express them.
  if (namespaces.length > 0 && (namespace === "" || !namespaces.includes(namespace))) return onPaths;
  const selectors = namesNothing ? [{ group: "*", resources: [], resourceNames: [] }] : resources;
  const onResources = selectors.flatMap((selector) => {
    if (selector.resources.length === 0 && selector.resourceNames.length > 0) return [];
    const named = selector.resources.filter((pattern) => !pattern.endsWith("/*") && (hasStars || pattern !== "*"));
    const patterns = selector.resources.length === 0 && hasStars ? ["*"] : named;
    if (patterns.length === 0) return [];
    return [
      { ...NOTHING, verbs, apiGroups: [selector.group], resources: patterns, resourceNames: selector.resourceNames },
    ];
  });
  return [...onPaths, ...onResources];
}

const NOTHING: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
