// Requirements of the rules by which a Job fails or succeeds.
// Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  invalidWholeError,
  requiredError,
  tooLongError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { choiceFaults, negativeFaults, qualifiedFaults } from "../../field-checks.ts";
import type { JobSpec } from "./job-fields.ts";

type Faults = readonly FieldError[];
type FailurePolicy = NonNullable<JobSpec["podFailurePolicy"]>;
type FailureRule = NonNullable<FailurePolicy["rules"]>[number];
type SuccessRule = NonNullable<NonNullable<JobSpec["successPolicy"]>["rules"]>[number];

const MOST_RULES = 20;
const MOST_PATTERNS = 20;
const MOST_EXIT_CODES = 255;
const MOST_INDEXES_BYTES = 64 * 1024;
const ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS = ["In", "NotIn"];
const STATUSES = ["False", "True", "Unknown"];

const validValues = (values: readonly string[]): string => `valid values: [${values.map(quoteGo).join(" ")}]`;

/** Absent or empty is missing, in words that name the values. */
const choiceOf = (path: string, value = "", known: readonly string[]): Faults =>
  value === "" ? [requiredError(path, validValues(known))] : choiceFaults(path, value, known);

/** The value is shown as `null` where Go has no list. */
const listValue = (values: readonly number[] | null | undefined): [JsonValue | undefined, string?] =>
  values === undefined || values === null ? [undefined, "null"] : [values];

export function validatePodFailurePolicy(spec: JobSpec, policy: FailurePolicy, path: string): Faults {
  const rules = policy.rules ?? [];
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name ?? ""));
  return [
    ...(rules.length > MOST_RULES ? [tooManyError(`${path}.rules`, rules.length, MOST_RULES)] : []),
    ...rules.flatMap((rule, index) => validateFailureRule(spec, rule, indexPath(`${path}.rules`, index), names)),
  ];
}

function validateFailureRule(spec: JobSpec, rule: FailureRule, path: string, names: ReadonlySet<string>): Faults {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  const isIndexFailure = action === "FailIndex";
  const kinds = Number(onExitCodes !== undefined) + Number(onPodConditions.length > 0);
  const wrong =
    kinds === 2
      ? "specifying both OnExitCodes and OnPodConditions is not supported"
      : "specifying one of OnExitCodes and OnPodConditions is required";
  return [
    ...(isIndexFailure ? [] : choiceOf(`${path}.action`, action, ACTIONS)),
    ...(isIndexFailure && spec.backoffLimitPerIndex === undefined
      ? [invalidError(`${path}.action`, action, "requires the backoffLimitPerIndex to be set")]
      : []),
    ...(onExitCodes === undefined ? [] : validateExitCodes(onExitCodes, `${path}.onExitCodes`, names)),
    ...validateConditionPatterns(onPodConditions, `${path}.onPodConditions`),
    ...(kinds === 1 ? [] : [invalidWholeError(path, wrong)]),
  ];
}

function validateExitCodes(
  requirement: NonNullable<FailureRule["onExitCodes"]>,
  path: string,
  names: ReadonlySet<string>,
): Faults {
  const { operator, containerName } = requirement;
  const values = requirement.values ?? [];
  const valuesPath = `${path}.values`;
  const seen = new Set<number>();
  const isOrdered = values.every((value, index) => index === 0 || (values[index - 1] ?? 0) <= value);
  const [shown, text] = listValue(requirement.values);
  return [
    ...choiceOf(`${path}.operator`, operator, OPERATORS),
    ...(containerName === undefined || names.has(containerName)
      ? []
      : [
          invalidError(
            `${path}.containerName`,
            containerName,
            "must be one of the container or initContainer names in the pod template",
          ),
        ]),
    ...(values.length === 0 ? [invalidError(valuesPath, shown, "at least one value is required", text)] : []),
    ...(values.length > MOST_EXIT_CODES ? [tooManyError(valuesPath, values.length, MOST_EXIT_CODES)] : []),
    ...values.flatMap((value, index) => {
      const at = indexPath(valuesPath, index);
      const isRepeated = seen.has(value);
      seen.add(value);
      return [
        ...(operator === "In" && value === 0 ? [invalidError(at, value, "must not be 0 for the In operator")] : []),
        ...(isRepeated ? [duplicateError(at, value)] : []),
      ];
    }),
    ...(isOrdered ? [] : [invalidError(valuesPath, shown, "must be ordered")]),
  ];
}

