// Requirements of CronJobs.
// Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go, github.com/robfig/cron (parser.go)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { choiceFaults, negativeFaults } from "../../field-checks.ts";

export type CronFields = {
  readonly schedule?: string;
  readonly timeZone?: string;
  readonly concurrencyPolicy?: string;
  readonly startingDeadlineSeconds?: number | bigint;
  readonly successfulJobsHistoryLimit?: number;
  readonly failedJobsHistoryLimit?: number;
  /** The selector of its Jobs. */
  readonly selector?: object | undefined;
  readonly manualSelector?: boolean | undefined;
};

type Faults = readonly FieldError[];

/**
 * The specification of a CronJob. `ofJobs` are the faults of its Jobs. What an older one may have already, a zone in its schedule or one that is not
 * known, stays.
 */
export function validateCron(spec: CronFields, old: CronFields | undefined, ofJobs: Faults): Faults {
  const { schedule = "", timeZone, selector, manualSelector } = spec;
  const jobs = "spec.jobTemplate.spec";
  return [
    ...(schedule === "" ? [requiredError(SCHEDULE)] : scheduleFaults(schedule, timeZone, hasZone(old?.schedule))),
    ...negativeFaults("spec.startingDeadlineSeconds", spec.startingDeadlineSeconds),
    ...(timeZone === undefined || (old !== undefined && old.timeZone === timeZone) ? [] : zoneFaults(timeZone)),
    ...choiceFaults("spec.concurrencyPolicy", spec.concurrencyPolicy, ["Allow", "Forbid", "Replace"]),
    ...ofJobs,
    ...(selector === undefined
      ? []
      : [invalidError(`${jobs}.selector`, selector as JsonValue, "`selector` will be auto-generated")]),
    ...(manualSelector === true ? [notSupportedError(`${jobs}.manualSelector`, true, ["nil", "false"])] : []),
    ...negativeFaults("spec.successfulJobsHistoryLimit", spec.successfulJobsHistoryLimit),
    ...negativeFaults("spec.failedJobsHistoryLimit", spec.failedJobsHistoryLimit),
  ];
}

const SCHEDULE = "spec.schedule";
const hasZone = (schedule = ""): boolean => schedule.includes("TZ");

function scheduleFaults(schedule: string, timeZone: string | undefined, mayHaveZone: boolean): Faults {
  const fault = (why: string): FieldError => invalidError(SCHEDULE, schedule, why);
  const format = formatFaults(schedule.replace(/^(CRON_)?TZ=\S+ /, "")).map(fault);
  if (!hasZone(schedule)) return format;
  if (!mayHaveZone) return [...format, fault("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")];
  return timeZone === undefined
    ? format
    : [...format, fault("cannot use both timeZone field and TZ or CRON_TZ in schedule")];
}

function zoneFaults(zone: string): Faults {
  const fault = (why: string): Faults => [invalidError("spec.timeZone", zone, why)];
  if (zone === "") return fault("timeZone must be nil or non-empty string");
  if (zone.toLowerCase() === "local") {
    return fault("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return [];
  } catch {
    // A RangeError is how Node says that it does not know the zone.
    return fault(`unknown time zone ${zone}`);
  }
}

type Bounds = { readonly min: number; readonly max: number; readonly names?: readonly string[] };
const BOUNDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] },
  { min: 0, max: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];
const DESCRIPTORS = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/** The first thing that is wrong with a schedule. */
function formatFaults(schedule: string): readonly string[] {
  if (schedule.startsWith("@")) {
    const isKnown = DESCRIPTORS.includes(schedule) || /^@every (\d+(\.\d+)?(ns|us|ms|s|m|h))+$/.test(schedule);
    return isKnown ? [] : [`unrecognized descriptor: ${schedule}`];
  }
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== BOUNDS.length) {
    return [`expected exactly ${BOUNDS.length} fields, found ${fields.length}: [${fields.join(" ")}]`];
  }
  for (const [index, field] of fields.entries()) {
    for (const range of field.split(",")) {
      const fault = rangeFault(range, BOUNDS[index] ?? { min: 0, max: 0 });
      if (fault !== undefined) return [fault];
    }
  }
  return [];
}

/** `1-5/2`, `*`, `MON`. */
function rangeFault(range: string, { min, max, names = [] }: Bounds): string | undefined {
  const [span = "", step, ...more] = range.split("/");
  const [low = "", high, ...others] = span.split("-");
  const isAll = low === "*" || low === "?";
  const numberOf = (text: string): number => {
    const named = names.indexOf(text.toLowerCase());
    return named >= 0 ? named + min : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  const start = isAll ? min : numberOf(low);
  const end = isAll ? max : high === undefined ? (step === undefined ? start : max) : numberOf(high);
  if (others.length > 0) return `too many hyphens: ${range}`;
  if (more.length > 0) return `too many slashes: ${range}`;
  for (const [text, value] of [
    [low, start],
    [high ?? low, end],
  ] as const) {
    if (Number.isNaN(value)) return `failed to parse int from ${text}: strconv.Atoi: parsing "${text}": invalid syntax`;
  }
  if (step !== undefined && !/^\d+$/.test(step)) {
    return `failed to parse int from ${step}: strconv.Atoi: parsing "${step}": invalid syntax`;
  }
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${range}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return step !== undefined && Number(step) === 0 ? `step of range should be a positive number: ${range}` : undefined;
}
