// Jobs and CronJobs as objects: nothing runs them.
// Source: k8s.io/kubernetes/pkg/registry/batch/{job,cronjob}/strategy.go, pkg/apis/batch/v1/defaults.go

import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { objectReference } from "../core/object-reference.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { keepingStatus } from "./keeping-status.ts";
import { withTemplateDefaults } from "./pod-defaults.ts";
import { podTemplateFields } from "./pod-fields.ts";
import { durationBetween, podColumns } from "./pods.ts";
import { labelSelectorText } from "./selector-text.ts";
import { validatePodSpec } from "./validate-pod.ts";

const jobSpecFields = s.object({
  parallelism: s.int32().describe("How many pods run at a time. Absent: 1."),
  completions: s.int32().describe("How many have to succeed."),
  activeDeadlineSeconds: s.int64().describe("Seconds that the job may take."),
  podFailurePolicy: s.anyObject().describe("What failures of pods mean."),
  successPolicy: s.anyObject().describe("When the job has succeeded."),
  backoffLimit: s.int32().describe("How often pods may fail. Absent: 6."),
  backoffLimitPerIndex: s.int32().describe("How often the pods of one index may fail."),
  maxFailedIndexes: s.int32().describe("How many indexes may fail."),
  selector: labelSelector.describe("Its pods. Filled in by the server."),
  manualSelector: s.boolean().describe("True: the selector is the writer's own."),
  template: podTemplateFields.describe("The pods that it makes."),
  ttlSecondsAfterFinished: s.int32().describe("Seconds for which it is kept after its end."),
  completionMode: s.string().describe("NonIndexed or Indexed."),
  suspend: s.boolean().describe("True: no pods are made."),
  podReplacementPolicy: s.string().describe("TerminatingOrFailed or Failed."),
  managedBy: s.string().describe("The controller that looks after it."),
});

type JobSpec = Infer<typeof jobSpecFields>;

const jobFields = s
  .object({
    spec: jobSpecFields.describe("The job as it should be."),
    status: s
      .object({
        conditions: s.list(conditionFields).describe("The state in words."),
        startTime: s.timestamp().describe("When it began."),
        completionTime: s.timestamp().describe("When it had succeeded."),
        active: s.int32().describe("Pods that run."),
        ready: s.int32().describe("Pods that are ready."),
        succeeded: s.int32().describe("Pods that have succeeded."),
        failed: s.int32().describe("Pods that have failed."),
        terminating: s.int32().describe("Pods that end."),
        completedIndexes: s.string().describe("Indexes that have succeeded."),
        failedIndexes: s.string().describe("Indexes that have failed."),
        uncountedTerminatedPods: s.anyObject().describe("Pods that are not counted yet."),
      })
      .describe("The job as it is. Its controller says so."),
  })
  .describe("Runs pods until enough of them have succeeded. Here it is kept as an object, and no pods are made.");

type Job = KindOf<typeof jobFields>;
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
    podReplacementPolicy: spec.podReplacementPolicy ?? "TerminatingOrFailed",
    ...(spec.template === undefined ? {} : { template: withTemplateDefaults(spec.template) }),
  };
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

const validateJobSpec = (spec: JobSpec | undefined, path: string): readonly FieldError[] =>
  validatePodSpec(spec?.template?.spec, `${path}.template.spec`, RESTARTS);

const jobStrategy = keepingStatus<Job>(({ spec }) => validateJobSpec(spec, "spec"));

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
    // What the store holds has gone through the schema of the kind.
    { name: "Status", type: "string", description: "Phase.", value: (o) => stateOf(o as Job) },
    {
      name: "Completions",
      type: "string",
      description: "How many have succeeded.",
      value: (o) => `${(o as Job).status?.succeeded ?? 0}/${(o as Job).spec?.completions ?? 1}`,
    },
    {
      name: "Duration",
      type: "string",
      description: "How long it took.",
      value: (o, now) => durationBetween((o as Job).status?.startTime, (o as Job).status?.completionTime, now),
    },
    ageColumn,
    ...podColumns(
      (o) => labelSelectorText((o as Job).spec?.selector),
      (o) => (o as Job).spec?.template?.spec,
    ),
  ],
  setDefaults: (object) => ({ ...object, spec: withJobDefaults((object as Job).spec ?? {}) }) as KubeObject,
  strategy: { ...jobStrategy, prepareForCreate: (job: Job) => withOwnSelector({ ...job, status: {} }) } as never,
});

const cronJobFields = s
  .object({
    spec: s
      .object({
        schedule: s.string().required().describe("When it runs, as cron has it: minute, hour, day, month, weekday."),
        timeZone: s.string().describe("The time zone of the schedule."),
        startingDeadlineSeconds: s.int64().describe("Seconds by which a job may begin too late."),
        concurrencyPolicy: s.string().describe("Allow, Forbid or Replace."),
        suspend: s.boolean().describe("True: no jobs are made."),
        jobTemplate: s
          .object({
            metadata: s.field<ObjectMeta>(objectMetaSchema).describe("Labels and annotations of the jobs."),
            spec: jobSpecFields.describe("The jobs."),
          })
          .required()
          .describe("The jobs that it makes."),
        successfulJobsHistoryLimit: s.int32().describe("How many jobs that have succeeded are kept. Absent: 3."),
        failedJobsHistoryLimit: s.int32().describe("How many jobs that have failed are kept. Absent: 1."),
      })
      .describe("The cron job as it should be."),
    status: s
      .object({
        active: s.list(objectReference).describe("Jobs that run."),
        lastScheduleTime: s.timestamp().describe("When it last made a job."),
        lastSuccessfulTime: s.timestamp().describe("When a job last succeeded."),
      })
      .describe("The cron job as it is. Its controller says so."),
  })
  .describe("Makes jobs by a schedule. Here it is kept as an object, and no jobs are made.");

type CronJob = KindOf<typeof cronJobFields>;

/** Five fields, or a word such as @hourly. */
const SCHEDULE = /^(@\w+( \S+)?|(CRON_TZ=\S+ |TZ=\S+ )?\S+( \S+){4})$/;

function validateCronJob({ metadata, spec }: CronJob): readonly FieldError[] {
  const { schedule = "", jobTemplate } = spec ?? {};
  return [
    ...((metadata.name ?? "").length > 52
      ? [invalidError("metadata.name", metadata.name, "must be no more than 52 characters")]
      : []),
    ...(schedule === ""
      ? [requiredError("spec.schedule")]
      : SCHEDULE.test(schedule)
        ? []
        : [
            invalidError(
              "spec.schedule",
              schedule,
              `expected exactly 5 fields, found ${schedule.split(/\s+/).length}: [${schedule}]`,
            ),
          ]),
    ...validateJobSpec(jobTemplate?.spec, "spec.jobTemplate.spec"),
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
      description: "Jobs that run.",
      value: (o) => ((o as CronJob).status?.active ?? []).length,
    },
    {
      name: "Last Schedule",
      type: "string",
      description: "When it last made a job.",
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
  strategy: keepingStatus<CronJob>(validateCronJob) as never,
});
