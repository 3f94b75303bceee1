// How a workload replaces its pods: strategies, policies, and numbers that are not negative.
// Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { negativeFaults, requiredChoice } from "../../field-checks.ts";

type Amount = number | string;
type Rolling = { readonly partition?: number; readonly maxUnavailable?: Amount; readonly maxSurge?: Amount };

/** The members of specs of workloads that decide about a rollout. */
export type Rollout = {
  readonly minReadySeconds?: number | undefined;
  readonly revisionHistoryLimit?: number | undefined;
  readonly progressDeadlineSeconds?: number | undefined;
  readonly ordinals?: { readonly start?: number | undefined } | undefined;
  readonly podManagementPolicy?: string | undefined;
  readonly persistentVolumeClaimRetentionPolicy?: { readonly [name: string]: string } | undefined;
  readonly strategy?: unknown;
  readonly updateStrategy?: unknown;
};

type Strategy = { readonly type?: string; readonly rollingUpdate?: Rolling };

const PERCENT = /^[0-9]+%$/;
const PERCENT_FAULT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

export const amountFaults = (amount: Amount, path: string): readonly FieldError[] => {
  if (typeof amount === "number") return negativeFaults(path, amount);
  return PERCENT.test(amount) ? [] : [invalidError(path, amount, PERCENT_FAULT)];
};

const isOver100 = (amount: Amount): boolean =>
  typeof amount === "string" && PERCENT.test(amount) && Number.parseInt(amount, 10) > 100;
export const overFaults = (amount: Amount, path: string): readonly FieldError[] =>
  isOver100(amount) ? [invalidError(path, amount, "must not be greater than 100%")] : [];

/** As Go's IntValue: a text that is no number counts as 0. */
const sizeOf = (amount: Amount): number => {
  if (typeof amount === "number") return amount;
  return PERCENT.test(amount) || /^[+-]?[0-9]+$/.test(amount) ? Number.parseInt(amount, 10) : 0;
};

/** Defaults have been set: amounts that are absent are 0 only in an object that another release stored. */
export function validateDeploymentRollout(spec: Rollout): readonly FieldError[] {
  const { minReadySeconds = 0, progressDeadlineSeconds } = spec;
  return [
    ...deploymentStrategy((spec.strategy ?? {}) as Strategy),
    ...negativeFaults("spec.minReadySeconds", minReadySeconds),
    ...negativeFaults("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
    ...negativeFaults("spec.progressDeadlineSeconds", progressDeadlineSeconds),
    ...(progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds
      ? [invalidError("spec.progressDeadlineSeconds", progressDeadlineSeconds, "must be greater than minReadySeconds")]
      : []),
  ];
}

function deploymentStrategy(strategy: Strategy): readonly FieldError[] {
  const path = "spec.strategy";
  const { type = "", rollingUpdate } = strategy;
  if (type === "Recreate") {
    if (rollingUpdate === undefined) return [];
    const why = "may not be specified when strategy `type` is 'Recreate'";
    return [forbiddenError(`${path}.rollingUpdate`, why)];
  }
  if (type !== "RollingUpdate") return [notSupportedError(path, strategy as JsonValue, ["Recreate", "RollingUpdate"])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const at = `${path}.rollingUpdate.maxUnavailable`;
  return [
    ...amountFaults(maxUnavailable, at),
    ...amountFaults(maxSurge, `${path}.rollingUpdate.maxSurge`),
    ...(sizeOf(maxUnavailable) === 0 && sizeOf(maxSurge) === 0
      ? [invalidError(at, maxUnavailable, "may not be 0 when `maxSurge` is 0")]
      : []),
    ...overFaults(maxUnavailable, at),
  ];
}

export function validateDaemonSetRollout(spec: Rollout): readonly FieldError[] {
  return [
    ...negativeFaults("spec.minReadySeconds", spec.minReadySeconds),
    ...daemonSetStrategy((spec.updateStrategy ?? {}) as Strategy),
    ...negativeFaults("spec.revisionHistoryLimit", spec.revisionHistoryLimit),
  ];
}

function daemonSetStrategy(strategy: Strategy): readonly FieldError[] {
  const path = "spec.updateStrategy";
  const { type = "", rollingUpdate } = strategy;
  if (type === "OnDelete") return [];
  if (type !== "RollingUpdate") return [notSupportedError(path, strategy as JsonValue, ["RollingUpdate", "OnDelete"])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const unavailable = `${path}.rollingUpdate.maxUnavailable`;
  const surge = `${path}.rollingUpdate.maxSurge`;
  const hasUnavailable = sizeOf(maxUnavailable) !== 0;
  const hasSurge = sizeOf(maxSurge) !== 0;
  return [
    ...amountFaults(maxUnavailable, unavailable),
    ...amountFaults(maxSurge, surge),
    ...overFaults(maxUnavailable, unavailable),
    ...overFaults(maxSurge, surge),
    ...(hasUnavailable && hasSurge
      ? [invalidError(surge, maxSurge, "may not be set when maxUnavailable is non-zero")]
      : []),
    ...(hasUnavailable || hasSurge ? [] : [requiredError(unavailable, "cannot be 0 when maxSurge is 0")]),
  ];
}

export function validateStatefulSetRollout(spec: Rollout): readonly FieldError[] {
  const { podManagementPolicy = "", persistentVolumeClaimRetentionPolicy: retention } = spec;
  const at = "spec.podManagementPolicy";
  const managed = ["OrderedReady", "Parallel"].includes(podManagementPolicy)
    ? []
    : [invalidError(at, podManagementPolicy, "must be 'OrderedReady' or 'Parallel'")];
  return [
    ...(podManagementPolicy === "" ? [requiredError(at)] : managed),
    ...statefulSetStrategy((spec.updateStrategy ?? {}) as Strategy),
    ...(retention === undefined
      ? []
      : ["whenDeleted", "whenScaled"].flatMap((name) =>
          requiredChoice(`spec.persistentVolumeClaimRetentionPolicy.${name}`, retention[name], ["Retain", "Delete"]),
        )),
    ...negativeFaults("spec.minReadySeconds", spec.minReadySeconds),
    ...negativeFaults("spec.ordinals.start", spec.ordinals?.start),
  ];
}

function statefulSetStrategy(strategy: Strategy): readonly FieldError[] {
  const path = "spec.updateStrategy";
  const { type = "", rollingUpdate } = strategy;
  const rolling = `${path}.rollingUpdate`;
  if (type === "OnDelete") {
    if (rollingUpdate === undefined) return [];
    return [invalidError(rolling, rollingUpdate as JsonValue, "only allowed for updateStrategy 'RollingUpdate'")];
  }
  if (type !== "RollingUpdate") {
    if (type === "") return [requiredError(path)];
    return [invalidError(path, strategy as JsonValue, "must be 'RollingUpdate' or 'OnDelete'")];
  }
  const { partition, maxUnavailable } = rollingUpdate ?? {};
  const at = `${rolling}.maxUnavailable`;
  const partitionFaults = negativeFaults(`${rolling}.partition`, partition);
  if (maxUnavailable === undefined) return partitionFaults;
  return [
    ...partitionFaults,
    ...amountFaults(maxUnavailable, at),
    ...(sizeOf(maxUnavailable) === 0 ? [invalidError(at, maxUnavailable, "cannot be 0")] : []),
    ...overFaults(maxUnavailable, at),
  ];
}
