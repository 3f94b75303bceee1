// HorizontalPodAutoscalers, as objects: nothing scales. Both versions are the same objects, stored in v2.
// Source: k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go, pkg/apis/autoscaling/v2/defaults.go,
// pkg/printers/internalversion/printers.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { quantityText } from "../quotas/quantities.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { cpuMetric, scalerConversion } from "./convert-horizontal-pod-autoscaler.ts";
import {
  type MetricSpec,
  type MetricStatus,
  type Scaler,
  type ScalerV1,
  type ScalingRules,
  scalerSchema,
  scalerV1Schema,
} from "./horizontal-pod-autoscaler.ts";
import { validateScaler, validateScalerStatus } from "./validate-horizontal-pod-autoscaler.ts";

const PERIOD_SECONDS = 15;
const SCALE_UP: ScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: PERIOD_SECONDS },
    { type: "Percent", value: 100, periodSeconds: PERIOD_SECONDS },
  ],
};
const SCALE_DOWN: ScalingRules = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: PERIOD_SECONDS }],
};

/** Objects sent to `/status` may be without a spec. */
type Submitted<T extends { readonly spec: unknown }> = KubeObject & { readonly spec?: T["spec"] };

/** A behavior that is there is filled in on both sides. */
function withDefaults(object: KubeObject): KubeObject {
  const { spec, ...rest } = object as Submitted<Scaler>;
  if (spec === undefined) return object;
  const { metrics = [], behavior } = spec;
  return {
    ...rest,
    spec: {
      ...spec,
      minReplicas: spec.minReplicas ?? 1,
      metrics: metrics.length === 0 ? [cpuMetric()] : metrics,
      ...(behavior === undefined
        ? {}
        : {
            behavior: {
              scaleUp: { ...SCALE_UP, ...behavior.scaleUp },
              scaleDown: { ...SCALE_DOWN, ...behavior.scaleDown },
            },
          }),
    },
  };
}

const withDefaultsV1 = (object: KubeObject): KubeObject => {
  const { spec, ...rest } = object as Submitted<ScalerV1>;
  return spec === undefined ? object : { ...rest, spec: { ...spec, minReplicas: spec.minReplicas ?? 1 } };
};

const strategy = statusStrategy<Scaler>((scaler) => validateScaler(scaler), undefined, { desiredReplicas: 0 });

const scalerStrategy: Strategy<Scaler> = {
  ...strategy,
  validateUpdate: (scaler, old, context) =>
    context.info.subresource === "status" ? validateScalerStatus(scaler) : validateScaler(scaler, old),
};

/** Hooks that look at v1 in v2, so that both are checked alike. */
const strategyV1: Strategy<ScalerV1> = {
  ...statusStrategy<ScalerV1>(() => [], undefined, { currentReplicas: 0, desiredReplicas: 0 }),
  validate: (scaler) => validateScaler(asV2(scaler)),
  validateUpdate: (scaler, old, context) => scalerStrategy.validateUpdate?.(asV2(scaler), asV2(old), context) ?? [],
};

// An object in the shape of v1 converts to one in the shape of v2.
const asV2 = (scaler: ScalerV1): Scaler => scalerConversion.toStored(scaler) as Scaler;

const MAX_SHOWN = 2;

function targetsText({ spec, status }: Scaler): string {
  const { metrics = [] } = spec;
  if (metrics.length === 0) return "<none>";
  const texts = metrics.map((metric, index) => targetText(metric, status?.currentMetrics?.[index]));
  const shown = texts.slice(0, MAX_SHOWN).join(", ");
  return texts.length > MAX_SHOWN ? `${shown} + ${texts.length - MAX_SHOWN} more...` : shown;
}

function targetText(metric: MetricSpec, status: MetricStatus | undefined): string {
  const { object, external, pods, resource, containerResource } = metric;
  const amount = (value: JsonValue | undefined): string => quantityText(value) || "<unknown>";
  const ofResource = resource ?? containerResource;
  if (metric.type === "Pods" && pods !== undefined) {
    return `${amount(status?.pods?.current.averageValue)}/${quantityText(pods.target.averageValue)}`;
  }
  if ((metric.type === "Resource" || metric.type === "ContainerResource") && ofResource !== undefined) {
    const current = (status?.resource ?? status?.containerResource)?.current;
    const { averageValue, averageUtilization } = ofResource.target;
    if (averageValue !== undefined) {
      return `${ofResource.name}: ${amount(current?.averageValue)}/${quantityText(averageValue)}`;
    }
    const used = current?.averageUtilization === undefined ? "<unknown>" : `${current.averageUtilization}%`;
    return `${ofResource.name}: ${used}/${averageUtilization === undefined ? "<auto>" : `${averageUtilization}%`}`;
  }
  const source = metric.type === "Object" ? object : metric.type === "External" ? external : undefined;
  if (source === undefined) return "<unknown type>";
  const current = (status?.object ?? status?.external)?.current;
  const { averageValue, value } = source.target;
  return averageValue === undefined
    ? `${amount(current?.value)}/${quantityText(value)}`
    : `${amount(current?.averageValue)}/${quantityText(averageValue)} (avg)`;
}

/** Read from stored objects, which have the schema of v2. */
const columns: readonly PrinterColumn[] = [
  {
    name: "Reference",
    type: "string",
    value: (o) => `${(o as Scaler).spec.scaleTargetRef.kind}/${(o as Scaler).spec.scaleTargetRef.name}`,
  },
  {
    name: "Targets",
    type: "string",
    value: (o) => targetsText(o as Scaler),
  },
  {
    name: "MinPods",
    type: "string",
    value: (o) => String((o as Scaler).spec.minReplicas ?? "<unset>"),
  },
  {
    name: "MaxPods",
    type: "integer",
    value: ".spec.maxReplicas",
  },
  {
    name: "Replicas",
    type: "integer",
    value: (o) => (o as Scaler).status?.currentReplicas ?? 0,
  },
  ageColumn,
];

const common = {
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  shortNames: ["hpa"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
} as const;

export const horizontalPodAutoscalers: ResourceDefinition = defineBuiltin({
  ...common,
  version: "v2",
  schema: scalerSchema,
  columns,
  setDefaults: withDefaults,
  strategy: scalerStrategy as Strategy,
});

/** The same objects in the older version. */
export const horizontalPodAutoscalersV1: ResourceDefinition = defineBuiltin({
  ...common,
  version: "v1",
  storedAs: horizontalPodAutoscalers,
  conversion: scalerConversion,
  schema: scalerV1Schema,
  columns: columns.map((column) => {
    const { value } = column;
    return typeof value === "string"
      ? column
      : { ...column, value: (object, now) => value(asV2(object as ScalerV1), now) };
  }),
  setDefaults: withDefaultsV1,
  strategy: strategyV1 as Strategy,
});
