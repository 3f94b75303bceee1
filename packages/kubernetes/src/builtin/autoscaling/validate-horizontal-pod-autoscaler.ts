// Validation of HorizontalPodAutoscalers.
// Source: k8s.io/kubernetes/pkg/apis/autoscaling/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import { choiceFaults, negativeFaults, textFaults } from "../field-checks.ts";
import { quantityText } from "../quotas/quantities.ts";
import {
  METRIC_TYPES,
  type MetricSpec,
  type MetricTarget,
  type Scaler,
  type ScalingRules,
} from "./horizontal-pod-autoscaler.ts";

const MAX_PERIOD_SECONDS = 1800;
const MAX_STABILIZATION_SECONDS = 3600;
const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];
const TARGET_TYPES = ["Utilization", "Value", "AverageValue"];

type Faults = readonly FieldError[];

export function validateScaler(scaler: Scaler, old?: Scaler): Faults {
  const { minReplicas, maxReplicas, scaleTargetRef, metrics = [], behavior = {} } = scaler.spec;
  return [
    ...(minReplicas !== undefined && minReplicas < 1
      ? [invalidError("spec.minReplicas", minReplicas, "must be greater than or equal to 1")]
      : []),
    ...(maxReplicas === 0 ? [requiredError("spec.maxReplicas", "must be set and greater than 0")] : []),
    ...(maxReplicas < 0 ? [invalidError("spec.maxReplicas", maxReplicas, "must be greater than 0")] : []),
    ...(minReplicas !== undefined && maxReplicas < minReplicas
      ? [invalidError("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`")]
      : []),
    ...referenceFaults(scaleTargetRef, "spec.scaleTargetRef"),
    ...versionFaults(scaler, "spec.scaleTargetRef.apiVersion", old),
    ...metrics.flatMap((metric, index) => metricFaults(metric, indexPath("spec.metrics", index))),
    ...rulesFaults(behavior.scaleUp, "spec.behavior.scaleUp"),
    ...rulesFaults(behavior.scaleDown, "spec.behavior.scaleDown"),
  ];
}

export function validateScalerStatus({ status = {} }: Scaler): Faults {
  const negative = (member: "currentReplicas" | "desiredReplicas"): Faults => {
    const value = status[member] ?? 0;
    return negativeFaults(`status.${member}`, value);
  };
  return [...negative("currentReplicas"), ...negative("desiredReplicas")];
}

const referenceFaults = ({ kind, name }: { readonly kind: string; readonly name: string }, path: string): Faults => [
  ...segmentFaults(kind, childPath(path, "kind")),
  ...segmentFaults(name, childPath(path, "name")),
];

/** Everything that scales is in a group, but for ReplicationControllers; a reference that does not change stays. */
function versionFaults({ spec: { scaleTargetRef } }: Scaler, path: string, old: Scaler | undefined): Faults {
  const { apiVersion = "", kind } = scaleTargetRef;
  const before = old?.spec.scaleTargetRef;
  const isSame = before !== undefined && (before.apiVersion ?? "") === apiVersion && before.kind === kind;
  if (isSame || kind === "ReplicationController" || isGrouped(apiVersion)) return [];
  return [invalidError(path, apiVersion, "apiVersion must specify API group")];
}

const isGrouped = (apiVersion: string): boolean => (parseApiVersion(apiVersion)?.group ?? "") !== "";

const segmentFaults = (value: string, path: string, why = ""): Faults =>
  value === "" ? [requiredError(path, why)] : textFaults(path, value, isValidPathSegmentName);

/** The member of a metric that its type calls for. */
const memberOf = (type: string): string => `${type.charAt(0).toLowerCase()}${type.slice(1)}`;

function metricFaults(metric: MetricSpec, path: string): Faults {
  const { type } = metric;
  const typePath = childPath(path, "type");
  // In the order of upstream, which looks into the first alone.
  const present = (["object", "external", "pods", "resource", "containerResource"] as const).filter(
    (member) => metric[member] !== undefined,
  );
  const known = METRIC_TYPES.some((each) => each === type);
  const expected = known ? memberOf(type) : "";
  return [
    ...(type === "" ? [requiredError(typePath, "must specify a metric source type")] : []),
    ...(known ? [] : [notSupportedError(typePath, type, METRIC_TYPES)]),
    ...sourceFaults(metric, present[0], path),
    ...(known && !present.some((member) => member === expected)
      ? [requiredError(childPath(path, expected), "must populate information for the given metric source")]
      : []),
    ...(present.length === 1
      ? []
      : present
          .filter((member) => member !== expected)
          .map((member) => forbiddenError(childPath(path, member), "must populate the given metric source only"))),
  ];
}

