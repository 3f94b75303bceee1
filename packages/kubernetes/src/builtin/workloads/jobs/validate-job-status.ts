// Requirements of the status of a Job, which another controller may write (`spec.managedBy`). Most look only at what changes: the status may be older
// than the specification.
// Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go (getStatusValidationOptions)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  invalidWholeError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { negativeFaults } from "../../field-checks.ts";
import type { Job } from "./job-fields.ts";
import { checkIndexes, readInterval } from "./validate-job-policies.ts";

type Faults = readonly FieldError[];
type Status = NonNullable<Job["status"]>;

const COUNTS = ["active", "succeeded", "failed", "ready", "terminating"] as const;
const CONDITIONS = "status.conditions";

export function validateJobStatus(job: Job, old: Job): Faults {
  const [status, before] = [job.status ?? {}, old.status ?? {}];
  return [
    ...COUNTS.flatMap((name) => negativeFaults(`status.${name}`, status[name])),
    ...uncountedFaults(status),
    ...endFaults(status, before),
    ...completionFaults(status, before),
    ...endedFaults(status, before),
    ...finishedFaults(job, old),
    ...indexFaults(job, before),
    ...readyFaults(status, before),
    ...successFaults(job, status),
    ...changeFaults(job, old),
  ];
}

const holds = ({ conditions }: Status, type: string): boolean =>
  conditions?.some((each) => each.type === type && each.status === "True") === true;
const isFalse = ({ conditions }: Status, type: string): boolean =>
  conditions?.some((each) => each.type === type && each.status === "False") === true;
const isFinished = (status: Status): boolean => holds(status, "Complete") || holds(status, "Failed");

/** Absent members are null. */
const differs = (name: keyof Status, status: Status, before: Status): boolean =>
  !equalJson((status[name] ?? null) as JsonValue, (before[name] ?? null) as JsonValue);
/** A count that is absent is 0. */
const activeDiffers = (status: Status, before: Status): boolean => (status.active ?? 0) !== (before.active ?? 0);

const faultIf = (isFault: boolean, fault: () => FieldError): Faults => (isFault ? [fault()] : []);
const wrongConditions = (isFault: boolean, why: string): Faults =>
  faultIf(isFault, () => invalidWholeError(CONDITIONS, why));

function uncountedFaults({ uncountedTerminatedPods: { succeeded = [], failed = [] } = {} }: Status): Faults {
  const seen = new Set<string>();
  const check = (name: string, uids: readonly string[]): Faults =>
    uids.flatMap((uid, index) => {
      const path = indexPath(`status.uncountedTerminatedPods.${name}`, index);
      const isRepeated = seen.has(uid);
      if (uid !== "") seen.add(uid);
      if (uid === "") return [invalidError(path, uid, "must not be empty")];
      return isRepeated ? [duplicateError(path, uid)] : [];
    });
  return [...check("succeeded", succeeded), ...check("failed", failed)];
}

/** Conditions that exclude or require each other. */
function endFaults(status: Status, before: Status): Faults {
  const changes = (type: string): boolean => holds(status, type) !== holds(before, type);
  const [isComplete, hasFailed] = [holds(status, "Complete"), holds(status, "Failed")];
  const isToFail = holds(status, "FailureTarget");
  return [
    ...wrongConditions(
      isComplete && hasFailed && (changes("Complete") || changes("Failed")),
      "cannot set Complete=True and Failed=true conditions",
    ),
    ...wrongConditions(
      isComplete && isToFail && (changes("Complete") || changes("FailureTarget")),
      "cannot set Complete=True and FailureTarget=true conditions",
    ),
  ];
}

