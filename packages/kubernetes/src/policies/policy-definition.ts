// The common part of policies that validate and policies that mutate, and of their bindings, as resources.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import { ageColumn } from "../builtin/builtin-resource.ts";
import {
  ADMISSION_GROUP,
  type MatchResources,
  type Policy,
  type PolicyBinding,
} from "./validating-admission-policy.ts";

export const FAILURE_POLICIES = ["Fail", "Ignore"];

export const POLICY_KIND = {
  group: ADMISSION_GROUP,
  version: "v1",
  namespaced: false,
  categories: ["api-extensions"],
  tracksGeneration: true,
} as const;

const withMatchDefaults = (match: MatchResources): MatchResources => ({
  ...match,
  matchPolicy: match.matchPolicy ?? "Equivalent",
  namespaceSelector: match.namespaceSelector ?? {},
  objectSelector: match.objectSelector ?? {},
  ...(match.resourceRules === undefined
    ? {}
    : { resourceRules: match.resourceRules.map((rule) => ({ scope: "*", ...rule })) }),
});

/** Stored objects, and bodies of built-in kinds where defaults are set, have passed their types. Both kinds of policies have the members read here. */
export function withPolicyDefaults(object: KubeObject): KubeObject {
  const { spec } = object as Policy;
  if (spec === undefined) return object;
  const { matchConstraints } = spec;
  return {
    ...object,
    spec: {
      ...spec,
      failurePolicy: spec.failurePolicy ?? "Fail",
      ...(matchConstraints === undefined ? {} : { matchConstraints: withMatchDefaults(matchConstraints) }),
    },
  } as KubeObject;
}

export function withBindingDefaults(object: KubeObject): KubeObject {
  const { spec } = object as PolicyBinding;
  const matchResources = spec?.matchResources;
  return matchResources === undefined
    ? object
    : ({ ...object, spec: { ...spec, matchResources: withMatchDefaults(matchResources) } } as KubeObject);
}

/** Those behind the number of validations or mutations. */
export const policyColumns: readonly PrinterColumn[] = [
  {
    name: "ParamKind",
    type: "string",
    value(policy) {
      const kind = (policy as Policy).spec?.paramKind;
      return kind === undefined ? "<unset>" : `${kind.apiVersion}/${kind.kind}`;
    },
  },
  ageColumn,
];

export const bindingColumns: readonly PrinterColumn[] = [
  { name: "PolicyName", type: "string", value: ".spec.policyName" },
  {
    name: "ParamRef",
    type: "string",
    value(binding) {
      const ref = (binding as PolicyBinding).spec?.paramRef;
      if (ref === undefined) return "<unset>";
      if (ref.name === undefined) return "*";
      return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
    },
  },
  ageColumn,
];
