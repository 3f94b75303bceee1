// Leases: who leads, and until when.
// Source: k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go, pkg/apis/coordination/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";

const leaseFields = s
  .object({
    spec: s
      .object({
        holderIdentity: s.string().describe("holderIdentity contains the identity of the holder of a current lease."),
        leaseDurationSeconds: s
          .int32()
          .describe("leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it."),
        acquireTime: s.microTime().describe("MicroTime is version of Time with microsecond level precision."),
        renewTime: s.microTime().describe("MicroTime is version of Time with microsecond level precision."),
        leaseTransitions: s
          .int32()
          .describe("leaseTransitions is the number of transitions of a lease between holders."),
        strategy: s
          .string()
          .describe("Strategy indicates the strategy for picking the leader for coordinated leader election."),
        preferredHolder: s
          .string()
          .describe(
            "PreferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up.",
          ),
      })
      .describe("LeaseSpec is a specification of a Lease."),
  })
  .describe("Lease defines a lease concept.");

export type Lease = KindOf<typeof leaseFields>;

const strategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  prepareForCreate: withoutElection,
  prepareForUpdate: (lease) => withoutElection(lease),
  validate: validateLease,
  validateUpdate: validateLease,
};

/** Coordinated leader election is off, as by default in kube-apiserver, which drops its fields. */
function withoutElection(lease: Lease): Lease {
  if (lease.spec?.strategy === undefined && lease.spec?.preferredHolder === undefined) return lease;
  const { strategy: _strategy, preferredHolder: _holder, ...spec } = lease.spec;
  return { ...lease, spec };
}

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
  namespaced: true,
  schema: kindSchema(leaseFields.schema),
  columns: [
    { name: "Holder", type: "string", description: "Identity of the holder.", value: ".spec.holderIdentity" },
    ageColumn,
  ],
  // In Go it is always there.
  setDefaults: (object) => ({ ...object, spec: (object as Lease).spec ?? {} }),
  strategy,
});
