// Requirements of Jobs.
// Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { SelectorError } from "@postern/apimachinery/selectors/label-requirement";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import {
  type FieldError,
  invalidError,
  keyPath,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { isDNS1123Label } from "@postern/apimachinery/validation/string-validators";
import { choiceFaults, negativeFaults, prefixedPathFaults } from "../../field-checks.ts";
import { unmatched, validatePodSpec, validateTemplate } from "../pods/validate-pod.ts";
import type { LabelSelector } from "../selector-text.ts";
import type { Job, JobSpec } from "./job-fields.ts";
import { validatePodFailurePolicy, validateSuccessPolicy } from "./validate-job-policies.ts";

type Faults = readonly FieldError[];

const INDEXED = "Indexed";
const RESTARTS = ["Never", "OnFailure"];
const MOST_INDEXED_PARALLELISM = 100_000;
const MOST_FAILED_INDEXES = 100_000;
const MANY_COMPLETIONS = 100_000;
const MOST_FOR_MANY = 10_000;
const MOST_MANAGED_BY_BYTES = 63;

const NUMBERS = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
] as const;

/** The specification of a Job, but for its selector. */
export function validateJobSpec(spec: JobSpec, path: string): Faults {
  const { managedBy, completionMode, podFailurePolicy, successPolicy, template } = spec;
  const isIndexed = completionMode === INDEXED;
  const restartPolicy = template?.spec?.restartPolicy;
  return [
    ...NUMBERS.flatMap((name) => negativeFaults(`${path}.${name}`, spec[name])),
    ...(spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined
      ? [requiredError(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified")]
      : []),
    ...(managedBy === undefined ? [] : prefixedPathFaults(`${path}.managedBy`, managedBy)),
    ...(Buffer.byteLength(managedBy ?? "") > MOST_MANAGED_BY_BYTES
      ? [tooLongError(`${path}.managedBy`, MOST_MANAGED_BY_BYTES)]
      : []),
    ...choiceFaults(`${path}.completionMode`, completionMode, ["NonIndexed", INDEXED]),
    ...(isIndexed ? validateIndexed(spec, path) : validateNotIndexed(spec, path)),
    ...(podFailurePolicy === undefined
      ? []
      : validatePodFailurePolicy(spec, podFailurePolicy, `${path}.podFailurePolicy`)),
    ...(successPolicy !== undefined && isIndexed ? validateSuccessPolicy(spec, `${path}.successPolicy`) : []),
    ...(successPolicy !== undefined && !isIndexed
      ? [invalidError(`${path}.successPolicy`, successPolicy as JsonValue, "requires indexed completion mode")]
      : []),
    ...choiceFaults(
      `${path}.podReplacementPolicy`,
      spec.podReplacementPolicy,
      podFailurePolicy === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"],
    ),
    ...validateTemplate(template, `${path}.template`, validatePodSpec, RESTARTS),
    ...(podFailurePolicy !== undefined && restartPolicy === "OnFailure"
      ? [
          invalidError(
            `${path}.template.spec.restartPolicy`,
            restartPolicy,
            'only "Never" is supported when podFailurePolicy is specified',
          ),
        ]
      : []),
  ];
}

function validateIndexed(spec: JobSpec, path: string): Faults {
  const { completions, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const faults: FieldError[] = [];
  const atMost = (name: "parallelism" | "maxFailedIndexes", most: number, when = ""): void => {
    const value = spec[name];
    if (value !== undefined && value > most)
      faults.push(invalidError(`${path}.${name}`, value, `must be less than or equal to ${most}${when}`));
  };
  if (completions === undefined) faults.push(requiredError(`${path}.completions`, "when completion mode is Indexed"));
  atMost("parallelism", MOST_INDEXED_PARALLELISM, " when completion mode is Indexed");
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
    const why = "must be less than or equal to completions";
    faults.push(invalidError(`${path}.maxFailedIndexes`, maxFailedIndexes, why));
  }
  atMost("maxFailedIndexes", MOST_FAILED_INDEXES);
  if (completions === undefined || completions <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return faults;
  if (maxFailedIndexes === undefined) {
    const why = `must be specified when completions is above ${MANY_COMPLETIONS}`;
    faults.push(requiredError(`${path}.maxFailedIndexes`, why));
  }
  const when = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  atMost("parallelism", MOST_FOR_MANY, when);
  atMost("maxFailedIndexes", MOST_FOR_MANY, when);
  return faults;
}

const validateNotIndexed = (spec: JobSpec, path: string): Faults =>
  (["backoffLimitPerIndex", "maxFailedIndexes"] as const)
    .filter((name) => spec[name] !== undefined)
    .map((name) => invalidError(`${path}.${name}`, spec[name], "requires indexed completion mode"));

export const UID_LABEL = "batch.kubernetes.io/controller-uid";
export const NAME_LABEL = "batch.kubernetes.io/job-name";
export const OLD_UID_LABEL = "controller-uid";
export const OLD_NAME_LABEL = "job-name";

/** `old` is the Job that it replaces: one without the newer labels goes on without them. */
export function validateJob(job: Job, old?: Job): Faults {
  const { metadata, spec = {} } = job;
  const labelsBefore = old?.spec?.template?.metadata?.labels;
  const hasNewLabels = labelsBefore === undefined || (UID_LABEL in labelsBefore && NAME_LABEL in labelsBefore);
  const host = `${metadata.name ?? ""}-${(spec.completions ?? 0) - 1}`;
  const isHost = isDNS1123Label(host).length === 0;
  return [
    ...(spec.manualSelector === true ? [] : validateOwnSelector(job, hasNewLabels)),
    ...validateJobSpec(spec, "spec"),
    ...validateSelector(spec),
    ...(spec.completionMode === INDEXED && (spec.completions ?? 0) > 0 && !isHost
      ? [invalidError("metadata.name", metadata.name, `will not able to create pod with invalid DNS label: ${host}`)]
      : []),
  ];
}

/** A Job that does not choose its pods itself has the labels that it was given. */
function validateOwnSelector({ metadata: { uid = "", name = "" }, spec = {} }: Job, hasNewLabels: boolean): Faults {
  if (spec.selector === undefined) return [];
  const labels = spec.template?.metadata?.labels ?? {};
  const wanted: readonly (readonly [string, string])[] = [
    [OLD_UID_LABEL, uid],
    [OLD_NAME_LABEL, name],
    ...(hasNewLabels
      ? ([
          [UID_LABEL, uid],
          [NAME_LABEL, name],
        ] as const)
      : []),
  ];
  return [
    ...wanted.flatMap(([label, value]) => {
      const path = keyPath("spec.template.metadata.labels", label);
      if (!Object.hasOwn(labels, label)) return [requiredError(path, `must be '${value}'`)];
      return labels[label] === value ? [] : [invalidError(path, labels, `must be '${value}'`)];
    }),
    ...(selects(spec.selector, Object.fromEntries(wanted)) === false
      ? [invalidError("spec.selector", spec.selector as JsonValue, "`selector` not auto-generated")]
      : []),
  ];
}

function validateSelector({ selector, template }: JobSpec): Faults {
  const labels = template?.metadata?.labels;
  if (selector === undefined) return [requiredError("spec.selector"), unmatched(labels)];
  return [
    ...validateLabelSelector(selector, "spec.selector"),
    ...(selects(selector, labels ?? {}) === false ? [unmatched(labels)] : []),
  ];
}

/** Undefined where the selector is none. */
function selects(selector: LabelSelector, labels: { readonly [label: string]: string }): boolean | undefined {
  try {
    // An expression without its key or operator is refused as well.
    return selectorFromLabelSelector(selector as never).matches(labels);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return undefined;
  }
}

/** Fields that decide which pods there are; they count from the start. */
const FIXED = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] as const;
const IMMUTABLE = "field is immutable";

const fixed = (path: string, next: unknown, old: unknown): Faults =>
  // Members of a specification are JSON.
  equalJson((next ?? null) as JsonValue, (old ?? null) as JsonValue)
    ? []
    : [invalidError(path, (next ?? null) as JsonValue, IMMUTABLE, next === undefined ? "null" : undefined)];

export function validateJobChange(job: Job, old: Job): Faults {
  const [next, before] = [job.spec ?? {}, old.spec ?? {}];
  const isScaled = next.completionMode === INDEXED;
  return [
    ...(isScaled ? [] : fixed("spec.completions", next.completions, before.completions)),
    ...(isScaled &&
    next.completions !== undefined &&
    next.completions !== before.completions &&
    next.completions !== next.parallelism
      ? [invalidError("spec.completions", next.completions, "can only be modified in tandem with spec.parallelism")]
      : []),
    ...fixed("spec.selector", next.selector, before.selector),
    ...validateTemplateChange(next, before, mayChangePods(old)),
    ...FIXED.flatMap((name) => fixed(`spec.${name}`, next[name], before[name])),
  ];
}

/** A suspended Job whose pods are gone may get others. */
const mayChangePods = ({ spec, status }: Job): boolean =>
  spec?.suspend === true &&
  (status?.active ?? 0) === 0 &&
  ((status?.startTime ?? null) === null || holds(status?.conditions, "Suspended"));

const holds = (conditions: Conditions, type: string): boolean =>
  conditions?.some((each) => each.type === type && each.status === "True") === true;
type Conditions = NonNullable<Job["status"]>["conditions"];

/** Where pods may change: where they run, their labels and annotations, and what their containers ask for. */
function validateTemplateChange({ template: next }: JobSpec, { template: old }: JobSpec, mayChange: boolean): Faults {
  if (!mayChange) return fixed("spec.template", next, old);
  const movable = ["nodeSelector", "tolerations", "schedulingGates"] as const;
  const spec = {
    ...without(old?.spec ?? {}, [...movable, "affinity"]),
    ...Object.fromEntries(movable.flatMap((name) => definedMember(name, next?.spec?.[name]))),
    ...Object.fromEntries(definedMember("affinity", movedAffinity(next?.spec?.affinity, old?.spec?.affinity))),
    ...Object.fromEntries(
      (["containers", "initContainers"] as const).flatMap((name) =>
        definedMember(name, withResources(next?.spec?.[name], old?.spec?.[name])),
      ),
    ),
  };
  return fixed("spec.template.spec", next?.spec, spec);
}

const without = (object: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

const definedMember = (name: string, value: unknown): readonly (readonly [string, unknown])[] =>
  value === undefined ? [] : [[name, value]];

/** The old affinity with the new one to nodes. */
function movedAffinity(next: object | undefined, old: object | undefined): object | undefined {
  const moved = { ...without(old ?? {}, ["nodeAffinity"]), ...pick(next, "nodeAffinity") };
  return next === undefined && Object.keys(moved).length === 0 ? undefined : moved;
}

const pick = (object: object | undefined, name: string): object =>
  Object.fromEntries(Object.entries(object ?? {}).filter(([member]) => member === name));

type Containers = readonly object[] | undefined;

/** The old containers with what the new ones of the same names ask for. */
function withResources(next: Containers, old: Containers): Containers {
  if (next?.length !== old?.length) return old;
  return old?.map((container, index) => {
    const other = next?.[index] as { readonly name?: string } | undefined;
    const isSame = other?.name === (container as { readonly name?: string }).name;
    return isSame ? { ...without(container, ["resources"]), ...pick(other, "resources") } : container;
  });
}
