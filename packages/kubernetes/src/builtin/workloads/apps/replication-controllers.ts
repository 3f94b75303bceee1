// ReplicationControllers as objects: nothing makes pods of them.
// Source: k8s.io/kubernetes/pkg/registry/core/replicationcontroller/strategy.go, pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin, mergedInPatches } from "../../builtin-resource.ts";
import { conditionFields } from "../../condition-fields.ts";
import { withTemplateDefaults } from "../pods/pod-defaults.ts";
import { atomicLabels, podTemplateFields } from "../pods/pod-fields.ts";
import { templateWarnings } from "../pods/pod-warnings.ts";
import { podColumns } from "../pods/pods.ts";
import { validateTemplate } from "../pods/validate-pod.ts";
import { labelSelectorText, scaleSelectorText } from "../selector-text.ts";
import { statusStrategy } from "../status-strategy.ts";
import { replicaSetStatusFaults } from "./validate-status.ts";

const fields = s.object({
  spec: s.object({
    replicas: s.int32(),
    minReadySeconds: s.int32(),
    selector: atomicLabels,
    template: podTemplateFields,
  }),
  status: s.object({
    replicas: s.int32(),
    fullyLabeledReplicas: s.int32(),
    readyReplicas: s.int32(),
    availableReplicas: s.int32(),
    observedGeneration: s.int64(),
    conditions: mergedInPatches(s.listMap(conditionFields(), ["type"]), "type"),
  }),
});

type ReplicationController = KindOf<typeof fields>;

const ZERO_OR_MORE = "must be greater than or equal to 0";

function validate({ spec }: ReplicationController): readonly FieldError[] {
  const { selector = {}, template, replicas = 0, minReadySeconds = 0 } = spec ?? {};
  const labels = template?.metadata?.labels ?? {};
  const isSelected = Object.entries(selector).every(([name, value]) => labels[name] === value);
  return [
    ...(minReadySeconds < 0 ? [invalidError("spec.minReadySeconds", minReadySeconds, ZERO_OR_MORE)] : []),
    ...(Object.keys(selector).length === 0 ? [requiredError("spec.selector")] : []),
    ...(replicas < 0 ? [invalidError("spec.replicas", replicas, ZERO_OR_MORE)] : []),
    ...(template === undefined
      ? [requiredError("spec.template")]
      : [
          ...(isSelected
            ? []
            : [invalidError("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]),
          ...validateTemplate(template, "spec.template", undefined, ["Always"]),
          ...(template.spec?.activeDeadlineSeconds === undefined
            ? []
            : [
                forbiddenError(
                  "spec.template.spec.activeDeadlineSeconds",
                  "activeDeadlineSeconds in ReplicationController is not Supported",
                ),
              ]),
        ]),
  ];
}

const podsOf = (object: object) => (object as ReplicationController).spec?.template?.spec;

export const replicationControllers: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(fields.schema),
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    checksSpec: true,
    selectorText: (object) =>
      scaleSelectorText({ matchLabels: (object as ReplicationController).spec?.selector ?? {} }),
  },
  selectableFields: [".status.replicas"],
  columns: [
    {
      name: "Desired",
      type: "integer",
      value: (object) => (object as ReplicationController).spec?.replicas ?? 0,
    },
    {
      name: "Current",
      type: "integer",
      value: (object) => (object as ReplicationController).status?.replicas ?? 0,
    },
    {
      name: "Ready",
      type: "integer",
      value: (object) => (object as ReplicationController).status?.readyReplicas ?? 0,
    },
    ageColumn,
    ...podColumns(
      (object) => labelSelectorText({ matchLabels: (object as ReplicationController).spec?.selector ?? {} }),
      podsOf,
    ),
  ],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const controller = object as ReplicationController;
    const { spec = {} } = controller;
    const labels = spec.template?.metadata?.labels;
    const selector = Object.keys(spec.selector ?? {}).length === 0 ? labels : spec.selector;
    const isLabelled = Object.keys(controller.metadata.labels ?? {}).length > 0 || labels === undefined;
    return {
      ...controller,
      metadata: isLabelled ? controller.metadata : { ...controller.metadata, labels },
      spec: {
        ...spec,
        replicas: spec.replicas ?? 1,
        ...(selector === undefined ? {} : { selector }),
        ...(spec.template === undefined ? {} : { template: withTemplateDefaults(spec.template) }),
      },
    };
  },
  strategy: {
    ...statusStrategy<ReplicationController>(validate, undefined, { replicas: 0 }, replicaSetStatusFaults),
    ...templateWarnings<ReplicationController>(({ spec }) => spec?.template, "spec.template", { namesPods: true }),
    orphansByDefault: true,
  },
});
