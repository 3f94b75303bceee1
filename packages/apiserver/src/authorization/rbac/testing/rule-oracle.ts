// The rules of RBAC as upstream writes them: one rule, one request, one subject at a time. Tests hold the indexes against it.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go

import type { PolicyRule } from "../policy-rule.ts";
import { principalOf, type RbacSubject } from "../role-binding.ts";
import { combinedResource, pathMatches, type RuleAttributes } from "../rule-attributes.ts";

export function ruleAllows(rule: PolicyRule, request: RuleAttributes): boolean {
  if (!hasOrAll(rule.verbs, request.verb)) return false;
  if (!request.isResourceRequest) return rule.nonResourceURLs.some((url) => pathMatches(url, request.path));
  return (
    hasOrAll(rule.apiGroups, request.apiGroup) &&
    resourceMatches(rule.resources, combinedResource(request), request.subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name))
  );
}

const hasOrAll = (list: readonly string[], value: string): boolean => list.includes(value) || list.includes("*");

function resourceMatches(resources: readonly string[], combined: string, subresource: string): boolean {
  const isAnyWith = (resource: string): boolean => subresource !== "" && resource === `*/${subresource}`;
  return resources.some((resource) => resource === "*" || resource === combined || isAnyWith(resource));
}

/** Index of the first subject that means the user; -1 when none does. */
export const firstApplicableSubject = (
  user: { readonly name: string; readonly groups: readonly string[] },
  subjects: readonly RbacSubject[],
  bindingNamespace: string,
): number =>
  subjects.findIndex((subject) => {
    const principal = principalOf(subject, bindingNamespace);
    if (principal === undefined) return false;
    return principal.type === "user" ? principal.name === user.name : user.groups.includes(principal.name);
  });
