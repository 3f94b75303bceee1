// The rules of roles: types and decoding.
// Source: k8s.io/api/rbac/v1/types.go (PolicyRule, RoleRef, Subject)

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

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
