// Names of drivers, pools, attributes and capacities, and lists with a limit.
// Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelName } from "@postern/apimachinery/validation/labels";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { subdomainFaults } from "../field-checks.ts";

export type Faults = readonly FieldError[];

const MAX_DRIVER_NAME = 63;

export function driverFaults(path: string, driver: string): Faults {
  if (driver === "") return [requiredError(path)];
  return [
    ...(byteLength(driver) > MAX_DRIVER_NAME ? [tooLongError(path, MAX_DRIVER_NAME)] : []),
    ...isDNS1123Subdomain(driver.toLowerCase()).map((fault) => invalidError(path, driver, fault)),
  ];
}

const MAX_POOL_NAME = 253;

export function poolFaults(path: string, pool: string): Faults {
  if (pool === "") return [requiredError(path)];
  return [
    ...(byteLength(pool) > MAX_POOL_NAME ? [tooLongError(path, MAX_POOL_NAME)] : []),
    ...pool.split("/").flatMap((part) => subdomainFaults(path, part)),
  ];
}

const MAX_IDENTIFIER = 32;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_IDENTIFIER =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

const identifierFaults = (path: string, text: string): Faults => [
  ...(byteLength(text) > MAX_IDENTIFIER ? [tooLongError(path, MAX_IDENTIFIER)] : []),
  ...(IDENTIFIER.test(text) ? [] : [invalidError(path, text, NO_IDENTIFIER)]),
];

/** `name` or `domain/name`. More slashes are taken, as upstream takes them. */
export function memberNameFaults(path: string, name: string): Faults {
  const [first = "", second, ...more] = name.split("/");
  if (second === undefined) return identifierFaults(path, first);
  if (more.length > 0) return [];
  return [
    ...(first === "" ? [invalidError(path, "", "the domain must not be empty")] : driverFaults(path, first)),
    ...(second === "" ? [invalidError(path, "", "the name must not be empty")] : identifierFaults(path, second)),
  ];
}

/** `domain/name` */
export const fullMemberNameFaults = (path: string, name: string): Faults => [
  ...memberNameFaults(path, name),
  ...(name.includes("/")
    ? []
    : [invalidError(path, name, "a fully qualified name must be a domain and a name separated by a slash")]),
];

/** Items are not looked at where there are too many. */
export function itemFaults<T>(
  path: string,
  items: readonly T[] = [],
  max: number,
  check: (path: string, item: T) => Faults,
): Faults {
  if (items.length > max) return [tooManyError(path, items.length, max)];
  return items.flatMap((item, index) => check(indexPath(path, index), item));
}

/** The same, where the check of an item has steps. */
export function* itemFaultsInSteps<T>(
  path: string,
  items: readonly T[] = [],
  max: number,
  check: (path: string, item: T) => Steps<Faults>,
): Steps<Faults> {
  if (items.length > max) return [tooManyError(path, items.length, max)];
  const faults: FieldError[] = [];
  for (const [index, item] of items.entries()) {
    // One at a time: an item may have more faults than a call takes arguments.
    for (const fault of yield* check(indexPath(path, index), item)) faults.push(fault);
  }
  return faults;
}

/** The same, and each key once. */
export function uniqueItemFaults<T>(
  path: string,
  items: readonly T[] = [],
  max: number,
  check: (path: string, item: T) => Faults,
  keyOf: (item: T) => string,
  shown: (item: T) => JsonValue = keyOf,
): Faults {
  return [...itemFaults(path, items, max, check), ...duplicateFaults(path, items, max, keyOf, shown)];
}

export function* uniqueItemFaultsInSteps<T>(
  path: string,
  items: readonly T[] = [],
  max: number,
  check: (path: string, item: T) => Steps<Faults>,
  keyOf: (item: T) => string,
): Steps<Faults> {
  return [...(yield* itemFaultsInSteps(path, items, max, check)), ...duplicateFaults(path, items, max, keyOf)];
}

function duplicateFaults<T>(
  path: string,
  items: readonly T[],
  max: number,
  keyOf: (item: T) => string,
  shown: (item: T) => JsonValue = keyOf,
): Faults {
  if (items.length > max) return [];
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const key = keyOf(item);
    if (seen.has(key)) return [duplicateError(indexPath(path, index), shown(item))];
    seen.add(key);
    return [];
  });
}

const MAX_CONDITIONS = 4;

/** Conditions that a device needs before a pod is bound to its node, and those that end the attempt. */
export function bindingConditionFaults(
  path: string,
  {
    bindingConditions: wanted = [],
    bindingFailureConditions: failed = [],
  }: { readonly bindingConditions?: readonly string[]; readonly bindingFailureConditions?: readonly string[] },
): Faults {
  const [atWanted, atFailed] = [`${path}.bindingConditions`, `${path}.bindingFailureConditions`];
  const named = (at: string, name: string): Faults => validateLabelName(name, at);
  const seen = new Set<string>();
  // Lists that are too long are compared as well.
  const allWanted = new Set(wanted);
  return [
    ...itemFaults(atWanted, wanted, MAX_CONDITIONS, named),
    ...itemFaults(atFailed, failed, MAX_CONDITIONS, named),
    ...duplicateFaults(atWanted, wanted, Number.POSITIVE_INFINITY, (name) => name),
    ...failed.flatMap((name, index) => {
      const at = indexPath(atFailed, index);
      const isTwice = seen.has(name);
      seen.add(name);
      return [
        ...(isTwice ? [duplicateError(at, name)] : []),
        ...(allWanted.has(name)
          ? [invalidError(at, name, "bindingFailureConditions must not overlap with bindingConditions")]
          : []),
      ];
    }),
    ...(wanted.length === 0 && failed.length > 0
      ? [invalidError(atWanted, null, "bindingConditions are required to use bindingFailureConditions")]
      : []),
    ...(failed.length === 0 && wanted.length > 0
      ? [invalidError(atFailed, null, "bindingFailureConditions are required to use bindingConditions")]
      : []),
  ];
}