/** A Job is complete at a time, and not before it has started. */
function completionFaults(status: Status, before: Status): Faults {
  const { startTime = null, completionTime = null } = status;
  const isComplete = holds(status, "Complete");
  const isChecked = isComplete !== holds(before, "Complete") || differs("completionTime", status, before);
  const isTimed = differs("startTime", status, before) || differs("completionTime", status, before);
  const path = "status.completionTime";
  return [
    ...faultIf(isChecked && completionTime !== null && !isComplete, () =>
      invalidError(path, completionTime, "cannot set completionTime when there is no Complete=True condition"),
    ),
    ...faultIf(isChecked && completionTime === null && isComplete, () =>
      requiredError(path, "completionTime is required for Complete jobs"),
    ),
    ...faultIf(
      isTimed && startTime !== null && completionTime !== null && Date.parse(completionTime) < Date.parse(startTime),
      () => invalidError(path, completionTime, "must be equal to or after `startTime`"),
    ),
  ];
}

/** Before it has ended, a Job says how it will. */
function endedFaults(status: Status, before: Status): Faults {
  const changes = (type: string): boolean => holds(status, type) !== holds(before, type);
  const [isComplete, hasFailed] = [holds(status, "Complete"), holds(status, "Failed")];
  const [isToFail, isToSucceed] = [holds(status, "FailureTarget"), holds(status, "SuccessCriteriaMet")];
  return [
    ...wrongConditions(
      hasFailed && !isToFail && (changes("Failed") || differs("failedIndexes", status, before)),
      "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    ...wrongConditions(
      isComplete && !isToSucceed && (changes("Complete") || changes("SuccessCriteriaMet")),
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
  ];
}

/** A Job that has ended has no pods any more. */
function finishedFaults({ spec, status = {} }: Job, { status: before = {} }: Job): Faults {
  if (!isFinished(status)) return [];
  const { active = 0, terminating = 0, startTime, uncountedTerminatedPods } = status;
  const ends = !isFinished(before);
  const isNeverStarted = spec?.suspend === true && spec.completions === 0;
  const uncounted = (uncountedTerminatedPods?.succeeded ?? []).length + (uncountedTerminatedPods?.failed ?? []).length;
  return [
    ...faultIf(active > 0 && (ends || activeDiffers(status, before)), () =>
      invalidError("status.active", active, "active>0 is invalid for finished job"),
    ),
    ...faultIf((startTime ?? null) === null && (ends || differs("startTime", status, before)) && !isNeverStarted, () =>
      requiredError("status.startTime", "startTime is required for finished job"),
    ),
    ...faultIf(uncounted > 0 && (ends || differs("uncountedTerminatedPods", status, before)), () =>
      invalidError(
        "status.uncountedTerminatedPods",
        uncountedTerminatedPods as JsonValue,
        "must be empty for finished job",
      ),
    ),
    ...faultIf(terminating > 0 && (ends || differs("terminating", status, before)), () =>
      invalidError("status.terminating", terminating, "terminating>0 is invalid for finished job"),
    ),
  ];
}

function indexFaults({ spec = {}, status = {} }: Job, before: Status): Faults {
  const { completedIndexes = "", failedIndexes } = status;
  const { completions, backoffLimitPerIndex } = spec;
  const areCompleted = completedIndexes !== (before.completedIndexes ?? "");
  const areFailed = differs("failedIndexes", status, before);
  const formatFaults = (name: "completedIndexes" | "failedIndexes", text: string): Faults => {
    const { fault } = checkIndexes(text, completions ?? 0);
    return faultIf(fault !== undefined, () => invalidError(`status.${name}`, text, `error parsing ${name}: ${fault}`));
  };
  const overlap = overlapOf(completedIndexes, failedIndexes ?? "", completions ?? 0);
  return [
    ...(areCompleted && completions !== undefined ? formatFaults("completedIndexes", completedIndexes) : []),
    ...(areFailed && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined
      ? formatFaults("failedIndexes", failedIndexes)
      : []),
    ...faultIf(areCompleted && completedIndexes !== "" && spec.completionMode !== "Indexed", () =>
      invalidError(
        "status.completedIndexes",
        completedIndexes,
        "cannot set non-empty completedIndexes when non-indexed completion mode",
      ),
    ),
    ...faultIf(areFailed && failedIndexes !== undefined && backoffLimitPerIndex === undefined, () =>
      invalidError(
        "status.failedIndexes",
        failedIndexes,
        "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
      ),
    ),
    ...faultIf((areFailed || areCompleted) && completions !== undefined && overlap !== undefined, () =>
      invalidError(
        "status.failedIndexes",
        failedIndexes,
        `failedIndexes and completedIndexes overlap at index: ${overlap}`,
      ),
    ),
  ];
}

/** The first index that is in both; what cannot be read is passed over. */
function overlapOf(completed: string, failed: string, completions: number): number | undefined {
  const read = (text: string) =>
    (text === "" ? [] : text.split(",")).flatMap((part) => {
      const interval = readInterval(part, completions);
      return typeof interval === "string" ? [] : [interval];
    });
  const [done, lost] = [read(completed), read(failed)];
  for (let i = 0, j = 0; i < done.length && j < lost.length; ) {
    const [from = 0, to = 0] = done[i] ?? [];
    const [lostFrom = 0, lostTo = 0] = lost[j] ?? [];
    if (from <= lostTo && lostFrom <= to) return Math.max(from, lostFrom);
    if (from <= lostFrom) i++;
    else j++;
  }
  return undefined;
}

const readyFaults = (status: Status, before: Status): Faults =>
  faultIf(
    (status.ready ?? 0) > (status.active ?? 0) && (differs("ready", status, before) || activeDiffers(status, before)),
    () => invalidError("status.ready", status.ready, "cannot set more ready pods than active"),
  );

function successFaults({ spec }: Job, status: Status): Faults {
  const isToSucceed = holds(status, "SuccessCriteriaMet");
  return [
    ...wrongConditions(
      isToSucceed && holds(status, "Failed"),
      "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    ...wrongConditions(
      isToSucceed && holds(status, "FailureTarget"),
      "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
    ...wrongConditions(
      spec?.successPolicy !== undefined && !isToSucceed && holds(status, "Complete"),
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    ),
  ];
}

/** Counters, times and ends stay as they are. */
function changeFaults({ spec = {}, status = {} }: Job, { status: before = {} }: Job): Faults {
  const stopped = (type: string): boolean => holds(before, type) && !holds(status, type);
  const lessFault = (name: "failed" | "succeeded"): Faults =>
    faultIf((status[name] ?? 0) < (before[name] ?? 0), () =>
      invalidError(`status.${name}`, status[name] ?? 0, `cannot decrease the ${name} counter`),
    );
  // An indexed Job of as many pods as completions may be scaled down.
  const mayHaveLess = spec.completionMode === "Indexed" && spec.completions === spec.parallelism;
  const isResuming = holds(before, "Suspended") && isFalse(status, "Suspended");
  const hasTime = (time: string | null | undefined): boolean => (time ?? null) !== null;
  const hasStarted = hasTime(before.startTime);
  return [
    ...["Failed", "Complete", "FailureTarget"].flatMap((type) =>
      wrongConditions(stopped(type), `cannot disable the terminal ${type}=True condition`),
    ),
    ...lessFault("failed"),
    ...(mayHaveLess ? [] : lessFault("succeeded")),
    ...faultIf(
      hasTime(before.completionTime) && hasTime(status.completionTime) && differs("completionTime", status, before),
      () => invalidError("status.completionTime", status.completionTime, "field is immutable"),
    ),
    ...faultIf(hasStarted && differs("startTime", status, before) && !isResuming && spec.suspend !== true, () =>
      invalidError("status.startTime", status.startTime ?? null, "field is immutable for unsuspended job once set"),
    ),
    ...wrongConditions(stopped("SuccessCriteriaMet"), "cannot disable the SuccessCriteriaMet=True condition"),
    ...wrongConditions(
      holds(before, "Complete") && !holds(before, "SuccessCriteriaMet") && holds(status, "SuccessCriteriaMet"),
      "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    ),
  ];
}
