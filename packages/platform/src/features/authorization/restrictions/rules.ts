// The deprecated rules of an access key: which requests they allow, field by field as the interface describes. Shape and reading are those of audit
// policies: k8s.io/apiserver/pkg/audit/policy/checker.go

import type { AccessKeyRule } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import { isAccessKeyRequest } from "../request/access-key-request.ts";
import { issuesCredential } from "../request/issues-credential.ts";
import {
  type PlatformRequest,
  type RequestDestination,
  resourceWithSubresource,
  type TargetedRequest,
} from "../request/platform-request.ts";
import { type Filing, type NamedValues, RestrictionIndex } from "./restriction-index.ts";

type RuleNames = Pick<PlatformNames, "managementGroup" | "storageGroup" | "projectNamespace">;

/** Index of the first rule that opens the request; -1 when none does. */
export function allowingRule(
  rules: readonly AccessKeyRule[],
  request: PlatformRequest,
  names: RuleNames,
  index: RestrictionIndex = new RestrictionIndex(),
): number {
  // Access keys make access keys: only a rule that names them means them.
  const mustName = request.target === "Management" && isAccessKeyRequest(request.inner, names);
  // Rules do not limit credentials created behind the proxy: only a rule that allows the whole cluster covers such a request.
  const mustOpenAll = request.target !== "Management" && issuesCredential(request.inner);
  return index.findIndex(
    rules,
    RULES,
    () => askedOfRules(request),
    (rule) =>
      ruleAllowsRequest(rule, request, names, index) &&
      (!mustName || namesResource(rule, request.inner, index)) &&
      (!mustOpenAll || allowsAll(rule)),
  );
}

const RULES: Filing<AccessKeyRule> = {
  valuesOf({ verbs, resources, namespaces, nonResourceURLs, cluster, virtualClusters }) {
    const isAboutResources = resources.length > 0 && nonResourceURLs.length === 0;
    const isAboutPaths = resources.length === 0 && nonResourceURLs.length > 0;
    const namesAll = isAboutResources && resources.every(({ resourceNames }) => resourceNames.length > 0);
    const hasNoStar = isAboutPaths && !nonResourceURLs.some((url) => url.endsWith("*"));
    return [
      narrowing(verbs),
      isAboutResources ? patternsOf(resources) : undefined,
      namesAll ? resources.flatMap(({ resourceNames }) => resourceNames) : undefined,
      namespaces.length === 0 ? undefined : namespaces,
      hasNoStar ? nonResourceURLs : undefined,
      narrowing(cluster === "" ? [] : [cluster]),
      virtualClusters.some(({ name }) => name === "") ? undefined : narrowing(virtualClusters.map(({ name }) => name)),
    ];
  },
};

function askedOfRules(request: PlatformRequest): readonly (readonly string[])[] {
  const { isResourceRequest, verb, namespace, name, path } = request.inner;
  const place = isResourceRequest ? [formsOf(request.inner), [name], [namespace], []] : [[], [], [], [path]];
  const cluster = request.target === "Cluster" ? [request.cluster] : [];
  return [[verb], ...place, cluster, request.target === "ProjectVirtualCluster" ? [request.virtualCluster] : []];
}

/** Undefined for an empty list, and for one with a star. */
const narrowing = (values: readonly string[]): NamedValues =>
  values.length === 0 || values.includes("*") ? undefined : values;

/** A selector without resources is about all of its group. */
const patternsOf = (selectors: readonly ResourceSelector[]): NamedValues =>
  selectors.some(({ resources }) => resources.length === 0)
    ? undefined
    : selectors.flatMap(({ resources }) => resources);

/** Whether the rule allows everything in its targets. */
export const allowsAll = ({ verbs, resources, namespaces, nonResourceURLs }: AccessKeyRule): boolean =>
  (verbs.length === 0 || verbs.includes("*")) &&
  [resources, namespaces, nonResourceURLs].every((list) => list.length === 0);

const ruleAllowsRequest = (
  rule: AccessKeyRule,
  request: PlatformRequest,
  names: RuleNames,
  index: RestrictionIndex,
): boolean =>
  ruleApplies(rule, request, names) &&
  verbMatches(rule, request.inner.verb, index) &&
  contentMatches(rule, request.inner, index);

