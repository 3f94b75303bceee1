// The fields of HorizontalPodAutoscalers, in autoscaling/v2 and v1.
// Source: k8s.io/api/autoscaling/{v2,v1}/types.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { quantity } from "../quotas/quantities.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";

export const METRIC_TYPES = ["ContainerResource", "External", "Object", "Pods", "Resource"] as const;

const referenceFields = {
  kind: s.string().required().describe("kind is the kind of the referent"),
  name: s.string().required().describe("name is the name of the referent"),
  apiVersion: s.string().describe("apiVersion is the API version of the referent"),
};
const reference = s.object(referenceFields);
const REFERENCE = "CrossVersionObjectReference contains enough information to let you identify the referred resource.";

const metricFields = s
  .object({
    name: s.string().required().describe("name is the name of the given metric"),
    selector: labelSelector.describe(
      "selector is the string-encoded form of a standard kubernetes label selector for the given metric When set, it is passed as an additional parameter to the metrics server for more specific metrics scoping.",
    ),
  })
  .describe("metric identifies the target metric by name and selector");

const targetFields = s
  .object({
    type: s
      .string()
      .required()
      .describe("type represents whether the metric type is Utilization, Value, or AverageValue"),
    value: quantity.describe("value is the target value of the metric (as a quantity)."),
    averageValue: quantity.describe(
      "averageValue is the target value of the average of the metric across all relevant pods (as a quantity)",
    ),
    averageUtilization: s
      .int32()
      .describe(
        "averageUtilization is the target value of the average of the resource metric across all relevant pods, represented as a percentage of the requested value of the resource for the pods. Currently only valid for Resource metric source type",
      ),
  })
  .describe("target specifies the target value for the given metric");

const currentFields = s
  .object({
    value: quantity.describe("value is the current value of the metric (as a quantity)."),
    averageValue: quantity.describe(
      "averageValue is the current value of the average of the metric across all relevant pods (as a quantity)",
    ),
    averageUtilization: s
      .int32()
      .describe(
        "currentAverageUtilization is the current value of the average of the resource metric across all relevant pods, represented as a percentage of the requested value of the resource for the pods.",
      ),
  })
  .describe("current contains the current value for the given metric");

const describedObject = reference
  .required()
  .describe("describedObject specifies the descriptions of a object,such as kind,name apiVersion");
const resourceName = s.string().required().describe("name is the name of the resource in question.");
const container = s
  .string()
  .required()
  .describe("container is the name of the container in the pods of the scaling target");

const ABOUT = {
  object:
    "object refers to a metric describing a single kubernetes object (for example, hits-per-second on an Ingress object).",
  pods: "pods refers to a metric describing each pod in the current scale target (for example, transactions-processed-per-second). The values will be averaged together before being compared to the target value.",
  resource:
    "resource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing each pod in the current scale target (e.g. CPU or memory).",
  containerResource:
    "containerResource refers to a resource metric (such as those specified in requests and limits) known to Kubernetes describing a single container in each pod of the current scale target (e.g. CPU or memory).",
  external:
    "external refers to a global metric that is not associated with any Kubernetes object. It allows autoscaling based on information coming from components running outside of cluster (for example length of queue in cloud messaging service, or QPS from loadbalancer running outside of cluster).",
} as const;

const [metric, target, current] = [metricFields.required(), targetFields.required(), currentFields.required()];

const metricSpec = s.object({
  type: s
    .string()
    .required()
    .describe(
      'type is the type of metric source. It should be one of "ContainerResource", "External", "Object", "Pods" or "Resource", each mapping to a matching field in the object.',
    ),
  object: s.object({ describedObject, target, metric }).describe(ABOUT.object),
  pods: s.object({ metric, target }).describe(ABOUT.pods),
  resource: s.object({ name: resourceName, target }).describe(ABOUT.resource),
  containerResource: s.object({ name: resourceName, target, container }).describe(ABOUT.containerResource),
  external: s.object({ metric, target }).describe(ABOUT.external),
});

const metricStatus = s.object({
  type: s
    .string()
    .required()
    .describe(
      'type is the type of metric source. It will be one of "ContainerResource", "External", "Object", "Pods" or "Resource", each corresponds to a matching field in the object.',
    ),
  object: s.object({ describedObject, current, metric }).describe(ABOUT.object),
  pods: s.object({ metric, current }).describe(ABOUT.pods),
  resource: s.object({ name: resourceName, current }).describe(ABOUT.resource),
  containerResource: s.object({ name: resourceName, current, container }).describe(ABOUT.containerResource),
  external: s.object({ metric, current }).describe(ABOUT.external),
});

const scalingRules = s.object({
  stabilizationWindowSeconds: s
    .int32()
    .describe(
      "stabilizationWindowSeconds is the number of seconds for which past recommendations should be considered while scaling up or scaling down. StabilizationWindowSeconds must be greater than or equal to zero and less than or equal to 3600 (one hour).",
    ),
  selectPolicy: s
    .string()
    .describe(
      "selectPolicy is used to specify which policy should be used. If not set, the default value Max is used.",
    ),
  policies: s
    .list(
      s.object({
        type: s.string().required().describe("type is used to specify the scaling policy."),
        value: s
          .int32()
          .required()
          .describe(
            "value contains the amount of change which is permitted by the policy. It must be greater than zero",
          ),
        periodSeconds: s
          .int32()
          .required()
          .describe(
            "periodSeconds specifies the window of time for which the policy should hold true. PeriodSeconds must be greater than zero and less than or equal to 1800 (30 min).",
          ),
      }),
    )
    .describe("policies is a list of potential scaling polices which can be used during scaling."),
  tolerance: quantity.describe(
    "tolerance is the tolerance on the ratio between the current and desired metric value under which no updates are made to the desired number of replicas (e.g. 0.01 for 1%). Must be greater than or equal to zero.",
  ),
});

