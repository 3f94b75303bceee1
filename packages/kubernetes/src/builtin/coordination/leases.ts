// Leases: who leads, and until when.
// Source: k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go, pkg/apis/coordination/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { negativeFaults } from "../field-checks.ts";

const leaseFields = s.object({
  spec: s.object({
    holderIdentity: s.string(),
    leaseDurationSeconds: s.int32(),
    acquireTime: s.microTime(),
    renewTime: s.microTime(),
    leaseTransitions: s.int32(),
    strategy: s.string(),
    preferredHolder: s.string(),
  }),
});

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
    ...negativeFaults("spec.leaseTransitions", transitions),
  ];
}

export const leases: ResourceDefinition = defineBuiltin({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
  schema: kindSchema(leaseFields.schema),
  columns: [{ name: "Holder", type: "string", value: ".spec.holderIdentity" }, ageColumn],
  // In Go it is always there.
  setDefaults: (object) => ({ ...object, spec: (object as Lease).spec ?? {} }),
  strategy,
});
