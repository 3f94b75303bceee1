// Finds faults that no value can mend: constants that cannot be converted, and patterns that cannot be compiled.
// Source: github.com/google/cel-go/interpreter/decorators.go (decOptimize, decRegexOptimizer), attributes.go (NewQualifier)

import { findPatternError } from "@postern/apimachinery/schema/pattern/pattern";
import { type CelExpression, childrenOf } from "./cel-expression.ts";
import {
  CelBytes,
  CelDuration,
  CelEvaluationError,
  CelList,
  CelLiteralMap,
  CelMap,
  CelTimestamp,
  CelUint,
  type CelValue,
  listOf,
} from "./cel-value.ts";
import { callCelFunction } from "./functions/cel-library.ts";

class ConstantFault extends Error {
  override readonly name = "ConstantFault";
}

/** The first of them, in the words in which upstream refuses to store the expression. */
export function constantFault(expression: CelExpression): string | undefined {
  try {
    constantOf(expression);
    return undefined;
  } catch (error) {
    if (error instanceof ConstantFault) return error.message;
    throw error;
  }
}

const CONVERSIONS = new Set("bool bytes double duration dyn int string timestamp type uint".split(" "));
const SEARCHES = new Set(["matches", "find", "findAll"]);

/** The value of a part that is the same for all objects; undefined for other parts. Throws ConstantFault. */
function constantOf(expression: CelExpression): CelValue | undefined {
  if (expression.type === "literal") return expression.value;
  const parts = childrenOf(expression).map(constantOf);
  const isConstant = (values: readonly (CelValue | undefined)[]): values is readonly CelValue[] =>
    !values.includes(undefined);
  switch (expression.type) {
    case "list":
      return isConstant(parts) ? listOf(parts) : undefined;
    case "map":
      return isConstant(parts) ? mapOf(parts) : undefined;
    case "index":
      return checkIndex(parts[1]);
    case "call": {
      const [first, second] = parts;
      if (SEARCHES.has(expression.name)) return checkPattern(second);
      const isConversion = CONVERSIONS.has(expression.name) && parts.length === 1 && first !== undefined;
      return isConversion ? convert(expression.name, first) : undefined;
    }
    default:
      return undefined;
  }
}

/** Undefined for keys that no map can have: that is found out when the expression is evaluated. */
function mapOf(parts: readonly CelValue[]): CelValue | undefined {
  const entries = parts.flatMap((key, at) => (at % 2 === 0 ? [[key, parts[at + 1] ?? null] as const] : []));
  return evaluated(() => new CelLiteralMap(entries)).value;
}

function convert(name: string, value: CelValue): CelValue | undefined {
  const { value: converted, fault } = evaluated(() => callCelFunction(name, false, [value]));
  if (fault !== undefined) throw new ConstantFault(fault);
  return converted;
}

function evaluated(evaluate: () => CelValue): { readonly value?: CelValue; readonly fault?: string } {
  try {
    return { value: evaluate() };
  } catch (error) {
    if (error instanceof CelEvaluationError) return { fault: error.message };
    throw error;
  }
}

function checkPattern(pattern: CelValue | undefined): undefined {
  const fault = typeof pattern === "string" ? findPatternError(pattern) : undefined;
  if (fault !== undefined) throw new ConstantFault(fault);
}

function checkIndex(index: CelValue | undefined): undefined {
  const name = index === undefined ? undefined : unindexable(index);
  if (name !== undefined) throw new ConstantFault(`invalid qualifier type: ${name}`);
}

/** Upstream's name of a type by which nothing is indexed. */
function unindexable(value: CelValue): string | undefined {
  if (value === null) return "types.Null";
  if (typeof value !== "object" || value instanceof CelUint) return undefined;
  if (value instanceof CelBytes) return "types.Bytes";
  if (value instanceof CelTimestamp) return "types.Timestamp";
  if (value instanceof CelDuration) return "types.Duration";
  if (value instanceof CelList) return "*types.baseList";
  return value instanceof CelMap ? "*types.baseMap" : undefined;
}
