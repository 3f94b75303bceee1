// Jobs and CronJobs as objects.
// Source: k8s.io/kubernetes/pkg/registry/batch/{job,cronjob}/strategy.go, pkg/apis/batch/v1/defaults.go

import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../../builtin-resource.ts";
import { objectReference } from "../../core/object-reference.ts";
import { withTemplateDefaults } from "../pods/pod-defaults.ts";
import { templateWarnings } from "../pods/pod-warnings.ts";
import { durationBetween, podColumns } from "../pods/pods.ts";
import { labelSelectorText } from "../selector-text.ts";
import { statusStrategy } from "../status-strategy.ts";
import { type Job, type JobSpec, jobFields, jobSpecFields } from "./job-fields.ts";
import { validateCron } from "./validate-cron.ts";
import {
  NAME_LABEL,
  OLD_NAME_LABEL,
  OLD_UID_LABEL,
  UID_LABEL,
  validateJob,
  validateJobChange,
  validateJobSpec,
} from "./validate-job.ts";
import { validateJobStatus } from "./validate-job-status.ts";

function withJobDefaults(spec: JobSpec): JobSpec {
  const isOnce = spec.completions === undefined && spec.parallelism === undefined;
  return {
    ...spec,
    ...(isOnce ? { completions: 1 } : {}),
    parallelism: spec.parallelism ?? 1,
    backoffLimit: spec.backoffLimit ?? (spec.backoffLimitPerIndex === undefined ? 6 : NO_LIMIT),
    completionMode: spec.completionMode ?? "NonIndexed",
    suspend: spec.suspend ?? false,
    manualSelector: spec.manualSelector ?? false,
    podReplacementPolicy:
      spec.podReplacementPolicy ?? (spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed"),
    ...withDefaultsOfParts(spec),
  };
}

/** The greatest int32. */
const NO_LIMIT = 2_147_483_647;

/** Jobs of a CronJob have the other defaults when they are created. */
function withDefaultsOfParts({ template, podFailurePolicy }: JobSpec): Partial<JobSpec> {
  return {
    ...(template === undefined ? {} : { template: withTemplateDefaults(template) }),
    ...(podFailurePolicy === undefined ? {} : { podFailurePolicy: withConditionDefaults(podFailurePolicy) }),
  };
}

const withConditionDefaults = ({ rules, ...policy }: NonNullable<JobSpec["podFailurePolicy"]>) => ({
  ...policy,
  rules: rules?.map(withPatternDefaults) ?? null,
});

type FailureRule = NonNullable<NonNullable<JobSpec["podFailurePolicy"]>["rules"]>[number];

function withPatternDefaults(rule: FailureRule): FailureRule {
  const { onPodConditions } = rule;
  if (onPodConditions === undefined) return rule;
  const withStatus = onPodConditions.map((pattern) => ({ ...pattern, status: pattern.status || "True" }));
  return { ...rule, onPodConditions: withStatus };
}

/** A Job without labels has those of its pods. */
function withLabelsOfPods(job: Job): Job {
  const { metadata, spec } = job;
  const labels = spec?.template?.metadata?.labels;
  const isLabelled = Object.keys(metadata.labels ?? {}).length > 0;
  return isLabelled || labels === undefined ? job : { ...job, metadata: { ...metadata, labels } };
}

/** The labels that tell the pods of one job from those of another of its name. What the client chose is refused later, if it is not the same. */
function withOwnSelector(job: Job): Job {
  const { uid = "", name = "" } = job.metadata;
  if (job.spec?.manualSelector === true || job.spec?.template === undefined) return job;
  const { template, selector } = job.spec;
  const labels = {
    [OLD_NAME_LABEL]: name,
    [NAME_LABEL]: name,
    [OLD_UID_LABEL]: uid,
    [UID_LABEL]: uid,
    ...template.metadata?.labels,
  };
  return {
    ...job,
    spec: {
      ...job.spec,
      selector: { ...selector, matchLabels: { [UID_LABEL]: uid, ...selector?.matchLabels } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

const jobStrategy: Strategy<Job> = {
  ...statusStrategy<Job>((job) => validateJob(job)),
  ...templateWarnings<Job>(({ spec }) => spec?.template, "spec.template", { namesPods: true }),
  validateUpdate: (job, old, { info }) =>
    info.subresource === "status"
      ? validateJobStatus(job, old)
      : [...validateJob(job, old), ...validateJobChange(job, old)],
};

/** Source: pkg/printers/internalversion/printers.go (printJob) */
function stateOf({ metadata, status }: Job): string {
  const holds = (type: string) =>
    status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
  const end = ["Complete", "Failed"].find(holds);
  if (end !== undefined) return end;
  if (isBeingDeleted({ metadata })) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

export const jobs: ResourceDefinition = defineBuiltin({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(jobFields.schema),
  selectableFields: [".status.successful"],
  unknownFieldText: (field) => `field label ${quoteGo(field)} not supported for Job`,
  columns: [
    // Stored objects have passed the schema of their kind.
    { name: "Status", type: "string", value: (o) => stateOf(o as Job) },
    {
      name: "Completions",
      type: "string",
      value: (o) => `${(o as Job).status?.succeeded ?? 0}/${(o as Job).spec?.completions ?? 1}`,
    },
    {
      name: "Duration",
      type: "string",
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
    orphanWarning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    prepareForCreate: (job: Job) => withLabelsOfPods(withOwnSelector({ ...job, status: {} })),
    prepareForUpdate: async (job: Job, old: Job, context: RequestContext) =>
      withLabelsOfPods((await jobStrategy.prepareForUpdate?.(job, old, context)) ?? job),
  },
});

const cronJobFields = s.object({
  spec: s.object({
    schedule: s.string(),
    timeZone: s.string(),
    startingDeadlineSeconds: s.int64(),
    concurrencyPolicy: s.string(),
    suspend: s.boolean(),
    jobTemplate: s
      .object({
        metadata: s.field<ObjectMeta>(objectMetaSchema),
        spec: jobSpecFields,
      })
      .required(),
    successfulJobsHistoryLimit: s.int32(),
    failedJobsHistoryLimit: s.int32(),
  }),
  status: s.object({
    active: s.list(objectReference),
    lastScheduleTime: s.timestamp(),
    lastSuccessfulTime: s.timestamp(),
  }),
});

type CronJob = KindOf<typeof cronJobFields>;

const MOST_NAME_LENGTH = 52;

const validateCronSpec = ({ spec }: CronJob, old: CronJob | undefined): readonly FieldError[] => {
  const jobs: JobSpec = spec?.jobTemplate.spec ?? {};
  const { selector, manualSelector } = jobs;
  const ofJobs = validateJobSpec(jobs, "spec.jobTemplate.spec");
  return validateCron({ ...spec, selector, manualSelector }, old?.spec, ofJobs);
};

const cronJobStrategy: Strategy<CronJob> = {
  ...templateWarnings<CronJob>(({ spec }) => spec?.jobTemplate.spec?.template, "spec.jobTemplate.spec.template", {
    namesPods: true,
  }),
  ...statusStrategy<CronJob>((cronJob) => {
    const { name = "" } = cronJob.metadata;
    return [
      ...validateCronSpec(cronJob, undefined),
      ...(name.length > MOST_NAME_LENGTH
        ? [invalidError("metadata.name", name, "must be no more than 52 characters")]
        : []),
    ];
  }),
  // Older ones may have longer names.
  validateUpdate: (cronJob, old, { info }) => (info.subresource === "status" ? [] : validateCronSpec(cronJob, old)),
};

export const cronJobs: ResourceDefinition = defineBuiltin({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  shortNames: ["cj"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(cronJobFields.schema),
  columns: [
    { name: "Schedule", type: "string", value: ".spec.schedule" },
    {
      name: "Timezone",
      type: "string",
      value: (o) => (o as CronJob).spec?.timeZone ?? "<none>",
    },
    {
      name: "Suspend",
      type: "boolean",
      value: (o) => ((o as CronJob).spec?.suspend === true ? "True" : "False"),
    },
    {
      name: "Active",
      type: "integer",
      value: (o) => ((o as CronJob).status?.active ?? []).length,
    },
    {
      name: "Last Schedule",
      type: "string",
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
          ...(jobTemplate.spec === undefined
            ? {}
            : { spec: { ...jobTemplate.spec, ...withDefaultsOfParts(jobTemplate.spec) } }),
        },
        successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit ?? 3,
        failedJobsHistoryLimit: spec.failedJobsHistoryLimit ?? 1,
      },
    } as KubeObject;
  },
  strategy: cronJobStrategy,
});