const condition = s.object({
  type: s.string().required().describe("type describes the current condition"),
  status: s.string().required().describe("status is the status of the condition (True, False, Unknown)"),
  lastTransitionTime: s
    .timestamp()
    .describe("lastTransitionTime is the last time the condition transitioned from one status to another"),
  reason: s.string().describe("reason is the reason for the condition's last transition."),
  message: s.string().describe("message is a human-readable explanation containing details about the transition"),
  observedGeneration: s
    .int64()
    .describe("observedGeneration represents the .metadata.generation that the condition was set based upon."),
});

export const scalerFields = s
  .object({
    spec: s
      .object({
        scaleTargetRef: reference.required().describe(REFERENCE),
        minReplicas: s
          .int32()
          .describe(
            "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down. It defaults to 1 pod.",
          ),
        maxReplicas: s
          .int32()
          .required()
          .describe(
            "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.",
          ),
        metrics: s
          .list(metricSpec)
          .describe(
            "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used). If not set, the default metric will be set to 80% average CPU utilization.",
          ),
        behavior: s
          .object({
            scaleUp: scalingRules.describe("scaleUp is scaling policy for scaling Up."),
            scaleDown: scalingRules.describe("scaleDown is scaling policy for scaling Down."),
          })
          .describe(
            "behavior configures the scaling behavior of the target in both Up and Down directions (scaleUp and scaleDown fields respectively). If not set, the default HPAScalingRules for scale up and scale down are used.",
          ),
      })
      .required()
      .describe("HorizontalPodAutoscalerSpec describes the desired functionality of the HorizontalPodAutoscaler."),
    status: s
      .object({
        observedGeneration: s
          .int64()
          .describe("observedGeneration is the most recent generation observed by this autoscaler."),
        lastScaleTime: s
          .timestamp()
          .describe(
            "lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods, used by the autoscaler to control how often the number of pods is changed.",
          ),
        currentReplicas: s
          .int32()
          .describe(
            "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.",
          ),
        desiredReplicas: s
          .int32()
          .describe(
            "desiredReplicas is the desired number of replicas of pods managed by this autoscaler, as last calculated by the autoscaler.",
          ),
        currentMetrics: s
          .list(metricStatus)
          .nullable()
          .describe("currentMetrics is the last read state of the metrics used by this autoscaler."),
        conditions: mergedInPatches(s.listMap(condition, ["type"]), "type").describe(
          "conditions is the set of conditions required for this autoscaler to scale its target, and indicates whether or not those conditions are met.",
        ),
      })
      .describe("HorizontalPodAutoscalerStatus describes the current status of a horizontal pod autoscaler."),
  })
  .describe(
    "HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which automatically manages the replica count of any resource implementing the scale subresource based on the metrics specified.",
  );

export type Scaler = KindOf<typeof scalerFields>;
export const scalerSchema = kindSchema(scalerFields.schema);

export type MetricSpec = NonNullable<Scaler["spec"]["metrics"]>[number];
export type MetricStatus = NonNullable<NonNullable<NonNullable<Scaler["status"]>["currentMetrics"]>>[number];
export type MetricTarget = NonNullable<MetricSpec["resource"]>["target"];
export type ScalingRules = NonNullable<NonNullable<Scaler["spec"]["behavior"]>["scaleUp"]>;

const scalerV1Fields = s
  .object({
    spec: s
      .object({
        scaleTargetRef: s.object(referenceFields, { atomic: true }).required().describe(REFERENCE),
        minReplicas: s
          .int32()
          .describe(
            "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down. It defaults to 1 pod.",
          ),
        maxReplicas: s
          .int32()
          .required()
          .describe(
            "maxReplicas is the upper limit for the number of pods that can be set by the autoscaler; cannot be smaller than MinReplicas.",
          ),
        targetCPUUtilizationPercentage: s
          .int32()
          .describe(
            "targetCPUUtilizationPercentage is the target average CPU utilization (represented as a percentage of requested CPU) over all the pods; if not specified the default autoscaling policy will be used.",
          ),
      })
      .required()
      .describe("specification of a horizontal pod autoscaler."),
    status: s
      .object({
        observedGeneration: s
          .int64()
          .describe("observedGeneration is the most recent generation observed by this autoscaler."),
        lastScaleTime: s
          .timestamp()
          .describe(
            "lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods; used by the autoscaler to control how often the number of pods is changed.",
          ),
        currentReplicas: s
          .int32()
          .describe("currentReplicas is the current number of replicas of pods managed by this autoscaler."),
        desiredReplicas: s
          .int32()
          .describe("desiredReplicas is the desired number of replicas of pods managed by this autoscaler."),
        currentCPUUtilizationPercentage: s
          .int32()
          .describe(
            "currentCPUUtilizationPercentage is the current average CPU utilization over all pods, represented as a percentage of requested CPU, e.g. 70 means that an average pod is using now 70% of its requested CPU.",
          ),
      })
      .describe("current status of a horizontal pod autoscaler"),
  })
  .describe("configuration of a horizontal pod autoscaler.");

export type ScalerV1 = KindOf<typeof scalerV1Fields>;
export const scalerV1Schema = kindSchema(scalerV1Fields.schema);
