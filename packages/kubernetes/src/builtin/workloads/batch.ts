// Jobs and CronJobs as objects.
// Source: k8s.io/kubernetes/pkg/registry/batch/{job,cronjob}/strategy.go, pkg/apis/batch/v1/defaults.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { objectReference } from "../core/object-reference.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { withTemplateDefaults } from "./pod-defaults.ts";
import { podTemplateFields } from "./pod-fields.ts";
import { durationBetween, podColumns } from "./pods.ts";
import { labelSelectorText } from "./selector-text.ts";
import { statusStrategy } from "./status-strategy.ts";
import { validateCron, validateJobNumbers } from "./validate-job.ts";
import { validatePodSpec, validateTemplate } from "./validate-pod.ts";

const jobSpecFields = s.object({
  parallelism: s.int32().describe("Specifies the maximum desired number of pods the job should run at any given time."),
  completions: s
    .int32()
    .describe("Specifies the desired number of successfully finished pods the job should be run with."),
  activeDeadlineSeconds: s
    .int64()
    .describe(
      "Specifies the duration in seconds relative to the startTime that the job may be continuously active before the system tries to terminate it; value must be positive integer.",
    ),
  podFailurePolicy: s.anyObject().describe("PodFailurePolicy describes how failed pods influence the backoffLimit."),
  successPolicy: s
    .anyObject()
    .describe("SuccessPolicy describes when a Job can be declared as succeeded based on the success of some indexes."),
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

type JobSpec = Infer<typeof jobSpecFields>;

const jobFields = s
  .object({
    spec: jobSpecFields.describe("JobSpec describes how the job execution will look like."),
    status: s
      .object({
        conditions: s.list(conditionFields).describe("The latest available observations of an object's current state."),
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
          .anyObject()
          .describe(
            "UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted in Job status counters.",
          ),
      })
      .describe("JobStatus represents the current state of a Job."),
  })
  .describe("Job represents the configuration of a single job.");

export type Job = KindOf<typeof jobFields>;
const RESTARTS = ["Never", "OnFailure"];

function withJobDefaults(spec: JobSpec): JobSpec {
  const isOnce = spec.completions === undefined && spec.parallelism === undefined;
  return {
    ...spec,
    ...(isOnce ? { completions: 1 } : {}),
    parallelism: spec.parallelism ?? 1,
    backoffLimit: spec.backoffLimit ?? 6,
    completionMode: spec.completionMode ?? "NonIndexed",
    suspend: spec.suspend ?? false,
    manualSelector: spec.manualSelector ?? false,
    podReplacementPolicy: spec.podReplacementPolicy ?? "TerminatingOrFailed",
    ...(spec.template === undefined ? {} : { template: withTemplateDefaults(spec.template) }),
  };
}

/** A Job without labels has those of its pods. */
function withLabelsOfPods(job: Job, submitted: Job): Job {
  const { metadata, spec } = job;
  const isLabelled = Object.keys(metadata.labels ?? {}).length > 0;
  if (isLabelled || submitted.spec?.template?.metadata?.labels === undefined) return job;
  return { ...job, metadata: { ...metadata, labels: spec?.template?.metadata?.labels ?? {} } };
}

/** The labels that tell the pods of one job from those of another of its name. */
function withOwnSelector(job: Job): Job {
  const { uid = "", name = "" } = job.metadata;
  if (job.spec?.manualSelector === true || job.spec?.template === undefined) return job;
  const { template } = job.spec;
  const labels = { "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name };
  const all = { ...template.metadata?.labels, ...labels, "controller-uid": uid, "job-name": name };
  return {
    ...job,
    spec: {
      ...job.spec,
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": uid } },
      template: { ...template, metadata: { ...template.metadata, labels: all } },
    },
  };
}

const validateJobSpec = (spec: JobSpec = {}, path: string): readonly FieldError[] => [
  ...validateJobNumbers(spec, path),
  ...validateTemplate(spec.template, `${path}.template`, validatePodSpec, RESTARTS),
];

/** Fields that decide which pods there are; they count from the start. */
const FIXED = ["completions", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"] as const;

const validateJobChange = ({ spec: next = {} }: Job, { spec: old = {} }: Job): readonly FieldError[] =>
  FIXED.flatMap((name) => {
    const now = (next[name] ?? null) as JsonValue;
    // An indexed Job is scaled by both of its numbers.
    const isScaled =
      name === "completions" && next.completionMode === "Indexed" && next.completions === next.parallelism;
    return isScaled || equalJson(now, (old[name] ?? null) as JsonValue)
      ? []
      : [invalidError(`spec.${name}`, now, "field is immutable")];
  });

const jobStrategy = statusStrategy<Job>(({ spec }) => validateJobSpec(spec, "spec"), validateJobChange);

const stateOf = ({ status }: Job): string => {
  const holds = (type: string) =>
    status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
  return holds("Complete") ? "Complete" : holds("Failed") ? "Failed" : holds("Suspended") ? "Suspended" : "Running";
};

export const jobs: ResourceDefinition = defineBuiltin({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  singular: "job",
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(jobFields.schema),
  selectableFields: [".status.successful"],
  columns: [
    // Stored objects have passed the schema of their kind.
    { name: "Status", type: "string", description: "Phase.", value: (o) => stateOf(o as Job) },
    {
      name: "Completions",
      type: "string",
      description: "Number of successful completions.",
      value: (o) => `${(o as Job).status?.succeeded ?? 0}/${(o as Job).spec?.completions ?? 1}`,
    },
    {
      name: "Duration",
      type: "string",
      description: "Time between start and completion.",
      value: (o, now) => durationBetween((o as Job).status?.startTime, (o as Job).status?.completionTime, now),
    },
    ageColumn,
    ...podColumns(
      (o) => labelSelectorText((o as Job).spec?.selector),
      (o) => (o as Job).spec?.template?.spec,
    ),
  ],
  setDefaults: (object) => ({ ...object, spec: withJobDefaults((object as Job).spec ?? {}) }) as KubeObject,
  strategy: {
    ...jobStrategy,
    orphansByDefault: true,
    prepareForCreate: (job: Job) => withLabelsOfPods(withOwnSelector({ ...job, status: {} }), job),
  } as never,
});

const cronJobFields = s
  .object({
    spec: s
      .object({
        schedule: s.string().describe("The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron."),
        timeZone: s
          .string()
          .describe(
            "The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones.",
          ),
        startingDeadlineSeconds: s
          .int64()
          .describe("Optional deadline in seconds for starting the job if it misses scheduled time for any reason."),
        concurrencyPolicy: s.string().describe("Specifies how to treat concurrent executions of a Job."),
        suspend: s
          .boolean()
          .describe(
            "This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.",
          ),
        jobTemplate: s
          .object({
            metadata: s
              .field<ObjectMeta>(objectMetaSchema)
              .describe(
                "ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create.",
              ),
            spec: jobSpecFields.describe("JobSpec describes how the job execution will look like."),
          })
          .required()
          .describe("JobTemplateSpec describes the data a Job should have when created from a template"),
        successfulJobsHistoryLimit: s
          .int32()
          .describe(
            "The number of successful finished jobs to retain. Value must be non-negative integer. Defaults to 3.",
          ),
        failedJobsHistoryLimit: s
          .int32()
          .describe("The number of failed finished jobs to retain. Value must be non-negative integer. Defaults to 1."),
      })
      .describe("CronJobSpec describes how the job execution will look like and when it will actually run."),
    status: s
      .object({
        active: s.list(objectReference).describe("A list of pointers to currently running jobs."),
        lastScheduleTime: s
          .timestamp()
          .describe("Information when was the last time the job was successfully scheduled."),
        lastSuccessfulTime: s
          .timestamp()
          .describe("Information when was the last time the job successfully completed."),
      })
      .describe("CronJobStatus represents the current state of a cron job."),
  })
  .describe("CronJob represents the configuration of a single cron job.");

type CronJob = KindOf<typeof cronJobFields>;

function validateCronJob({ metadata, spec = {} as NonNullable<CronJob["spec"]> }: CronJob): readonly FieldError[] {
  return [
    ...((metadata.name ?? "").length > 52
      ? [invalidError("metadata.name", metadata.name, "must be no more than 52 characters")]
      : []),
    ...validateCron({ ...spec, manualSelector: spec.jobTemplate?.spec?.manualSelector }),
    ...validateJobSpec(spec.jobTemplate?.spec, "spec.jobTemplate.spec"),
  ];
}

export const cronJobs: ResourceDefinition = defineBuiltin({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  singular: "cronjob",
  shortNames: ["cj"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(cronJobFields.schema),
  columns: [
    { name: "Schedule", type: "string", description: "When it runs.", value: ".spec.schedule" },
    {
      name: "Timezone",
      type: "string",
      description: "Its time zone.",
      value: (o) => (o as CronJob).spec?.timeZone ?? "<none>",
    },
    { name: "Suspend", type: "boolean", description: "Whether it rests.", value: ".spec.suspend" },
    {
      name: "Active",
      type: "integer",
      description: "A list of pointers to currently running jobs.",
      value: (o) => ((o as CronJob).status?.active ?? []).length,
    },
    {
      name: "Last Schedule",
      type: "string",
      description: "Information when was the last time the job was successfully scheduled.",
      value: (o, now) => durationBetween((o as CronJob).status?.lastScheduleTime, undefined, now) || "<none>",
    },
    ageColumn,
    ...podColumns(
      () => "<none>",
      (o) => (o as CronJob).spec?.jobTemplate.spec?.template?.spec,
    ),
  ],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const { spec } = object as CronJob;
    if (spec === undefined) return object;
    const { jobTemplate = {} } = spec as {
      jobTemplate?: CronJob["spec"] extends undefined ? never : { spec?: JobSpec };
    };
    return {
      ...object,
      spec: {
        ...spec,
        concurrencyPolicy: spec.concurrencyPolicy ?? "Allow",
        suspend: spec.suspend ?? false,
        jobTemplate: {
          metadata: {},
          ...jobTemplate,
          ...(jobTemplate.spec?.template === undefined
            ? {}
            : { spec: { ...jobTemplate.spec, template: withTemplateDefaults(jobTemplate.spec.template) } }),
        },
        successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit ?? 3,
        failedJobsHistoryLimit: spec.failedJobsHistoryLimit ?? 1,
      },
    } as KubeObject;
  },
  strategy: statusStrategy<CronJob>(validateCronJob) as never,
});
