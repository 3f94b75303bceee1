// Validates roles and bindings.
// Source: k8s.io/kubernetes/pkg/apis/rbac/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  childPath,
  type FieldError,
  formatBadValue,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import { type PolicyRule, RBAC_GROUP, readPolicyRules } from "@postern/apiserver/authorization/rbac/policy-rule";
import { type RoleRef, readRoleRef } from "@postern/apiserver/authorization/rbac/role-binding";
import { choiceFaults, subdomainFaults, textFaults } from "../field-checks.ts";

/** Role and binding names are path segments: upper case and colons are allowed. */
export const validateRbacName = (name: string): readonly string[] => isValidPathSegmentName(name);

export const validateRules = (role: KubeObject): readonly FieldError[] =>
  readPolicyRules(role["rules"]).flatMap((rule, index) =>
    validateRule(rule, indexPath("rules", index), role.kind === "Role"),
  );

function validateRule(rule: PolicyRule, path: string, isNamespaced: boolean): readonly FieldError[] {
  const verbs =
    rule.verbs.length === 0 ? [requiredError(childPath(path, "verbs"), "verbs must contain at least one value")] : [];
  if (rule.nonResourceURLs.length > 0) return [...verbs, ...validatePathRule(rule, path, isNamespaced)];
  return [
    ...verbs,
    ...(rule.apiGroups.length === 0
      ? [requiredError(childPath(path, "apiGroups"), "resource rules must supply at least one api group")]
      : []),
    ...(rule.resources.length === 0
      ? [requiredError(childPath(path, "resources"), "resource rules must supply at least one resource")]
      : []),
  ];
}

function validatePathRule(rule: PolicyRule, path: string, isNamespaced: boolean): readonly FieldError[] {
  const refuse = (detail: string): FieldError => ({
    type: "FieldValueInvalid",
    field: childPath(path, "nonResourceURLs"),
    message: `Invalid value: ${formatBadValue([...rule.nonResourceURLs])}: ${detail}`,
  });
  const hasResources = rule.apiGroups.length > 0 || rule.resources.length > 0 || rule.resourceNames.length > 0;
  return [
    ...(isNamespaced ? [refuse("namespaced rules cannot apply to non-resource URLs")] : []),
    ...(hasResources ? [refuse("rules cannot apply to both regular resources and non-resource URLs")] : []),
  ];
}

type Subject = {
  readonly kind?: string;
  readonly apiGroup?: string;
  readonly name?: string;
  readonly namespace?: string;
};

export type RbacBindingObject = KubeObject & {
  readonly subjects?: readonly Subject[];
  readonly roleRef?: Partial<RoleRef>;
};

export function validateBinding(binding: RbacBindingObject): readonly FieldError[] {
  const isNamespaced = binding.kind === "RoleBinding";
  return [
    ...validateRoleRef(readRoleRef(binding.roleRef), isNamespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]),
    ...(binding.subjects ?? []).flatMap((subject, index) =>
      validateSubject(subject, indexPath("subjects", index), isNamespaced),
    ),
  ];
}

function validateRoleRef({ apiGroup, kind, name }: RoleRef, kinds: readonly string[]): readonly FieldError[] {
  return [
    ...(apiGroup === RBAC_GROUP ? [] : [notSupportedError("roleRef.apiGroup", apiGroup, [RBAC_GROUP])]),
    ...choiceFaults("roleRef.kind", kind, kinds),
    ...(name === "" ? [requiredError("roleRef.name")] : textFaults("roleRef.name", name, validateRbacName)),
  ];
}

function validateSubject(
  { kind = "", apiGroup = "", name = "", namespace = "" }: Subject,
  path: string,
  isNamespaced: boolean,
): readonly FieldError[] {
  const named = name === "" ? [requiredError(childPath(path, "name"))] : [];
  const groupPath = childPath(path, "apiGroup");
  switch (kind) {
    case "ServiceAccount":
      return [
        ...named,
        ...(name === "" ? [] : subdomainFaults(childPath(path, "name"), name)),
        ...(apiGroup === "" ? [] : [notSupportedError(groupPath, apiGroup, [""])]),
        ...(isNamespaced || namespace !== "" ? [] : [requiredError(childPath(path, "namespace"))]),
      ];
    case "User":
    case "Group":
      return [...named, ...(apiGroup === RBAC_GROUP ? [] : [notSupportedError(groupPath, apiGroup, [RBAC_GROUP])])];
    default:
      return [...named, notSupportedError(childPath(path, "kind"), kind, ["ServiceAccount", "User", "Group"])];
  }
}

/** A binding always gives the role it was made for, so that those it names cannot be given another one by and by. */
export function validateBindingUpdate(binding: RbacBindingObject, old: RbacBindingObject): readonly FieldError[] {
  if (equalJson(binding.roleRef, old.roleRef)) return validateBinding(binding);
  const { apiGroup, kind, name } = readRoleRef(binding.roleRef);
  // Members have the names of Go's internal type.
  const value = { APIGroup: apiGroup, Kind: kind, Name: name };
  return [...validateBinding(binding), invalidError("roleRef", value, "cannot change roleRef")];
}

/** Fills in the API groups that are left out. */
export function withBindingDefaults<T extends RbacBindingObject>(binding: T): T {
  const { roleRef, subjects } = binding;
  const apiGroupOf = ({ kind }: Subject): string => (kind === "User" || kind === "Group" ? RBAC_GROUP : "");
  const completed = (subject: Subject): Subject =>
    (subject.apiGroup ?? "") !== "" || apiGroupOf(subject) === ""
      ? subject
      : { ...subject, apiGroup: apiGroupOf(subject) };
  return {
    ...binding,
    roleRef: { ...roleRef, apiGroup: roleRef?.apiGroup || RBAC_GROUP },
    ...(subjects === undefined ? {} : { subjects: subjects.map(completed) }),
  };
}
