// The fields of HorizontalPodAutoscalers, in autoscaling/v2 and v1.
// Source: k8s.io/api/autoscaling/{v2,v1}/types.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { quantity } from "../quotas/quantities.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";

export const METRIC_TYPES = ["ContainerResource", "External", "Object", "Pods", "Resource"] as const;

const referenceFields = {
  kind: s.string().required(),
  name: s.string().required(),
  apiVersion: s.string(),
};
const reference = s.object(referenceFields);

const metricFields = s.object({
  name: s.string().required(),
  selector: labelSelector,
});

const targetFields = s.object({
  type: s.string().required(),
  value: quantity,
  averageValue: quantity,
  averageUtilization: s.int32(),
});

const currentFields = s.object({
  value: quantity,
  averageValue: quantity,
  averageUtilization: s.int32(),
});

const describedObject = reference.required();
const name = s.string().required();

const [metric, target, current] = [metricFields.required(), targetFields.required(), currentFields.required()];

const metricSpec = s.object({
  type: s.string().required(),
  object: s.object({ describedObject, target, metric }),
  pods: s.object({ metric, target }),
  resource: s.object({ name, target }),
  containerResource: s.object({ name, target, container: name }),
  external: s.object({ metric, target }),
});

const metricStatus = s.object({
  type: s.string().required(),
  object: s.object({ describedObject, current, metric }),
  pods: s.object({ metric, current }),
  resource: s.object({ name, current }),
  containerResource: s.object({ name, current, container: name }),
  external: s.object({ metric, current }),
});

const scalingRules = s.object({
  stabilizationWindowSeconds: s.int32(),
  selectPolicy: s.string(),
  policies: s.list(
    s.object({
      type: s.string().required(),
      value: s.int32().required(),
      periodSeconds: s.int32().required(),
    }),
  ),
  tolerance: quantity,
});

const condition = s.object({
  type: s.string().required(),
  status: s.string().required(),
  lastTransitionTime: s.timestamp(),
  reason: s.string(),
  message: s.string(),
  observedGeneration: s
    .int64()
    .describe("observedGeneration represents the .metadata.generation that the condition was set based upon."),
});

export const scalerFields = s.object({
  spec: s
    .object({
      scaleTargetRef: reference.required(),
      minReplicas: s.int32(),
      maxReplicas: s.int32().required(),
      metrics: s.list(metricSpec),
      behavior: s.object({
        scaleUp: scalingRules,
        scaleDown: scalingRules,
      }),
    })
    .required(),
  status: s.object({
    observedGeneration: s.int64(),
    lastScaleTime: s.timestamp(),
    currentReplicas: s.int32(),
    desiredReplicas: s.int32(),
    currentMetrics: s.list(metricStatus).nullable(),
    conditions: mergedInPatches(s.listMap(condition, ["type"]), "type"),
  }),
});

export type Scaler = KindOf<typeof scalerFields>;
export const scalerSchema = kindSchema(scalerFields.schema);

export type MetricSpec = NonNullable<Scaler["spec"]["metrics"]>[number];
export type MetricStatus = NonNullable<NonNullable<NonNullable<Scaler["status"]>["currentMetrics"]>>[number];
export type MetricTarget = NonNullable<MetricSpec["resource"]>["target"];
export type ScalingRules = NonNullable<NonNullable<Scaler["spec"]["behavior"]>["scaleUp"]>;

const scalerV1Fields = s.object({
  spec: s
    .object({
      scaleTargetRef: s.object(referenceFields, { atomic: true }).required(),
      minReplicas: s.int32(),
      maxReplicas: s.int32().required(),
      targetCPUUtilizationPercentage: s.int32(),
    })
    .required(),
  status: s.object({
    observedGeneration: s.int64(),
    lastScaleTime: s.timestamp(),
    currentReplicas: s.int32(),
    desiredReplicas: s.int32(),
    currentCPUUtilizationPercentage: s.int32(),
  }),
});

export type ScalerV1 = KindOf<typeof scalerV1Fields>;
export const scalerV1Schema = kindSchema(scalerV1Fields.schema);
