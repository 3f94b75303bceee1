// The limits of an access key as rules for one namespace: one list for the scope and one for each rule set.

import type {
  AccessKeyRestrictions,
  AccessKeyRule,
  AccessKeyScope,
  VirtualClusterEntry,
} from "@postern/api/access-key-restrictions";
import { CLUSTER_INVENTORY_GROUP } from "@postern/api/cluster-profile";
import type { PlatformNames } from "@postern/api/platform-names";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { FILTERED_RESOURCES, groupOfFiltered } from "../filtered-resources.ts";
import type { InstancePermissionIndex } from "../members/instance-permissions.ts";
import { issuesCredential } from "../request/issues-credential.ts";
import type { ProxyRequest, RequestDestination } from "../request/platform-request.ts";
import { alwaysAllowedRules } from "../restrictions/always-allowed.ts";
import type { RestrictionIndex } from "../restrictions/restriction-index.ts";
import { allowsAll, matchesName, ruleApplies } from "../restrictions/rules.ts";

export type RestrictionRulesContext = {
  readonly names: PlatformNames;
  readonly instances: Pick<InstancePermissionIndex, "entries">;
  readonly index: RestrictionIndex;
};

/** Each list must allow a request. They may allow less than the restrictions themselves, never more. */
export function restrictionRules(
  { scope, ruleSets }: AccessKeyRestrictions,
  namespace: string,
  context: RestrictionRulesContext,
): readonly (readonly PolicyRule[])[] {
  const { names } = context;
  const always = alwaysAllowedRules(names);
  if (scope === undefined && ruleSets.length === 0) return [always];
  return [
    ...(scope === undefined ? [] : [[...always, ...scopeRules(scope, namespace, context)]]),
    ...ruleSets.map((rules) => [...always, ...rules.flatMap((rule) => rulesOf(rule, namespace, names))]),
  ];
}

function scopeRules(scope: AccessKeyScope, namespace: string, context: RestrictionRulesContext): readonly PolicyRule[] {
  const { names } = context;
  const budget = { left: MAX_COMPARED };
  const project = names.projectOf(namespace);
  /** A star is a wildcard, and names every object. */
  const ruleIn =
    (group: string) =>
    (verbs: readonly string[], resources: readonly string[], ...of: readonly string[]): PolicyRule => ({
      ...NOTHING,
      verbs,
      apiGroups: [group],
      resources,
      resourceNames: of.includes("*") ? [] : of,
    });
  const managed = ruleIn(names.managementGroup);
  const lists = [names.managementGroup, CLUSTER_INVENTORY_GROUP].map((group) => {
    const served = FILTERED_RESOURCES.filter((resource) => groupOfFiltered(resource, names) === group);
    return ruleIn(group)(["list", "watch"], served, "*");
  });
  const isOfProject = (entry: { readonly project: string }): boolean =>
    project !== undefined && matchesName(entry.project, project);
  const instanceRules = (resource: string, of: readonly string[]): readonly PolicyRule[] => [
    ...(of.length === 0
      ? []
      : [managed(["get", "use"], [resource], ...of), managed(["create"], [`${resource}/kubeconfig`], ...of)]),
    ...(project === undefined ? [] : [managed(["get"], ["projects"], project)]),
  ];
  return [
    ...lists,
    ...scope.projects.filter(isOfProject).map(() => WHOLE_NAMESPACE),
    ...scope.virtualClusters.filter(isOfProject).flatMap((entry) => {
      const meant = namesMeant(entry, namespace, context, budget);
      const profiles =
        meant.length === 0 ? [] : [ruleIn(CLUSTER_INVENTORY_GROUP)(["get"], ["clusterprofiles"], ...meant)];
      return [...instanceRules("virtualclusterinstances", meant), ...profiles];
    }),
    ...scope.spaces.filter(isOfProject).flatMap(({ space }) => instanceRules("spaceinstances", [space])),
    ...scope.clusters.map(({ cluster }) => managed(["get", "use"], ["clusters"], cluster)),
  ];
}

/** Comparisons of virtual clusters with selectors for one answer. It leaves out those beyond. */
const MAX_COMPARED = 20_000;

/** Names of the virtual clusters that an entry opens; a star for all. */
function namesMeant(
  { virtualCluster, labels }: VirtualClusterEntry,
  namespace: string,
  { instances, index }: RestrictionRulesContext,
  budget: { left: number },
): readonly string[] {
  if (labels === undefined) return [virtualCluster];
  if (budget.left <= 0) return [];
  const found: string[] = [];
  for (const [name, { labels: own }] of instances.entries("virtualclusterinstances", namespace)) {
    if (budget.left-- <= 0) break;
    if ((virtualCluster === "" || virtualCluster === name) && index.selects(labels, own)) found.push(name);
  }
  return found;
}

const NOTHING: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** A scope entry for a project allows everything in its namespace. */
const WHOLE_NAMESPACE: PolicyRule = { ...NOTHING, verbs: ["*"], apiGroups: ["*"], resources: ["*"] };

/**
 * The same for a namespace of a cluster behind the proxy. A scope adds no list: it allows the whole cluster, or the request would have been refused
 * before.
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
        const contents = contentsOf(rule, namespace, { hasStars: true });
        return allowsAll(rule) ? contents : contents.flatMap(withoutCredentials);
      }),
  );

/** Only a rule for the whole cluster allows requests that issue credentials of it. A star stays, although it names those requests as well. */
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

const rulesOf = (rule: AccessKeyRule, namespace: string, names: PlatformNames): readonly PolicyRule[] =>
  // Outside of namespaces a star would include access keys, which a rule with a star does not allow.
  ruleApplies(rule, MANAGEMENT, names) ? contentsOf(rule, namespace, { hasStars: namespace !== "" }) : [];

/** An empty list of the rule is no limit. A part that a PolicyRule cannot express is left out. */
function contentsOf(
  rule: AccessKeyRule,
  namespace: string,
  { hasStars }: { readonly hasStars: boolean },
): readonly PolicyRule[] {
  const { namespaces, resources, nonResourceURLs } = rule;
  const verbs = rule.verbs.length === 0 ? ["*"] : rule.verbs;
  const isUnlimited = resources.length === 0 && nonResourceURLs.length === 0;
  const paths = namespaces.length > 0 ? [] : isUnlimited ? ["*"] : nonResourceURLs;
  const onPaths = paths.length === 0 ? [] : [{ ...NOTHING, verbs, nonResourceURLs: paths }];
  if (resources.length === 0 && !isUnlimited) return onPaths;
  // Cluster-wide permissions apply in every namespace: a rule with namespaces cannot express them.
  if (namespaces.length > 0 && (namespace === "" || !namespaces.includes(namespace))) return onPaths;
  const selectors = isUnlimited ? [{ group: "*", resources: [], resourceNames: [] }] : resources;
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
