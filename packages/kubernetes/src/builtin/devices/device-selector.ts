// The expressions that choose devices. They are compiled to be refused; the scheduler evaluates them.
// Source: k8s.io/dynamic-resource-allocation/cel/compile.go, k8s.io/kubernetes/pkg/apis/resource/validation/validation.go (validateCELSelector)

import type { Steps } from "@postern/apimachinery/steps/steps";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  type FieldError,
  forbiddenError,
  internalError,
  invalidError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { type CelExpression, CelSyntaxError, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import { type CelType, formatGoType, readCelType } from "@postern/cel/cel-type";
import { checkCel } from "@postern/cel/check-cel";
import { constantFault } from "@postern/cel/constant-fault";
import { estimateCostOf } from "@postern/cel/estimate-cost";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import type { SizeLimits } from "@postern/cel/schema-size";
import type { DeviceSelector } from "./device-objects.ts";

const MAX_COST = 1_000_000;
const MAX_LENGTH = 10 * 1024;

const NAMES = { ...CEL_NAMES, hasBind: true };
const field = (property: string, type: CelType) => [property, { property, type }] as const;
const byDomain = (value: CelType): CelType => {
  const key = readCelType("string");
  return { kind: "map", key, value: { kind: "map", key, value } };
};
const DEVICE: CelType = {
  kind: "object",
  name: "kubernetes.DRADevice",
  fields: new Map([
    field("driver", readCelType("string")),
    field("allowMultipleAllocations", readCelType("bool")),
    field("attributes", byDomain({ kind: "dyn", isAny: true })),
    field("capacity", byDomain(readCelType("quantity"))),
  ]),
};

const MAX_MEMBERS = 32;
const scalar = (max: number): SizeLimits => ({ max, minBytes: 0, fields: new Map() });
const mapOf = (items: SizeLimits, keys: number, fields: SizeLimits["fields"] = new Map()): SizeLimits => ({
  max: MAX_MEMBERS,
  minBytes: 0,
  fields,
  items,
  keys: scalar(keys),
});
const [DOMAIN_LENGTH, ID_LENGTH, VALUE_LENGTH] = [63, 32, 64];
const ATTRIBUTE = scalar(VALUE_LENGTH);
const LIMITS: SizeLimits = {
  ...scalar(0),
  fields: new Map([
    ["driver", scalar(63)],
    ["allowMultipleAllocations", scalar(1)],
    // The size of an attribute is known by each name, that of a capacity only where it is looked up as a key.
    ["attributes", mapOf(mapOf(ATTRIBUTE, ID_LENGTH, { get: () => ATTRIBUTE }), DOMAIN_LENGTH)],
    ["capacity", mapOf(mapOf(scalar(0), ID_LENGTH), DOMAIN_LENGTH)],
  ]),
};

export type SelectorCheck = (path: string, selector: DeviceSelector) => Steps<readonly FieldError[]>;

/** For the selectors of one object: an expression that occurs again is not compiled again. */
export function createSelectorCheck(): SelectorCheck {
  const refusals = new Map<string, Refusal | undefined>();
  return function* check(path, { cel }) {
    if (cel === undefined) return [requiredError(`${path}.cel`)];
    const { expression = "" } = cel;
    const at = `${path}.cel.expression`;
    if (byteLength(expression) > MAX_LENGTH) return [tooLongError(at, MAX_LENGTH)];
    if (!refusals.has(expression)) {
      // A claim may have thousands, and compiling a long one takes milliseconds.
      yield;
      refusals.set(expression, refusalOf(expression));
    }
    const refusal = refusals.get(expression);
    return refusal === undefined ? [] : [refusal(at)];
  };
}

type Refusal = (path: string) => FieldError;

function refusalOf(text: string): Refusal | undefined {
  const refused =
    (why: string): Refusal =>
    (path) =>
      invalidError(path, text, why);
  const uncompiled = (faults: readonly CelSyntaxError[]) =>
    refused(`compilation failed: ${textOfSyntaxErrors(faults, text)}`);
  let expression: CelExpression;
  try {
    expression = parseCel(text, NAMES);
  } catch (error) {
    if (error instanceof CelSyntaxError) return uncompiled([error]);
    throw error;
  }
  const checked = checkCel(expression, { device: DEVICE });
  if (checked.faults.length > 0) return uncompiled(checked.faults);
  const { type } = checked;
  if (type.kind !== "bool" && !(type.kind === "dyn" && type.isAny === true)) {
    return refused(`must evaluate to bool or the unknown type, not ${formatGoType(type)}`);
  }
  const broken = constantFault(expression);
  if (broken !== undefined) return (path) => internalError(path, `program instantiation failed: ${broken}`);
  const cost = estimateCostOf(expression, checked, { device: LIMITS });
  return cost > MAX_COST ? (path) => forbiddenError(path, "too complex, exceeds cost limit") : undefined;
}