function sourceFaults(metric: MetricSpec, member: keyof MetricSpec | undefined, path: string): Faults {
  const at = childPath(path, member ?? "");
  const { object, external, pods, resource, containerResource } = metric;
  if (member === "object" && object !== undefined) {
    return [
      ...referenceFaults(object.describedObject, childPath(at, "describedObject")),
      ...identifierFaults(object.metric, at),
      ...targetFaults(object.target, at),
      ...eitherValue(object.target, at, "must set either a target value or averageValue"),
    ];
  }
  if (member === "external" && external !== undefined) {
    const { target } = external;
    return [
      ...identifierFaults(external.metric, at),
      ...targetFaults(target, at),
      ...eitherValue(target, at, "must set either a target value for metric or a per-pod target"),
      ...(target.value !== undefined && target.averageValue !== undefined
        ? [forbiddenError(`${at}.target.value`, "may not set both a target value for metric and a per-pod target")]
        : []),
    ];
  }
  if (member === "pods" && pods !== undefined) {
    return [
      ...identifierFaults(pods.metric, at),
      ...targetFaults(pods.target, at),
      ...(isPositive(pods.target.averageValue)
        ? []
        : [requiredError(`${at}.target.averageValue`, "must specify a positive target averageValue")]),
    ];
  }
  if (member === "resource" && resource !== undefined) {
    return [
      ...(resource.name === "" ? [requiredError(`${at}.name`, "must specify a resource name")] : []),
      ...utilizationFaults(resource.target, at),
    ];
  }
  if (member === "containerResource" && containerResource !== undefined) {
    const { name, container, target } = containerResource;
    return [
      ...(name === "" ? [requiredError(`${at}.name`, "must specify a resource name")] : []),
      ...(container === "" ? [requiredError(`${at}.container`, "must specify a container")] : []),
      ...utilizationFaults(target, at),
    ];
  }
  return [];
}

const identifierFaults = ({ name }: { readonly name: string }, path: string): Faults =>
  segmentFaults(name, `${path}.metric.name`, "must specify a metric name");

function targetFaults(target: MetricTarget, source: string): Faults {
  const { type, value, averageValue, averageUtilization } = target;
  const path = childPath(source, "target");
  const positive = (member: string, amount: JsonValue | undefined): Faults =>
    amount === undefined || isPositive(amount)
      ? []
      : [invalidError(childPath(path, member), amount, "must be positive")];
  return [
    ...(type === "" ? [requiredError(`${path}.type`, "must specify a metric target type")] : []),
    ...(TARGET_TYPES.includes(type)
      ? []
      : [invalidError(`${path}.type`, type, "must be either Utilization, Value, or AverageValue")]),
    ...positive("value", value),
    ...positive("averageValue", averageValue),
    ...(averageUtilization !== undefined && averageUtilization < 1
      ? [invalidError(`${path}.averageUtilization`, averageUtilization, "must be greater than 0")]
      : []),
  ];
}

const eitherValue = ({ value, averageValue }: MetricTarget, source: string, why: string): Faults =>
  value === undefined && averageValue === undefined ? [requiredError(`${source}.target.averageValue`, why)] : [];

function utilizationFaults(target: MetricTarget, source: string): Faults {
  const { averageUtilization, averageValue } = target;
  return [
    ...targetFaults(target, source),
    ...(averageUtilization === undefined && averageValue === undefined
      ? [
          requiredError(
            `${source}.target.averageUtilization`,
            "must set either a target raw value or a target utilization",
          ),
        ]
      : []),
    ...(averageUtilization !== undefined && averageValue !== undefined
      ? [
          forbiddenError(
            `${source}.target.averageValue`,
            "may not set both a target raw value and a target utilization",
          ),
        ]
      : []),
  ];
}

const isPositive = (amount: JsonValue | undefined): boolean => (parseAmount(quantityText(amount)) ?? 0n) > 0n;

function rulesFaults(rules: ScalingRules | undefined, path: string): Faults {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies = [], tolerance } = rules;
  const secondsPath = childPath(path, "stabilizationWindowSeconds");
  return [
    ...(seconds !== undefined && seconds < 0
      ? [invalidError(secondsPath, seconds, "must be greater than or equal to zero")]
      : []),
    ...(seconds !== undefined && seconds > MAX_STABILIZATION_SECONDS
      ? [invalidError(secondsPath, seconds, `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`)]
      : []),
    ...choiceFaults(childPath(path, "selectPolicy"), selectPolicy, SELECT_POLICIES),
    ...(policies.length === 0 ? [requiredError(childPath(path, "policies"), "must specify at least one Policy")] : []),
    ...policies.flatMap(({ type, value, periodSeconds }, index) => {
      const at = indexPath(childPath(path, "policies"), index);
      return [
        ...choiceFaults(`${at}.type`, type, POLICY_TYPES),
        ...(value > 0 ? [] : [invalidError(`${at}.value`, value, "must be greater than zero")]),
        ...(periodSeconds > 0 ? [] : [invalidError(`${at}.periodSeconds`, periodSeconds, "must be greater than zero")]),
        ...(periodSeconds > MAX_PERIOD_SECONDS
          ? [invalidError(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`)]
          : []),
      ];
    }),
    ...(tolerance !== undefined && (parseAmount(quantityText(tolerance)) ?? -1n) < 0n
      ? [invalidError(childPath(path, "tolerance"), tolerance, "must be greater than or equal to 0")]
      : []),
  ];
}
