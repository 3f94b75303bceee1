// The fields of Jobs.
// Source: k8s.io/api/batch/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../../builtin-resource.ts";
import { conditionFields } from "../../condition-fields.ts";
import { labelSelector } from "../../rbac/rbac-fields.ts";
import { podTemplateFields } from "../pods/pod-fields.ts";

const failureRule = s.object({
  action: s.string().required(),
  onExitCodes: s.object({
    containerName: s.string(),
    operator: s.string().required(),
    values: s.set(s.int32()).nullable().required(),
  }),
  onPodConditions: s.list(
    s.object({
      type: s.string().required(),
      status: s.string(),
    }),
  ),
});

const podFailurePolicy = s.object({
  rules: s.list(failureRule).nullable().required(),
});

const successRule = s.object({
  succeededIndexes: s.string(),
  succeededCount: s.int32(),
});

const successPolicy = s.object({
  rules: s.list(successRule).nullable().required(),
});

export const jobSpecFields = s.object({
  parallelism: s.int32(),
  completions: s.int32(),
  activeDeadlineSeconds: s.int64(),
  podFailurePolicy,
  successPolicy,
  backoffLimit: s.int32(),
  backoffLimitPerIndex: s.int32(),
  maxFailedIndexes: s.int32(),
  selector: labelSelector,
  manualSelector: s.boolean(),
  template: podTemplateFields,
  ttlSecondsAfterFinished: s.int32(),
  completionMode: s.string(),
  suspend: s.boolean(),
  podReplacementPolicy: s.string(),
  managedBy: s.string(),
});

export type JobSpec = Infer<typeof jobSpecFields>;

export const jobFields = s.object({
  spec: jobSpecFields,
  status: s.object({
    conditions: mergedInPatches(s.list(conditionFields("lastProbeTime")), "type"),
    startTime: s.timestamp(),
    completionTime: s.timestamp(),
    active: s.int32(),
    ready: s.int32(),
    succeeded: s.int32(),
    failed: s.int32(),
    terminating: s.int32(),
    completedIndexes: s.string(),
    failedIndexes: s.string(),
    uncountedTerminatedPods: s.object({
      succeeded: s.set(s.string()),
      failed: s.set(s.string()),
    }),
  }),
});

export type Job = KindOf<typeof jobFields>;