const validateConditionPatterns = (patterns: NonNullable<FailureRule["onPodConditions"]>, path: string): Faults => [
  ...(patterns.length > MOST_PATTERNS ? [tooManyError(path, patterns.length, MOST_PATTERNS)] : []),
  ...patterns.flatMap(({ type = "", status }, index) => [
    ...qualifiedFaults(`${indexPath(path, index)}.type`, type),
    ...choiceOf(`${indexPath(path, index)}.status`, status, STATUSES),
  ]),
];

/** The success policy of an indexed Job. */
export function validateSuccessPolicy({ successPolicy, completions = 0 }: JobSpec, path: string): Faults {
  const rules = successPolicy?.rules ?? [];
  const rulesPath = `${path}.rules`;
  return [
    ...(rules.length === 0
      ? [requiredError(rulesPath, "at least one rules must be specified when the successPolicy is specified")]
      : []),
    ...(rules.length > MOST_RULES ? [tooManyError(rulesPath, rules.length, MOST_RULES)] : []),
    ...rules.flatMap((rule, index) => validateSuccessRule(rule, completions, indexPath(rulesPath, index))),
  ];
}

function validateSuccessRule(rule: SuccessRule, completions: number, path: string): Faults {
  const { succeededIndexes, succeededCount } = rule;
  const [indexesPath, countPath] = [`${path}.succeededIndexes`, `${path}.succeededCount`];
  const parsed = checkIndexes(succeededIndexes ?? "", completions);
  return [
    ...(succeededCount === undefined && succeededIndexes === undefined
      ? [requiredError(path, "at least one of succeededCount or succeededIndexes must be specified")]
      : []),
    ...((succeededIndexes ?? "").length > MOST_INDEXES_BYTES ? [tooLongError(indexesPath, MOST_INDEXES_BYTES)] : []),
    ...(parsed.fault === undefined
      ? []
      : [invalidError(indexesPath, succeededIndexes, `error parsing succeededIndexes: ${parsed.fault}`)]),
    ...negativeFaults(countPath, succeededCount),
    ...(succeededCount !== undefined && succeededCount > completions
      ? [
          invalidError(
            countPath,
            succeededCount,
            `must be less than or equal to ${completions} (the number of specified completions)`,
          ),
        ]
      : []),
    ...(succeededCount !== undefined && succeededIndexes !== undefined && succeededCount > parsed.total
      ? [
          invalidError(
            countPath,
            succeededCount,
            `must be less than or equal to ${parsed.total} (the number of indexes in the specified succeededIndexes field)`,
          ),
        ]
      : []),
  ];
}

/** Indexes as text, such as `0,3-5`: how many there are, or the first fault. */
export function checkIndexes(text: string, completions: number): { readonly total: number; readonly fault?: string } {
  if (text === "") return { total: 0 };
  let last = -1;
  let total = 0;
  for (const part of text.split(",")) {
    const interval = readInterval(part, completions);
    if (typeof interval === "string") return { total: 0, fault: interval };
    const [from, to] = interval;
    if (last >= from) return { total: 0, fault: `non-increasing order, previous: ${last}, current: ${from}` };
    total += to - from + 1;
    last = to;
  }
  return { total };
}

/** `3-5`, or the fault. */
export function readInterval(text: string, completions: number): readonly [number, number] | string {
  const limits = text.split("-");
  if (limits.length > 2) {
    return `the fragment ${quoteGo(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  const [from, to = from] = limits.map((limit) => readIndex(limit, completions));
  if (typeof from === "string") return from;
  if (typeof to === "string") return to;
  if (from === undefined || to === undefined) return "";
  return limits.length === 2 && from >= to ? `non-increasing order, previous: ${from}, current: ${to}` : [from, to];
}

function readIndex(text: string, completions: number): number | string {
  // As Go reads a number: also with a sign.
  if (!/^\+?\d+$/.test(text)) return `cannot convert string to integer for index: ${quoteGo(text)}`;
  const index = Number(text);
  return index < completions ? index : `too large index: ${quoteGo(text)}`;
}
