// Conditions of rules on the claims of a token: values that are compared exactly, and CEL expressions with a budget.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { unescapeSegment } from "@postern/apimachinery/patch/patch-target";
import { CelLimitError, createCelMeter } from "@postern/cel/cel-budget";
import type { CelExpression } from "@postern/cel/cel-expression";
import { CelEvaluationError, CelList, CelLiteralMap, CelOptional, type CelValue, listOf } from "@postern/cel/cel-value";
import { compileBoolean, compileChecked, compileError } from "@postern/cel/compile-checked";
import { evaluateCel } from "@postern/cel/evaluate-cel";

/** Most that the evaluation of one condition may cost, in the units of Kubernetes: about the values that are looked at. */
const COST_PER_CONDITION = 100_000;
/** All conditions of all rules that one token is held against: rules of one tenant must not keep another one's waiting. */
const COST_PER_TOKEN = 1_000_000;

/** Rest of the budget for one token. */
export type ClaimBudget = { left: number };
export const createClaimBudget = (): ClaimBudget => ({ left: COST_PER_TOKEN });

const CLAIMS_TYPE = { kind: "map", key: { kind: "string" }, value: { kind: "dyn" } } as const;

/** Throws CelSyntaxError if the text is not an expression, or not a boolean one. */
export const compileCondition = (source: string): CelExpression => compileBoolean(source, { claims: CLAIMS_TYPE });

/** Why a text cannot be a condition; undefined for one that can. */
export const conditionError = (source: string): string | undefined => compileError(source, compileCondition);

/** Whether a condition holds. Anything but true is a no, with what went wrong. */
export function evaluateCondition(
  expression: CelExpression,
  claims: CelValue,
  budget: ClaimBudget,
): { readonly holds: boolean; readonly fault?: string } {
  const meter = createCelMeter(Math.min(COST_PER_CONDITION, budget.left));
  try {
    return { holds: evaluateCel(expression, { names: { claims }, meter }) === true };
  } catch (error) {
    if (error instanceof CelLimitError) return { holds: false, fault: "it costs too much to evaluate" };
    if (error instanceof CelEvaluationError) return { holds: false, fault: error.message };
    throw error;
  } finally {
    budget.left = Math.max(0, budget.left - meter.spent);
  }
}

/** Throws CelSyntaxError if the text is not an expression over the claims. Its value may be of any type. */
export const compileClaimExpression = (source: string): CelExpression =>
  compileChecked(source, { claims: CLAIMS_TYPE });

/** Why a text cannot be an expression over claims; undefined for one that can. */
export const claimExpressionError = (source: string): string | undefined =>
  compileError(source, compileClaimExpression);

/** The texts that an expression gives: one for a string, some for a list of strings, none for null or "". Throws ClaimError. */
export function textsOfExpression(expression: CelExpression, claims: CelValue, budget: ClaimBudget): readonly string[] {
  const meter = createCelMeter(Math.min(COST_PER_CONDITION, budget.left));
  try {
    return textsIn(evaluateCel(expression, { names: { claims }, meter }));
  } catch (error) {
    if (error instanceof CelLimitError) throw new ClaimError("it costs too much to evaluate");
    if (error instanceof CelEvaluationError) throw new ClaimError(error.message);
    throw error;
  } finally {
    budget.left = Math.max(0, budget.left - meter.spent);
  }
}

export class ClaimError extends Error {
  override readonly name = "ClaimError";
}

function textsIn(value: CelValue): readonly string[] {
  const given = value instanceof CelOptional ? (value.value ?? null) : value;
  if (given === null || given === "") return [];
  if (typeof given === "string") return [given];
  if (given instanceof CelList && given.items.every((item) => typeof item === "string"))
    return given.items.filter((item) => item !== "");
  throw new ClaimError("it is neither a string nor a list of strings");
}

/** JSON as expressions see it: whole numbers of 64 bits are int, others double. */
export function claimValue(json: JsonValue): CelValue {
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : json;
  if (typeof json === "bigint") return BigInt.asIntN(64, json) === json ? json : Number(json);
  if (isJsonArray(json)) return listOf(json.map(claimValue));
  if (isJsonObject(json)) {
    const members = Object.entries(json).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    return new CelLiteralMap(members.map(([name, value]) => [name, claimValue(value)] as const));
  }
  return json;
}

/** By name, or by a JSON pointer (RFC 6901) that begins with a slash. Undefined without one. */
export function claimAt(claims: JsonObject, name: string): JsonValue | undefined {
  if (!name.startsWith("/")) return memberOf(claims, name);
  return name
    .slice(1)
    .split("/")
    .map(unescapeSegment)
    .reduce<JsonValue | undefined>((value, step) => {
      if (isJsonArray(value)) return ARRAY_INDEX.test(step) ? value[Number(step)] : undefined;
      return isJsonObject(value) ? memberOf(value, step) : undefined;
    }, claims);
}

/** RFC 6901 section 4: without leading zeros. */
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,8})$/;

const memberOf = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
