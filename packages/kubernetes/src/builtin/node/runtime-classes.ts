// RuntimeClasses: how nodes run pods. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/node/runtimeclass/strategy.go, pkg/apis/node/validation/validation.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath } from "@postern/apimachinery/validation/field-error";
import { validateLabels } from "@postern/apimachinery/validation/labels";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { labelFaults } from "../field-checks.ts";
import { publishedField } from "../published/published-field.ts";
import { quantities } from "../quotas/quantities.ts";
import { atomicLabels } from "../workloads/pods/pod-fields.ts";
import { nodeLabelWarning } from "../workloads/pods/pod-warnings.ts";
import { overheadFaults } from "../workloads/pods/validate-containers.ts";
import { tolerationFaults } from "../workloads/pods/validate-scheduling.ts";
import { warningHooks } from "../workloads/status-strategy.ts";

const fields = s.object({
  handler: s.string().required(),
  overhead: s.object({
    podFixed: quantities,
  }),
  scheduling: s.object({
    nodeSelector: atomicLabels,
    tolerations: s.list(publishedField<JsonObject>("Toleration")),
  }),
});

type RuntimeClass = KindOf<typeof fields>;

const validate = ({ handler, overhead, scheduling }: RuntimeClass): readonly FieldError[] => [
  ...labelFaults("handler", handler),
  // Objects are JSON; only their named types hide it.
  ...overheadFaults((overhead?.podFixed ?? {}) as JsonObject, "overhead"),
  ...validateLabels(scheduling?.nodeSelector, "scheduling.nodeSelector"),
  ...(scheduling?.tolerations ?? []).flatMap((each, index) =>
    tolerationFaults(each, indexPath("scheduling.tolerations", index)),
  ),
];

export const runtimeClasses: ResourceDefinition = defineBuiltin({
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
  schema: kindSchema(fields.schema),
  columns: [{ name: "Handler", type: "string", value: ".handler" }, ageColumn],
  strategy: {
    allowCreateOnUpdate: true,
    validate,
    validateUpdate: (next: RuntimeClass, old: RuntimeClass) => [
      ...validate(next),
      ...validateImmutable(next.handler, old.handler, "handler"),
    ],
    ...warningHooks(({ scheduling }: RuntimeClass) =>
      Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => nodeLabelWarning("scheduling.nodeSelector", key)),
    ),
  },
});
