// Jobs as their controller sees them.
// Source: k8s.io/kubernetes/pkg/controller/job/job_controller.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PodTemplate } from "../../../builtin/workloads/pods/pod-fields.ts";
import { type Condition, conditionOf, holds } from "../conditions.ts";
import type { PodState } from "../pod-state.ts";
import type { IndexRanges } from "./index-ranges.ts";

export type Uncounted = { readonly succeeded?: readonly string[]; readonly failed?: readonly string[] };

export type JobStatus = {
  readonly active?: number;
  readonly ready?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly terminating?: number;
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly completedIndexes?: string;
  readonly failedIndexes?: string;
  readonly conditions?: readonly Condition[];
  readonly uncountedTerminatedPods?: Uncounted;
};

export type FailureRule = {
  readonly action?: string;
  readonly onExitCodes?: {
    readonly containerName?: string;
    readonly operator?: string;
    readonly values?: readonly number[] | null;
  };
  readonly onPodConditions?: readonly { readonly type?: string; readonly status?: string }[];
};

export type SuccessRule = { readonly succeededIndexes?: string; readonly succeededCount?: number };

export type Job = KubeObject & {
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly backoffLimitPerIndex?: number;
    readonly maxFailedIndexes?: number;
    readonly podFailurePolicy?: { readonly rules?: readonly FailureRule[] | null };
    readonly successPolicy?: { readonly rules?: readonly SuccessRule[] | null };
    readonly activeDeadlineSeconds?: number | bigint;
    readonly ttlSecondsAfterFinished?: number;
    readonly completionMode?: string;
    readonly suspend?: boolean;
    readonly podReplacementPolicy?: string;
    readonly managedBy?: string;
    readonly selector?: JsonObject;
    readonly template: PodTemplate;
  };
  readonly status?: JobStatus;
};

export type JobCount = {
  /** All of them. */
  readonly pods: readonly PodState[];
  readonly active: readonly PodState[];
  /** In its status, or in pods that are not counted there yet. */
  readonly succeeded: number;
  readonly failed: number;
  /** The completed indexes of an indexed Job, with those of pods that are not counted yet. */
  readonly completed: IndexRanges;
  /** Where each index has a limit of its own: those that are given up. */
  readonly failedIndexes: IndexRanges;
};

/** Holds a finished or deleted pod until it has been counted. */
export const TRACKING = "batch.kubernetes.io/job-tracking";
const INDEX = "batch.kubernetes.io/job-completion-index";
const OWN_CONTROLLER = "kubernetes.io/job-controller";

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed";
export const isTracked = ({ finalizers }: PodState): boolean => finalizers.includes(TRACKING);

export const isManaged = ({ spec }: Job): boolean => (spec.managedBy ?? OWN_CONTROLLER) === OWN_CONTROLLER;

/** The condition that ends it. */
export const finishOf = ({ status }: Pick<Job, "status">): Condition | undefined =>
  ["Complete", "Failed"]
    .filter((type) => holds(status?.conditions, type))
    .map((type) => conditionOf(status?.conditions, type))[0];

/** The completion index of a pod; undefined where it has none that the Job counts. */
export function indexOf({ annotations }: PodState, { spec }: Job): number | undefined {
  const text = annotations[INDEX] ?? "";
  const index = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return index < (spec.completions ?? 0) ? index : undefined;
}

/** A pod that is deleted before it ends counts as failed, unless only those are replaced that have failed themselves. */
export const hasFailed = ({ phase, isDeleted }: PodState, { spec }: Job): boolean =>
  phase === "Failed" || (spec.podReplacementPolicy !== "Failed" && isDeleted && phase !== "Succeeded");

/** The template of pod number `index`. */
export function indexedTemplate(template: PodTemplate, name: string, index: number): PodTemplate {
  const { metadata, spec } = template;
  const variable = {
    name: "JOB_COMPLETION_INDEX",
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${INDEX}']` } },
  };
  type Containers = readonly { readonly env?: readonly { readonly name?: string }[] }[] | undefined;
  const withIndex = (containers: Containers): Containers =>
    containers?.map((container) =>
      container.env?.some((each) => each.name === variable.name) === true
        ? container
        : { ...container, env: [...(container.env ?? []), variable] },
    );
  // A template is JSON; only its named types hide it.
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, [INDEX]: String(index) },
      annotations: { ...metadata?.annotations, [INDEX]: String(index) },
    },
    spec: {
      ...spec,
      hostname: `${name}-${index}`,
      containers: withIndex(spec?.containers as Containers),
      ...(spec?.initContainers === undefined ? {} : { initContainers: withIndex(spec.initContainers as Containers) }),
    },
  } as never;
}
