// The deprecated rules of an access key: which requests they allow, field by field as the interface describes. Shape and reading are those of audit
// policies: k8s.io/apiserver/pkg/audit/policy/checker.go

import type { AccessKeyRule } from "../api/access-key-restrictions.ts";
import type { PlatformNames } from "../platform-names.ts";
import { isAccessKeyRequest } from "./access-key-request.ts";
import { issuesCredential } from "./credential-kinds.ts";
import {
  type PlatformRequest,
  type RequestDestination,
  resourceWithSubresource,
  type TargetedRequest,
} from "./platform-request.ts";

type RuleNames = Pick<PlatformNames, "managementGroup" | "storageGroup" | "projectNamespace">;

/** Index of the first rule that opens the request; -1 when none does. */
export function allowingRule(rules: readonly AccessKeyRule[], request: PlatformRequest, names: RuleNames): number {
  // Access keys make access keys: only a rule that names them means them.
  const mustName = request.target === "Management" && isAccessKeyRequest(request.inner, names);
  // Rules do not limit what is created behind the proxy: only a rule that allows the whole cluster covers it.
  const mustOpenAll = request.target !== "Management" && issuesCredential(request.inner);
  return rules.findIndex(
    (rule) =>
      ruleAllowsRequest(rule, request, names) &&
      (!mustName || namesResource(rule, request.inner)) &&
      (!mustOpenAll || allowsAll(rule)),
  );
}

/** Whether the rule allows everything in its targets. */
export const allowsAll = ({ verbs, resources, namespaces, nonResourceURLs }: AccessKeyRule): boolean =>
  (verbs.length === 0 || verbs.includes("*")) &&
  [resources, namespaces, nonResourceURLs].every((list) => list.length === 0);

const ruleAllowsRequest = (rule: AccessKeyRule, request: PlatformRequest, names: RuleNames): boolean =>
  ruleApplies(rule, request, names) && verbMatches(rule, request.inner.verb) && contentMatches(rule, request.inner);

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

const verbMatches = ({ verbs }: AccessKeyRule, verb: string): boolean =>
  verbs.length === 0 || verbs.includes(verb) || verbs.includes("*");

/** A rule that names neither resources nor paths is about both; one that names namespaces is not about paths. */
function contentMatches({ resources, namespaces, nonResourceURLs }: AccessKeyRule, request: TargetedRequest): boolean {
  if (!request.isResourceRequest) {
    if (namespaces.length > 0) return false;
    return nonResourceURLs.length === 0 ? resources.length === 0 : pathMatches(nonResourceURLs, request.path);
  }
  if (namespaces.length > 0 && !namespaces.includes(request.namespace)) return false;
  if (resources.length === 0) return nonResourceURLs.length === 0;
  return resources.some((selector) => selects(selector, request));
}

function selects({ group, resources, resourceNames }: ResourceSelector, request: TargetedRequest): boolean {
  if (group !== request.apiGroup && group !== "*") return false;
  // Names mean nothing where no resources are named with them; opening all of the group would be the wider reading.
  if (resources.length === 0) return resourceNames.length === 0;
  if (resourceNames.length > 0 && !resourceNames.includes(request.name)) return false;
  return resources.some((pattern) => resourceMatches(pattern, request));
}

type ResourceSelector = AccessKeyRule["resources"][number];

/** `*`, `pods`, `pods/log`, all subresources of one resource as `pods` with a starred subresource, or the other way round. */
function resourceMatches(pattern: string, request: TargetedRequest): boolean {
  if (pattern === "*") return true;
  return namesExactly(pattern, request) || (request.subresource !== "" && pattern === `*/${request.subresource}`);
}

function namesExactly(pattern: string, request: TargetedRequest): boolean {
  if (pattern === resourceWithSubresource(request)) return true;
  return request.subresource !== "" && pattern === `${request.resource}/*`;
}

/** Whether the rule spells out the resource of a request, and does not merely include it in a star. */
const namesResource = ({ resources }: AccessKeyRule, request: TargetedRequest): boolean =>
  resources.some(
    (selector) =>
      selector.group === request.apiGroup &&
      selects(selector, request) &&
      selector.resources.some((pattern) => !pattern.startsWith("*") && namesExactly(pattern, request)),
  );

/** A star is a wildcard only as the whole value, or as the whole last step of a path. */
const pathMatches = (urls: readonly string[], path: string): boolean =>
  urls.some((url) => url === "*" || url === path || (url.endsWith("/*") && path.startsWith(url.slice(0, -1))));

// How names in scopes, rules and access lists are compared: exactly, or all names with a single star.

/** `*` counts only as the whole value; within a longer one it is an ordinary character. */
export const matchesName = (pattern: string, name: string): boolean =>
  pattern === name || (pattern === "*" && name !== "");

export const matchesAnyName = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesName(pattern, name));
