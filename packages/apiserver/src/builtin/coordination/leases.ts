// Leases: who leads, and until when.
// Source: k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go, pkg/apis/coordination/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";

const leaseFields = s
  .object({
    spec: s
      .object({
        holderIdentity: s.string().describe("Who holds the lease. Absent or empty: nobody."),
        leaseDurationSeconds: s
          .int32()
          .describe("Seconds after renewTime from which others may take the lease, if it has not been renewed."),
        acquireTime: s.microTime().describe("When the present holder got the lease."),
        renewTime: s.microTime().describe("When the present holder last renewed it."),
        leaseTransitions: s.int32().describe("How often the holder has changed."),
        strategy: s.string().describe("How the holder is chosen, where that is not left to the holders."),
        preferredHolder: s.string().describe("Who should get the lease when the present holder gives it up."),
      })
      .describe("The state of the lease."),
  })
  .describe("A lock with an end, by which replicas agree who of them does the work.");

export type Lease = KindOf<typeof leaseFields>;

const strategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  validate: validateLease,
  validateUpdate: validateLease,
};

function validateLease({ spec }: Lease): readonly FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec ?? {};
  return [
    ...(duration !== undefined && duration <= 0
      ? [invalidError("spec.leaseDurationSeconds", duration, "must be greater than 0")]
      : []),
    ...(transitions !== undefined && transitions < 0
      ? [invalidError("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
      : []),
  ];
}

export const leases: ResourceDefinition = defineBuiltin({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  singular: "lease",
  namespaced: true,
  schema: kindSchema(leaseFields.schema),
  columns: [
    { name: "Holder", type: "string", description: "Who holds the lease.", value: ".spec.holderIdentity" },
    ageColumn,
  ],
  strategy,
});
