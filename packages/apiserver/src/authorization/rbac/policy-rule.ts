// The rules of roles: types, decoding, and which requests they allow.
// Source: k8s.io/api/rbac/v1/types.go (PolicyRule, RoleRef, Subject)

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { AuthorizationAttributes } from "../authorizer.ts";

/** Absent lists are read as empty ones, so that evaluating a rule needs no checks for absence. */
export type PolicyRule = {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  // `pods`, `pods/status`, `*`, or `*` with a subresource behind a slash.
  readonly resources: readonly string[];
  /** Empty opens every name. */
  readonly resourceNames: readonly string[];
  /** Paths such as `/healthz`, or prefixes that end in `*`. */
  readonly nonResourceURLs: readonly string[];
};

export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Opens everything: what one must hold to write an aggregationRule. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/** The members of a list that are strings; anything else is not part of a rule. */
export function stringsOf(value: JsonValue | undefined): readonly string[] {
  return isJsonArray(value) && value.length > 0 ? value.filter((item) => typeof item === "string") : NONE;
}

const NONE: readonly string[] = [];

/** A rule from stored JSON. */
export function readPolicyRule(value: JsonValue): PolicyRule {
  const rule = isJsonObject(value) ? value : {};
  return {
    verbs: stringsOf(rule["verbs"]),
    apiGroups: stringsOf(rule["apiGroups"]),
    resources: stringsOf(rule["resources"]),
    resourceNames: stringsOf(rule["resourceNames"]),
    nonResourceURLs: stringsOf(rule["nonResourceURLs"]),
  };
}

/** The `rules` of a role; none when absent. */
export function readPolicyRules(value: JsonValue | undefined): readonly PolicyRule[] {
  if (!isJsonArray(value)) return [];
  const lists = new Map<string, readonly string[]>();
  const shared = (list: readonly string[]): readonly string[] => {
    if (list.length > MOST_SHARED) return list;
    const text = JSON.stringify(list);
    const known = lists.get(text);
    if (known === undefined) lists.set(text, list);
    return known ?? list;
  };
  return value.map((each) => {
    const rule = readPolicyRule(each);
    return { ...rule, verbs: shared(rule.verbs), apiGroups: shared(rule.apiGroups) };
  });
}

/** Rules of a role often have the same verbs and groups. Longer lists are seldom the same. */
const MOST_SHARED = 16;

// Whether one rule of a role opens one request.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go

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

/** `combined` can be given where many rules are asked about one request, so that it is put together once. */
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
