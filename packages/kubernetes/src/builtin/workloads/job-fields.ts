// The fields of Jobs.
// Source: k8s.io/api/batch/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { podTemplateFields } from "./pod-fields.ts";

const failureRule = s.object({
  action: s
    .string()
    .required()
    .describe("Specifies the action taken on a pod failure when the requirements are satisfied."),
  onExitCodes: s
    .object({
      containerName: s
        .string()
        .describe("Restricts the check for exit codes to the container with the specified name."),
      operator: s
        .string()
        .required()
        .describe("Represents the relationship between the container exit code(s) and the specified values."),
      values: s.set(s.int32()).nullable().required().describe("Specifies the set of values."),
    })
    .describe("Represents the requirement on the container exit codes."),
  onPodConditions: s
    .list(
      s.object({
        type: s.string().required().describe("Specifies the required Pod condition type."),
        status: s.string().describe("Specifies the required Pod condition status. Defaults to True."),
      }),
    )
    .describe("Represents the requirement on the pod conditions, as a list of pod condition patterns."),
});

const podFailurePolicy = s.object({
  rules: s
    .list(failureRule)
    .nullable()
    .required()
    .describe("A list of pod failure policy rules. The rules are evaluated in order."),
});

const successRule = s.object({
  succeededIndexes: s
    .string()
    .describe("succeededIndexes specifies the set of indexes which need to be contained in the actual set."),
  succeededCount: s
    .int32()
    .describe("succeededCount specifies the minimal required size of the actual set of the succeeded indexes."),
});

const successPolicy = s.object({
  rules: s
    .list(successRule)
    .nullable()
    .required()
    .describe("rules represents the list of alternative rules for the declaring the Jobs as successful."),
});

export const jobSpecFields = s.object({
  parallelism: s.int32().describe("Specifies the maximum desired number of pods the job should run at any given time."),
  completions: s
    .int32()
    .describe("Specifies the desired number of successfully finished pods the job should be run with."),
  activeDeadlineSeconds: s
    .int64()
    .describe(
      "Specifies the duration in seconds relative to the startTime that the job may be continuously active before the system tries to terminate it; value must be positive integer.",
    ),
  podFailurePolicy: podFailurePolicy.describe("PodFailurePolicy describes how failed pods influence the backoffLimit."),
  successPolicy: successPolicy.describe(
    "SuccessPolicy describes when a Job can be declared as succeeded based on the success of some indexes.",
  ),
  backoffLimit: s.int32().describe("Specifies the number of retries before marking this job failed."),
  backoffLimitPerIndex: s
    .int32()
    .describe("Specifies the limit for the number of retries within an index before marking this index as failed."),
  maxFailedIndexes: s
    .int32()
    .describe(
      "Specifies the maximal number of failed indexes before marking the Job as failed, when backoffLimitPerIndex is set.",
    ),
  selector: labelSelector.describe(
    "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
  ),
  manualSelector: s.boolean().describe("manualSelector controls generation of pod labels and pod selectors."),
  template: podTemplateFields.describe(
    "PodTemplateSpec describes the data a pod should have when created from a template",
  ),
  ttlSecondsAfterFinished: s
    .int32()
    .describe(
      "ttlSecondsAfterFinished limits the lifetime of a Job that has finished execution (either Complete or Failed).",
    ),
  completionMode: s
    .string()
    .describe(
      "completionMode specifies how Pod completions are tracked. It can be `NonIndexed` (default) or `Indexed`.",
    ),
  suspend: s.boolean().describe("suspend specifies whether the Job controller should create Pods or not."),
  podReplacementPolicy: s.string().describe("podReplacementPolicy specifies when to create replacement Pods."),
  managedBy: s.string().describe("ManagedBy field indicates the controller that manages a Job."),
});

export type JobSpec = Infer<typeof jobSpecFields>;

export const jobFields = s
  .object({
    spec: jobSpecFields.describe("JobSpec describes how the job execution will look like."),
    status: s
      .object({
        conditions: mergedInPatches(s.list(conditionFields("lastProbeTime")), "type").describe(
          "The latest available observations of an object's current state.",
        ),
        startTime: s.timestamp().describe("Represents time when the job controller started processing a job."),
        completionTime: s
          .timestamp()
          .describe(
            "Represents time when the job was completed. It is not guaranteed to be set in happens-before order across separate operations.",
          ),
        active: s
          .int32()
          .describe("The number of pending and running pods which are not terminating (without a deletionTimestamp)."),
        ready: s
          .int32()
          .describe(
            "The number of active pods which have a Ready condition and are not terminating (without a deletionTimestamp).",
          ),
        succeeded: s
          .int32()
          .describe(
            "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec.",
          ),
        failed: s.int32().describe("The number of pods which reached phase Failed. The value increases monotonically."),
        terminating: s
          .int32()
          .describe(
            "The number of pods which are terminating (in phase Pending or Running and have a deletionTimestamp). This field is beta-level.",
          ),
        completedIndexes: s
          .string()
          .describe(
            'completedIndexes holds the completed indexes when .spec.completionMode = "Indexed" in a text format.',
          ),
        failedIndexes: s
          .string()
          .describe("FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set."),
        uncountedTerminatedPods: s
          .object({
            succeeded: s.set(s.string()).describe("succeeded holds UIDs of succeeded Pods."),
            failed: s.set(s.string()).describe("failed holds UIDs of failed Pods."),
          })
          .describe(
            "UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted in Job status counters.",
          ),
      })
      .describe("JobStatus represents the current state of a Job."),
  })
  .describe("Job represents the configuration of a single job.");

export type Job = KindOf<typeof jobFields>;
