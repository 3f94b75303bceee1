// Whether a rule of a role allows a request.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { AuthorizationAttributes } from "../authorizer.ts";
import type { PolicyRule } from "./policy-rule.ts";

/** The parts of a request that a rule looks at. */
export type RuleAttributes = Pick<
  AuthorizationAttributes,
  "verb" | "isResourceRequest" | "apiGroup" | "resource" | "subresource" | "name" | "path"
>;

/** `pods/status`, or `pods` without a subresource. */
export const combinedResource = ({
  resource,
  subresource,
}: Pick<RuleAttributes, "resource" | "subresource">): string =>
  subresource === "" ? resource : `${resource}/${subresource}`;

/** `combined` may be passed if many rules are checked for one request, so that it is built once. */
export function ruleAllows(
  rule: PolicyRule,
  request: RuleAttributes,
  combined: string = combinedResource(request),
): boolean {
  if (!hasOrAll(rule.verbs, request.verb)) return false;
  if (!request.isResourceRequest) return rule.nonResourceURLs.some((url) => pathMatches(url, request.path));
  return (
    hasOrAll(rule.apiGroups, request.apiGroup) &&
    resourceMatches(rule.resources, combined, request.subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name))
  );
}

const hasOrAll = (list: readonly string[], value: string): boolean => list.includes(value) || list.includes("*");

function resourceMatches(resources: readonly string[], combined: string, subresource: string): boolean {
  for (const resource of resources) {
    if (resource === "*" || resource === combined) return true;
    if (subresource !== "" && isAnyResourceWith(resource, subresource)) return true;
  }
  return false;
}

const isAnyResourceWith = (resource: string, subresource: string): boolean =>
  resource.length === subresource.length + 2 && resource.startsWith("*/") && resource.endsWith(subresource);

/** `*` at the end of a rule's path matches any suffix; elsewhere it is a plain character. */
export function pathMatches(rulePath: string, path: string): boolean {
  return rulePath === path || (rulePath.endsWith("*") && path.startsWith(trimTrailing(rulePath, "*")));
}
