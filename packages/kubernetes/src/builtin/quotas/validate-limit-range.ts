// Requirements of the limits of a LimitRange.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateLimitRange), pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { qualifiedFaults } from "../field-checks.ts";
import { quantityText } from "./quantities.ts";
import { containerResourceFaults, mayBeOvercommitted, resourceNameFaults } from "./resource-names.ts";

type Amounts = { readonly [resource: string]: JsonValue };
export type Limit = {
  readonly type: string;
  readonly max?: Amounts;
  readonly min?: Amounts;
  readonly default?: Amounts;
  readonly defaultRequest?: Amounts;
  readonly maxLimitRequestRatio?: Amounts;
};

const TYPES = ["Pod", "Container", "PersistentVolumeClaim"];

/** Sets the defaults of a limit for containers: the default limit is the maximum; the default request is the default limit, or else the minimum. */
export function withLimitDefaults(limit: Limit): Limit {
  if (limit.type !== "Container") return limit;
  const defaults = { ...limit.max, ...limit.default };
  const requests = { ...limit.min, ...defaults, ...limit.defaultRequest };
  return {
    ...limit,
    ...(Object.keys(defaults).length === 0 ? {} : { default: defaults }),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequest: requests }),
  };
}

export function validateLimits(limits: readonly Limit[], path: string): readonly FieldError[] {
  return limits.flatMap((limit, index) => [
    ...typeFaults(`${indexPath(path, index)}.type`, limit.type),
    ...(limits.findIndex(({ type }) => type === limit.type) < index
      ? [duplicateError(`${indexPath(path, index)}.type`, limit.type)]
      : []),
    ...limitFaults(limit, indexPath(path, index)),
  ]);
}

function typeFaults(path: string, type: string): readonly FieldError[] {
  const faults = qualifiedFaults(path, type);
  if (faults.length > 0 || type.includes("/") || TYPES.includes(type)) return faults;
  return [invalidError(path, type, "must be a standard limit type or fully qualified")];
}

function limitFaults(limit: Limit, path: string): readonly FieldError[] {
  const { type, max = {}, min = {}, maxLimitRequestRatio = {} } = limit;
  const isPod = type === "Pod";
  const names = (field: string, amounts: Amounts = {}): readonly FieldError[] =>
    Object.keys(amounts).flatMap((name) =>
      (isPod || type === "Container" ? containerResourceFaults : resourceNameFaults)(
        keyPath(`${path}.${field}`, name),
        name,
      ),
    );
  const forbidden = (field: "default" | "defaultRequest"): readonly FieldError[] =>
    Object.keys(limit[field] ?? {}).length === 0
      ? []
      : [forbiddenError(`${path}.${field}`, "may not be specified when `type` is 'Pod'")];
  const defaults = isPod ? {} : (limit.default ?? {});
  const requests = isPod ? {} : (limit.defaultRequest ?? {});
  const resources = new Set([max, min, defaults, requests, maxLimitRequestRatio].flatMap((each) => Object.keys(each)));
  return [
    ...names("max", max),
    ...names("min", min),
    ...(isPod
      ? [...forbidden("default"), ...forbidden("defaultRequest")]
      : [...names("default", defaults), ...names("defaultRequest", requests)]),
    ...(type === "PersistentVolumeClaim" && min["storage"] === undefined && max["storage"] === undefined
      ? [
          requiredError(
            `${path}.limits`,
            "either minimum or maximum storage value is required, but neither was provided",
          ),
        ]
      : []),
    ...names("maxLimitRequestRatio", maxLimitRequestRatio),
    ...[...resources].flatMap((name) =>
      orderFaults({ ...limit, default: defaults, defaultRequest: requests }, name, path),
    ),
  ];
}

/** How the amounts of one resource have to be ordered. */
function orderFaults(limit: Limit, name: string, path: string): readonly FieldError[] {
  const textOf = (amounts: Amounts | undefined): string | undefined =>
    amounts?.[name] === undefined ? undefined : quantityText(amounts[name]);
  const [min, max] = [textOf(limit.min), textOf(limit.max)];
  const [fallback, request] = [textOf(limit.default), textOf(limit.defaultRequest)];
  const above = (
    field: string,
    shown: string | undefined,
    low: string | undefined,
    high: string | undefined,
    names: readonly [string, string],
  ) =>
    low !== undefined && high !== undefined && amountOf(low) > amountOf(high)
      ? [
          invalidError(
            keyPath(`${path}.${field}`, name),
            shown,
            `${names[0]} value ${low} is greater than ${names[1]} value ${high}`,
          ),
        ]
      : [];
  return [
    ...above("min", min, min, max, ["min", "max"]),
    ...above("defaultRequest", request, min, request, ["min", "default request"]),
    ...above("defaultRequest", request, request, max, ["default request", "max"]),
    ...above("defaultRequest", request, request, fallback, ["default request", "default limit"]),
    ...above("default", min, min, fallback, ["min", "default"]),
    ...above("default", max, fallback, max, ["default", "max"]),
    ...ratioFaults(keyPath(`${path}.maxLimitRequestRatio`, name), textOf(limit.maxLimitRequestRatio), min, max),
    ...(!mayBeOvercommitted(name) &&
    fallback !== undefined &&
    request !== undefined &&
    amountOf(fallback) !== amountOf(request)
      ? [
          invalidError(
            keyPath(`${path}.defaultRequest`, name),
            request,
            `default value ${fallback} must equal to defaultRequest value ${request} in ${name}`,
          ),
        ]
      : []),
  ];
}

const ONE = 1_000_000_000n;

function ratioFaults(path: string, ratio: string | undefined, min: string | undefined, max: string | undefined) {
  if (ratio === undefined) return [];
  const faults: FieldError[] = [];
  if (amountOf(ratio) < ONE) faults.push(invalidError(path, ratio, `ratio ${ratio} is less than 1`));
  if (min === undefined || max === undefined) return faults;
  const limit = Number(amountOf(max)) / Number(amountOf(min));
  if (Number(amountOf(ratio)) / Number(ONE) > limit) {
    faults.push(invalidError(path, ratio, `ratio ${ratio} is greater than max/min = ${limit.toFixed(6)}`));
  }
  return faults;
}

/** Bodies with other texts have been refused by now. */
const amountOf = (text: string): bigint => parseAmount(text) ?? 0n;
