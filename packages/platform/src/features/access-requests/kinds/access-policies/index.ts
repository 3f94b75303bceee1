// AccessPolicies: who may ask for which access in a project. ClusterAccessPolicies share this code.

import { type AccessPolicy, accessPolicyFields } from "@postern/api/access-policy";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  defineResource,
  type PrinterColumn,
  type ResourceDefinition,
} from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { ACCESS_POLICIES, type CLUSTER_ACCESS_POLICIES } from "../../access-policies.ts";
import type { AccessRequestNeeds } from "../needs.ts";
import { askablePolicies } from "./policy-visibility.ts";
import { accessPolicyStrategy } from "./strategy.ts";

export const accessPolicies = (base: Foundation, needs: AccessRequestNeeds): ResourceDefinition =>
  defineResource({
    ...sharedByAccessPolicies(base, needs, ACCESS_POLICIES),
    kind: "AccessPolicy",
    plural: ACCESS_POLICIES,
    namespaced: true,
  });

/** Parts that both scopes have in common. */
export const sharedByAccessPolicies = (
  base: Foundation,
  needs: AccessRequestNeeds,
  plural: typeof ACCESS_POLICIES | typeof CLUSTER_ACCESS_POLICIES,
) => ({
  group: base.names.managementGroup,
  version: "v1",
  schema: kindSchema(accessPolicyFields.schema),
  columns,
  // The registry gives a strategy only objects that its schema has checked.
  strategy: accessPolicyStrategy(base, needs, plural) as Strategy,
  visibility: askablePolicies(base, needs, plural),
});

/** The store holds no other kind under these resources. */
const specOf = (policy: KubeObject): AccessPolicy["spec"] => (policy as AccessPolicy).spec;

const columns: readonly PrinterColumn[] = [
  {
    name: "Roles",
    type: "string",
    description: "Roles that may be asked for.",
    value: (policy) => [...new Set(specOf(policy).targets.flatMap(({ roles = [] }) => roles))].join(","),
  },
  {
    name: "Seconds",
    type: "integer",
    description: "Longest duration of the access, in seconds.",
    value: ".spec.maxDurationSeconds",
  },
  {
    name: "Approvals",
    type: "integer",
    description: "Number of people who have to approve.",
    value: (policy) => specOf(policy).approvers?.count ?? 1,
  },
  {
    name: "Emergency",
    type: "boolean",
    description: "Whether access may be taken in an emergency.",
    value: (policy) => specOf(policy).allowEmergency === true,
  },
  ageColumn,
];
