// Requirements of the shares of a capacity that requests may have.
// Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go (validateRequestPolicy)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { addQuantities, parseAmount } from "@postern/apimachinery/quantity/quantity";
import { forbiddenError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { quantityText } from "../quotas/quantities.ts";
import { type Faults, uniqueItemFaults } from "./device-names.ts";
import type { DeviceCapacity, RequestPolicy } from "./device-objects.ts";

const MAX_VALUES = 10;

type Amount = { readonly nanos: bigint; readonly text: string };

const amountOf = (value: JsonValue | undefined): Amount => {
  const text = value === undefined ? "0" : quantityText(value);
  return { nanos: parseAmount(text) ?? 0n, text };
};

/** Capacities of a device that is given away whole have no policy. */
export function capacityFaults(path: string, { value, requestPolicy }: DeviceCapacity, isShared: boolean): Faults {
  const at = `${path}.requestPolicy`;
  if (requestPolicy === undefined) return [];
  if (!isShared) return [forbiddenError(at, "allowMultipleAllocations must be true")];
  return policyFaults(at, requestPolicy, amountOf(value));
}

function policyFaults(
  path: string,
  { default: first, validValues = [], validRange }: RequestPolicy,
  capacity: Amount,
): Faults {
  if (validValues.length > 0 && validRange !== undefined) {
    const why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbiddenError(path, why)];
  }
  const missing = (member: string): Faults => [requiredError(`${path}.default`, `required when ${member} is defined`)];
  if (validValues.length > 0) {
    if ((first ?? null) === null) return missing("validValues");
    return valuesFaults(`${path}.validValues`, validValues.map(amountOf), amountOf(first), capacity);
  }
  if (validRange === undefined) return [];
  return (first ?? null) === null
    ? missing("validRange")
    : rangeFaults(`${path}.validRange`, validRange, amountOf(first), capacity);
}

const valuesFaults = (path: string, values: readonly Amount[], first: Amount, capacity: Amount): Faults => [
  ...values.flatMap((value, index) => {
    const before = values[index - 1];
    const isSorted = before === undefined || before.nanos <= value.nanos;
    return isSorted
      ? []
      : [invalidError(indexPath(path, index), value.text, "values must be sorted in ascending order")];
  }),
  ...uniqueItemFaults(
    path,
    values,
    MAX_VALUES,
    (at, { nanos, text }) =>
      nanos > capacity.nanos ? [invalidError(at, text, `option is larger than capacity value: ${capacity.text}`)] : [],
    (value) => String(wholeOf(value)),
  ),
  ...(values.length <= MAX_VALUES && values.some(({ nanos }) => nanos === first.nanos)
    ? []
    : [invalidError(path, first.text, "default value is not valid according to the requestPolicy")]),
];

type ValidRange = NonNullable<RequestPolicy["validRange"]>;

function rangeFaults(path: string, range: ValidRange, first: Amount, capacity: Amount): Faults {
  const [atMin, atMax, atStep] = [`${path}.min`, `${path}.max`, `${path}.step`];
  if (range.min === undefined) return [requiredError(atMin, "required when validRange is defined")];
  const min = amountOf(range.min);
  const max = range.max === undefined ? undefined : amountOf(range.max);
  const step = range.step === undefined ? undefined : amountOf(range.step);
  const over = (at: string, value: Amount, limit: Amount, why: string): Faults =>
    value.nanos > limit.nanos ? [invalidError(at, value.text, `${why}: ${limit.text}`)] : [];
  return [
    ...over(atMin, min, capacity, "min is larger than capacity value"),
    ...(first.nanos < min.nanos ? [invalidError(atMin, first.text, `default is less than min: ${min.text}`)] : []),
    ...(max === undefined
      ? []
      : [
          ...over(atMax, min, max, "min is larger than max"),
          ...over(atMax, max, capacity, "max is larger than capacity value"),
          ...over(atMax, first, max, "default is more than max"),
        ]),
    ...(step === undefined
      ? []
      : [
          ...(min.nanos + step.nanos > capacity.nanos
            ? [
                invalidError(
                  atStep,
                  step.text,
                  `one step ${addQuantities(min.text, step.text)} is larger than capacity value: ${capacity.text}`,
                ),
              ]
            : []),
          ...stepFaults(atStep, first, min, step),
          ...(max === undefined ? [] : stepFaults(atStep, max, min, step)),
        ]),
  ];
}

function stepFaults(path: string, value: Amount, min: Amount, step: Amount): Faults {
  const size = wholeOf(step);
  // Upstream divides by the step, and answers 500 where it is 0.
  const isReached = size !== 0n && (wholeOf(value) - wholeOf(min)) % size === 0n;
  return isReached
    ? []
    : [invalidError(path, value.text, `value is not a multiple of a given step (${step.text}) from (${min.text})`)];
}

const ONE = 1_000_000_000n;

/** Rounded up, as Go's `Value`. */
const wholeOf = ({ nanos }: Amount): bigint => nanos / ONE + (nanos % ONE > 0n ? 1n : 0n);
