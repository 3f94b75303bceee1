// CSIStorageCapacities: how much a driver may still provide. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity/strategy.go, pkg/apis/storage/validation/validation.go (ValidateCSIStorageCapacity)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import { subdomainFaults } from "../field-checks.ts";
import { quantity, quantityText } from "../quotas/quantities.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { nodeSelectorWarnings } from "../workloads/pods/pod-warnings.ts";
import { warningHooks } from "../workloads/status-strategy.ts";

const fields = s.object({
  nodeTopology: labelSelector,
  storageClassName: s.string(),
  capacity: quantity,
  maximumVolumeSize: quantity,
});

type Capacity = KindOf<typeof fields>;

function validate({ storageClassName = "", capacity, nodeTopology }: Capacity): readonly FieldError[] {
  const amount = quantityText(capacity);
  return [
    ...subdomainFaults("storageClassName", storageClassName),
    ...((parseAmount(amount) ?? 0n) < 0n
      ? [invalidError("capacity", amount, "must be greater than or equal to 0")]
      : []),
    ...validateLabelSelector(nodeTopology, "nodeTopology"),
  ];
}

export const csiStorageCapacities: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  listKind: "CSIStorageCapacityList",
  namespaced: true,
  schema: kindSchema(fields.schema),
  columns: [createdAtColumn],
  strategy: {
    validate,
    validateUpdate: (next: Capacity, old: Capacity) => [
      ...validate(next),
      ...validateImmutable(
        (next.nodeTopology ?? null) as JsonValue,
        (old.nodeTopology ?? null) as JsonValue,
        "nodeTopology",
      ),
      ...validateImmutable(next.storageClassName ?? "", old.storageClassName ?? "", "storageClassName"),
    ],
    ...warningHooks(({ nodeTopology }: Capacity) =>
      nodeSelectorWarnings((nodeTopology ?? {}) as JsonObject, "nodeTopology"),
    ),
  },
});
