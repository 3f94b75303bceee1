// HorizontalPodAutoscalers between autoscaling/v2, in which they are stored, and autoscaling/v1, which has but one metric: whatever else there is
// goes into annotations.
// Source: k8s.io/kubernetes/pkg/apis/autoscaling/v1/conversion.go, pkg/apis/autoscaling/annotations.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KindConversion } from "@postern/apiserver/registry/resource-definition";
import { metricFromV1, metricToV1, statusFromV1, statusToV1 } from "./convert-scaler-metrics.ts";
import type { MetricSpec, MetricStatus, Scaler, ScalerV1 } from "./horizontal-pod-autoscaler.ts";
import { renamedField, withManagedFields } from "./rename-owned-fields.ts";

const PREFIX = "autoscaling.alpha.kubernetes.io/";
const ANNOTATIONS = {
  metrics: `${PREFIX}metrics`,
  behavior: `${PREFIX}behavior`,
  conditions: `${PREFIX}conditions`,
  currentMetrics: `${PREFIX}current-metrics`,
} as const;
const DEFAULT_CPU_UTILIZATION = 80;

export const scalerConversion: KindConversion = {
  // Stored records, and objects that have passed the schema of v1, are of these types.
  toServed: (record) => toV1(record as Scaler),
  toStored: (object) => fromV1(object as ScalerV1),
};

export const cpuMetric = (averageUtilization = DEFAULT_CPU_UTILIZATION): MetricSpec => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

function toV1(scaler: Scaler): ScalerV1 {
  const { spec, status = {}, metadata } = scaler;
  const { metrics = [], behavior, ...common } = spec;
  const { currentMetrics, conditions, ...counts } = status;
  const firstCPU = metrics.find(({ type, resource }) => type === "Resource" && resource?.name === "cpu");
  const utilization = firstCPU?.resource?.target.averageUtilization;
  const others = metrics.filter((metric) => !isCPUUtilization(metric));
  const used = currentMetrics?.find(({ type, resource }) => type === "Resource" && resource?.name === "cpu")?.resource;
  const currentUtilization = used?.current.averageUtilization;
  const texts = {
    ...textOf(ANNOTATIONS.metrics, others.map(metricToV1)),
    ...textOf(ANNOTATIONS.currentMetrics, (currentMetrics ?? []).map(statusToV1)),
    ...textOf(ANNOTATIONS.conditions, conditions ?? []),
    ...(behavior === undefined ? {} : { [ANNOTATIONS.behavior]: stringifyJson(inOrderOfGo(behavior)) }),
  };
  return {
    ...scaler,
    apiVersion: "autoscaling/v1",
    metadata: withManagedFields(
      Object.keys(texts).length === 0 ? metadata : { ...metadata, annotations: { ...metadata.annotations, ...texts } },
      "autoscaling/v1",
      (set) => renamedField(set, "f:metrics", "f:targetCPUUtilizationPercentage"),
    ),
    spec: {
      ...common,
      ...(utilization === undefined ? {} : { targetCPUUtilizationPercentage: utilization }),
    },
    status: {
      ...counts,
      ...(currentUtilization === undefined ? {} : { currentCPUUtilizationPercentage: currentUtilization }),
      currentReplicas: counts.currentReplicas ?? 0,
      desiredReplicas: counts.desiredReplicas ?? 0,
    },
  };
}

function fromV1(scaler: ScalerV1): Scaler {
  const { spec, status = {}, metadata } = scaler;
  const { targetCPUUtilizationPercentage: utilization, ...common } = spec;
  const { currentCPUUtilizationPercentage: used, ...counts } = status;
  const { annotations } = metadata;
  // As upstream, texts that cannot be read are dropped.
  const others = listIn(annotations?.[ANNOTATIONS.metrics]).flatMap(metricFromV1);
  const metrics = [...others, ...(utilization === undefined ? [] : [cpuMetric(utilization)])];
  const behavior = readText(annotations?.[ANNOTATIONS.behavior]);
  const conditions = listIn(annotations?.[ANNOTATIONS.conditions]);
  const statuses = listIn(annotations?.[ANNOTATIONS.currentMetrics]).flatMap(statusFromV1);
  const currentMetrics =
    statuses.length > 0 || used === undefined
      ? statuses
      : [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: used } } }];
  const kept = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([name]) => !Object.values(ANNOTATIONS).some((each) => each === name)),
  );
  const { annotations: _, ...rest } = metadata;
  return {
    ...scaler,
    apiVersion: "autoscaling/v2",
    metadata: withManagedFields(
      Object.keys(kept).length === 0 ? rest : { ...rest, annotations: kept },
      "autoscaling/v2",
      (set) => renamedField(set, "f:targetCPUUtilizationPercentage", "f:metrics"),
    ),
    spec: {
      ...common,
      // v1 has this default here, where all metrics are known.
      metrics: metrics.length === 0 ? [cpuMetric()] : metrics,
      ...(isJsonObject(behavior) ? { behavior } : {}),
    },
    status: {
      ...counts,
      ...(currentMetrics.length === 0 ? {} : { currentMetrics: currentMetrics as readonly MetricStatus[] }),
      ...(conditions.length === 0 ? {} : { conditions: conditions as never }),
    },
  };
}

const isCPUUtilization = ({ type, resource }: MetricSpec): boolean =>
  type === "Resource" && resource?.name === "cpu" && resource.target.averageUtilization !== undefined;

/** Nothing where the list is empty. */
const textOf = (annotation: string, items: readonly unknown[]): { readonly [name: string]: string } =>
  items.length === 0 ? {} : { [annotation]: stringifyJson(items as unknown as JsonValue) };

function readText(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function listIn(text: string | undefined): readonly JsonObject[] {
  const value = readText(text);
  return isJsonArray(value) ? value.filter(isJsonObject) : [];
}

/** Members of scaling rules as encoding/json writes them, so that the text is the one that upstream writes. */
const inOrderOfGo = (behavior: JsonObject): JsonObject =>
  Object.fromEntries(
    ["scaleUp", "scaleDown"].flatMap((direction) => {
      const rules = behavior[direction];
      return isJsonObject(rules)
        ? [[direction, pick(rules, "stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")]]
        : [];
    }),
  );

const pick = (from: JsonObject, ...members: readonly string[]): JsonObject =>
  Object.fromEntries(members.flatMap((member) => (from[member] === undefined ? [] : [[member, from[member]]])));
