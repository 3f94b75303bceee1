// What two sets of rules both open, as rules again.

import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { pathMatches } from "@postern/apiserver/authorization/rbac/rule-allows";

export function intersectRules(left: readonly PolicyRule[], right: readonly PolicyRule[]): readonly PolicyRule[] {
  return left.flatMap((one) => right.flatMap((other) => [...commonResources(one, other), ...commonPaths(one, other)]));
}

function commonResources(left: PolicyRule, right: PolicyRule): readonly PolicyRule[] {
  const verbs = common(left.verbs, right.verbs);
  const apiGroups = common(left.apiGroups, right.apiGroups);
  const resources = unique(
    left.resources.flatMap((one) => right.resources.flatMap((other) => commonResource(one, other))),
  );
  const names = commonNames(left.resourceNames, right.resourceNames);
  if (verbs.length === 0 || apiGroups.length === 0 || resources.length === 0 || names === undefined) return [];
  return [{ verbs, apiGroups, resources, resourceNames: names, nonResourceURLs: [] }];
}

function commonPaths(left: PolicyRule, right: PolicyRule): readonly PolicyRule[] {
  const verbs = common(left.verbs, right.verbs);
  const urls = unique(
    left.nonResourceURLs.flatMap((one) => right.nonResourceURLs.flatMap((other) => commonPath(one, other))),
  );
  if (verbs.length === 0 || urls.length === 0) return [];
  return [{ verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: urls }];
}

function common(left: readonly string[], right: readonly string[]): readonly string[] {
  if (left.includes("*")) return right;
  return right.includes("*") ? left : left.filter((value) => right.includes(value));
}

/** `*`, a resource, one with its subresource, or a star with a subresource. */
function commonResource(left: string, right: string): readonly string[] {
  if (left === "*" || left === right) return [right];
  if (right === "*") return [left];
  if (isSubresourceOf(left, right)) return [right];
  return isSubresourceOf(right, left) ? [left] : [];
}

/** Whether `pattern` is a star with the subresource that `resource` has. There is none of the name `undefined`. */
const isSubresourceOf = (pattern: string, resource: string): boolean => pattern === `*/${resource.split("/")[1]}`;

/** An empty list is every name; undefined when no name is in both. */
function commonNames(left: readonly string[], right: readonly string[]): readonly string[] | undefined {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const both = left.filter((name) => right.includes(name));
  return both.length === 0 ? undefined : both;
}

function commonPath(left: string, right: string): readonly string[] {
  if (pathMatches(left, right)) return [right];
  return pathMatches(right, left) ? [left] : [];
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];