/** Whether the rule is about requests to that target. */
export function ruleApplies(
  { requestTargets, cluster, virtualClusters }: AccessKeyRule,
  request: RequestDestination,
  names: Pick<RuleNames, "projectNamespace">,
): boolean {
  if (requestTargets.length > 0 && !requestTargets.includes(request.target)) return false;
  if (cluster !== "" && !(request.target === "Cluster" && matchesName(cluster, request.cluster))) return false;
  if (virtualClusters.length === 0) return true;
  // A rule about certain virtual clusters allows nothing else, as one about a cluster does.
  if (request.target !== "ProjectVirtualCluster") return false;
  const inNamespace = names.projectNamespace(request.project);
  return virtualClusters.some(
    ({ name, namespace }) =>
      (name === "" || matchesName(name, request.virtualCluster)) &&
      (namespace === "" || matchesName(namespace, inNamespace)),
  );
}

const verbMatches = ({ verbs }: AccessKeyRule, verb: string, index: RestrictionIndex): boolean =>
  verbs.length === 0 || index.includes(verbs, verb) || index.includes(verbs, "*");

/** A rule that names neither resources nor paths is about both; one that names namespaces is not about paths. */
function contentMatches(
  { resources, namespaces, nonResourceURLs }: AccessKeyRule,
  request: TargetedRequest,
  index: RestrictionIndex,
): boolean {
  if (!request.isResourceRequest) {
    if (namespaces.length > 0) return false;
    return nonResourceURLs.length === 0 ? resources.length === 0 : pathMatches(nonResourceURLs, request.path);
  }
  if (namespaces.length > 0 && !index.includes(namespaces, request.namespace)) return false;
  if (resources.length === 0) return nonResourceURLs.length === 0;
  return isSelected(resources, request, index, () => true);
}

type ResourceSelector = AccessKeyRule["resources"][number];

/** Whether one of the selectors for which `also` is true selects the request. */
function isSelected(
  selectors: readonly ResourceSelector[],
  request: TargetedRequest,
  index: RestrictionIndex,
  also: (selector: ResourceSelector) => boolean,
): boolean {
  const forms = formsOf(request);
  const asked = () => [[request.apiGroup], forms, [request.name]];
  return (
    index.findIndex(
      selectors,
      SELECTORS,
      asked,
      (selector) => selects(selector, request, forms, index) && also(selector),
    ) >= 0
  );
}

const SELECTORS: Filing<ResourceSelector> = {
  valuesOf: ({ group, resources, resourceNames }) => [
    narrowing([group]),
    resources.length === 0 ? undefined : resources,
    resourceNames.length === 0 ? undefined : resourceNames,
  ],
};

function selects(
  { group, resources, resourceNames }: ResourceSelector,
  request: TargetedRequest,
  forms: readonly string[],
  index: RestrictionIndex,
): boolean {
  if (group !== request.apiGroup && group !== "*") return false;
  // Names mean nothing where no resources are named with them; opening all of the group would be the wider reading.
  if (resources.length === 0) return resourceNames.length === 0;
  if (resourceNames.length > 0 && !index.includes(resourceNames, request.name)) return false;
  return forms.some((form) => index.includes(resources, form));
}

/**
 * The patterns that mean the resource of a request: `*`, `pods`, `pods/log`, all subresources of one resource as `pods` with a starred subresource, or
 * the other way round.
 */
function formsOf(request: TargetedRequest): readonly string[] {
  const { resource, subresource } = request;
  if (subresource === "") return ["*", resource];
  return ["*", `${resource}/${subresource}`, `${resource}/*`, `*/${subresource}`];
}

function namesExactly(pattern: string, request: TargetedRequest): boolean {
  if (pattern === resourceWithSubresource(request)) return true;
  return request.subresource !== "" && pattern === `${request.resource}/*`;
}

/** Whether the rule spells out the resource of a request, and does not merely include it in a star. */
const namesResource = ({ resources }: AccessKeyRule, request: TargetedRequest, index: RestrictionIndex): boolean =>
  isSelected(
    resources,
    request,
    index,
    (selector) =>
      selector.group === request.apiGroup &&
      selector.resources.some((pattern) => !pattern.startsWith("*") && namesExactly(pattern, request)),
  );

/** A star is a wildcard only as the whole value, or as the whole last step of a path. */
const pathMatches = (urls: readonly string[], path: string): boolean =>
  urls.some((url) => url === "*" || url === path || (url.endsWith("/*") && path.startsWith(url.slice(0, -1))));

/** How names in scopes, rules and access lists are compared. `*` counts only as the whole value; within a longer one it is an ordinary character. */
export const matchesName = (pattern: string, name: string): boolean =>
  pattern === name || (pattern === "*" && name !== "");

export const matchesAnyName = (patterns: readonly string[], name: string, index: RestrictionIndex): boolean =>
  index.includes(patterns, name) || (name !== "" && index.includes(patterns, "*"));
