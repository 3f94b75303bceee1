// Checks values against a schema, with the verdicts and the texts of kube-apiserver for custom resources.
// Source: k8s.io/kube-openapi/pkg/validation/validate, apiextensions-apiserver/pkg/apiserver/validation/{validation,ratcheting}.go

import { equalJson } from "../../json/equal-json.ts";
import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { badRequestError } from "../../meta/api-error.ts";
import type { FieldError } from "../../validation/field-error.ts";
import { formatGoValue } from "../../validation/go-syntax.ts";
import { PatternLimitError, type SpendSteps } from "../pattern/pattern-program.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { formatValuePath } from "../value-path.ts";
import { type CompiledSchema, compileSchema } from "./compile-schema.ts";
import { correlateItems } from "./correlate-items.ts";
import {
  MANY_VALUES,
  passesQuickValidation,
  type QuickSchema,
  QuickValidationTooLongError,
  QuickWalk,
  quickSchemaOf,
} from "./quick-validation.ts";
import {
  mergeErrors,
  reportCombination,
  reportEnum,
  reportForbiddenProperty,
  reportRequired,
  reportRule,
  reportTooLong,
  reportTooMany,
  reportType,
  startWalk,
  type Walk,
} from "./schema-walk.ts";
import { jsonTypeOf, validateNumber } from "./validate-number.ts";

export type SchemaValidator = {
  /** Whether nothing is wrong with a value nor to be done about it, as far as one quick look tells: see `passesQuickValidation`. */
  readonly isPlain: (value: JsonValue) => boolean;
  /** Faults of a value. At most 1000 are given. */
  readonly validate: (value: JsonValue, options?: CheckOptions) => readonly FieldError[];
  /** Faults of a change. Faults of unchanged values are tolerated, so that a schema may become stricter. */
  readonly validateUpdate: (newValue: JsonValue, oldValue: JsonValue, options?: CheckOptions) => readonly FieldError[];
};

export type CheckOptions = {
  /** Path of the value; default "", for a whole object. */
  readonly path?: string;
  /**
   * How much may be looked at, in steps of a pattern, of which 40 take about a microsecond: patterns, and what schemas and values have, multiply.
   * Where it is more, SchemaValidationTooLongError is thrown. Default: no limit.
   */
  readonly most?: number;
};

/** The value may still be valid. */
export class SchemaValidationTooLongError extends Error {
  override readonly name = "SchemaValidationTooLongError";
  /** Path of the value checked last, as messages name it: `spec.items[3]`; "" for the whole. */
  readonly field: string;

  constructor(field: string) {
    super("the schema takes too long to check");
    this.field = field;
  }
}

/** Thrown by `spend`, which does not know the field. */
class StepsSpent extends Error {}

/** Cost of visiting a value, comparing it with another, and writing one into the text of a fault. */
const [VALUE_STEPS, COMPARISON_STEPS, TEXT_STEPS] = [8, 4, 20];

function spendUpTo(most = Number.POSITIVE_INFINITY): SpendSteps {
  let left = most;
  return (steps) => {
    left -= steps;
    if (left < 0) throw new StepsSpent();
  };
}

const NO_FAULTS: readonly FieldError[] = [];
/** Most steps that patterns may take in one look, some milliseconds. */
const MOST_PLAIN_STEPS = 200_000;

/** Compiles the schema: make one validator per schema and keep it. Patterns that are invalid fail every value. */
export function createSchemaValidator(schema: StructuralSchema): SchemaValidator {
  // Compiled at the first value: most of the kinds that a server serves have no objects.
  let compiledOnce: CompiledSchema | undefined;
  const compiled = (): CompiledSchema => (compiledOnce ??= compileSchema(schema));
  const run = (
    value: JsonValue,
    oldValue: JsonValue | undefined,
    { path = "", most }: CheckOptions,
    spend: SpendSteps,
  ): readonly FieldError[] => {
    const walk = startWalk(path === "" ? [] : [path], spend);
    try {
      check(compiled(), value, oldValue, walk);
    } catch (error) {
      const isPatternLimit = error instanceof PatternLimitError;
      if (!isPatternLimit && !(error instanceof StepsSpent)) throw error;
      // The path is where the walk stopped. The whole request is refused: below `not`, a pattern that does not match means valid.
      const field = formatValuePath(walk.path);
      if (isPatternLimit && most === undefined) throw badRequestError(`${field}: ${error.message}`);
      throw new SchemaValidationTooLongError(field);
    }
    return walk.errors;
  };
  let plain: QuickSchema | undefined;
  const walk = new QuickWalk();
  /** The last small one: the decoder of an object looks at it, and its field manager right after. */
  let lastPlain: JsonValue | undefined;
  const isPlain = (value: JsonValue): boolean => {
    if (value === lastPlain) return true;
    plain ??= quickSchemaOf(compiled(), walk);
    walk.stepsLeft = MOST_PLAIN_STEPS;
    const { values } = walk;
    try {
      if (!passesQuickValidation(plain, value, walk)) return false;
      if (walk.values - values <= MANY_VALUES) lastPlain = value;
      return true;
    } catch (error) {
      if (error instanceof QuickValidationTooLongError) return false;
      throw error;
    }
  };
  return {
    isPlain,
    validate: (value, options = {}) =>
      isPlain(value) ? NO_FAULTS : run(value, undefined, options, spendUpTo(options.most)),
    validateUpdate: (newValue, oldValue, options = {}) => {
      if (isPlain(newValue)) return NO_FAULTS;
      const spend = spendUpTo(options.most);
      const errors = run(newValue, undefined, options, spend);
      return errors.length === 0 ? errors : run(newValue, oldValue, options, spend);
    },
  };
}

/** Schemas never change, so that a compiled one can be kept for as long as its schema is. */
const validators = new WeakMap<StructuralSchema, SchemaValidator>();

export function schemaValidatorOf(schema: StructuralSchema): SchemaValidator {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const validator = createSchemaValidator(schema);
  validators.set(schema, validator);
  return validator;
}

export const validateAgainstSchema = (value: JsonValue, schema: StructuralSchema, path = ""): readonly FieldError[] =>
  schemaValidatorOf(schema).validate(value, { path });

/** `old` is what stood here before; undefined on create, and where that cannot be known. */
function check(compiled: CompiledSchema, value: JsonValue, old: JsonValue | undefined, walk: Walk): void {
  walk.spend(VALUE_STEPS);
  if (old !== undefined && equalJson(value, old)) return;
  checkType(compiled, value, walk);
  if (value !== null) {
    checkCombinations(compiled, value, old, walk);
    if (typeof value === "string") checkString(compiled, value, walk);
    else if (typeof value === "number" || typeof value === "bigint") validateNumber(compiled, value, walk);
    else if (isJsonArray(value)) checkArray(compiled, value, old, walk);
  }
  checkEnum(compiled, value, walk);
  if (isJsonObject(value)) checkObject(compiled, value, old, walk);
}

function checkType({ schema, types, formatName }: CompiledSchema, value: JsonValue, walk: Walk): void {
  const actual = jsonTypeOf(value);
  if (types.length === 0 || (actual === "null" && schema.nullable === true)) {
    walk.matches++;
  } else if (types.includes(actual) || (actual === "integer" && types.includes("number"))) {
    walk.matches++;
  } else if (formatName !== "" && ["boolean", "integer", "number", "object"].includes(actual)) {
    reportType(walk, formatName, NUMBER_FORMATS.get(actual) ?? "");
  } else {
    reportType(walk, types.join(","), actual);
  }
}

/** Where a format was expected, upstream reports the format of the value. */
const NUMBER_FORMATS: ReadonlyMap<string, string> = new Map([
  ["integer", "int64"],
  ["number", "float64"],
]);

function checkCombinations(compiled: CompiledSchema, value: JsonValue, old: JsonValue | undefined, walk: Walk): void {
  const { allOf, anyOf, oneOf, not } = compiled;
  const attempt = (alternative: CompiledSchema): Walk => {
    const result = startWalk(walk.path, walk.spend);
    check(alternative, value, old, result);
    return result;
  };
  if (anyOf.length > 0) {
    const results = attemptUntilValid(anyOf, attempt);
    if (results.at(-1)?.errors.length !== 0) {
      reportCombination(walk, "must validate at least one schema (anyOf)");
      mergeErrors(walk, closestOf(results));
    }
  }
  if (oneOf.length > 0) {
    const results = oneOf.map(attempt);
    const valid = results.filter(({ errors }) => errors.length === 0).length;
    if (valid !== 1) {
      const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
      reportCombination(walk, `must validate one and only one schema (oneOf). ${found}`);
    }
    if (valid === 0) mergeErrors(walk, closestOf(results));
  }
  if (allOf.length > 0) {
    const results = allOf.map(attempt);
    const valid = results.filter(({ errors }) => errors.length === 0).length;
    for (const { errors } of results) mergeErrors(walk, errors);
    if (valid !== allOf.length) {
      reportCombination(walk, `must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
    }
  }
  if (not !== undefined && attempt(not).errors.length === 0) {
    reportCombination(walk, "must not validate the schema (not)");
  }
}

function attemptUntilValid(alternatives: readonly CompiledSchema[], attempt: (one: CompiledSchema) => Walk): Walk[] {
  const results: Walk[] = [];
  for (const alternative of alternatives) {
    const result = attempt(alternative);
    results.push(result);
    if (result.errors.length === 0) break;
  }
  return results;
}

/** The faults of the first alternative with most matches. */
function closestOf(results: readonly Walk[]): readonly FieldError[] {
  const [first, ...others] = results;
  if (first === undefined) return [];
  return others.reduce((best, result) => (result.matches > best.matches ? result : best), first).errors;
}

/** The first broken rule is reported, then the format. */
function checkString({ schema, pattern, format, formatName }: CompiledSchema, text: string, walk: Walk): void {
  const { minLength, maxLength } = schema;
  if (maxLength !== undefined || minLength !== undefined || format !== undefined) walk.spend(text.length);
  const exceeds = maxLength !== undefined && text.length > maxLength && countCharacters(text) > maxLength;
  if (exceeds) {
    reportTooLong(walk, maxLength);
  } else if (minLength !== undefined && countCharacters(text) < minLength) {
    reportRule(walk, text, `should be at least ${minLength} chars long`);
  } else if (pattern !== undefined && !pattern.test(text, walk.spend)) {
    walk.spend(pattern.source.length);
    const fault = pattern.fault === undefined ? "" : `, but pattern is invalid: ${pattern.fault}`;
    reportRule(walk, text, `should match '${pattern.source}${fault}'`);
  }
  if (format !== undefined && !format(text)) reportType(walk, formatName, text);
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function checkArray(compiled: CompiledSchema, array: JsonArray, old: JsonValue | undefined, walk: Walk): void {
  const { schema, items } = compiled;
  if (items !== undefined) {
    const oldItemOf = correlateItems(schema, old);
    for (const [index, item] of array.entries()) {
      walk.path.push(index);
      check(items, item, oldItemOf(item), walk);
      walk.path.pop();
    }
  }
  const { minItems, maxItems, uniqueItems } = schema;
  if (minItems !== undefined && array.length < minItems) {
    reportRule(walk, array.length, `should have at least ${minItems} items`);
  }
  if (maxItems !== undefined && array.length > maxItems) reportTooMany(walk, array.length, maxItems);
  if (uniqueItems === true && new Set(array.map((item) => formatGoValue(item))).size < array.length) {
    reportRule(walk, "", "shouldn't contain duplicates");
  }
}

function checkEnum({ enum: allowed, enumTexts }: CompiledSchema, value: JsonValue, walk: Walk): void {
  if (allowed.length === 0 || enumTexts.has(value)) return;
  walk.spend(allowed.length * COMPARISON_STEPS);
  if (allowed.some((one) => equalJson(one, value))) return;
  walk.spend(allowed.length * TEXT_STEPS);
  reportEnum(walk, value, allowed);
}

function checkObject(compiled: CompiledSchema, object: JsonObject, old: JsonValue | undefined, walk: Walk): void {
  const { schema, properties, values } = compiled;
  if (!checkMemberCount(schema, object, walk)) return;
  const oldObject = isJsonObject(old) ? old : undefined;
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined) continue;
    const declared = properties.get(name);
    const oldMember = oldObject !== undefined && Object.hasOwn(oldObject, name) ? oldObject[name] : undefined;
    if (declared !== undefined) checkMember(declared, name, member, oldMember, walk);
    else if (values !== undefined) checkMember(values, atRoot(walk) ? `.${name}` : name, member, oldMember, walk);
    else if (schema.additionalProperties === false) reportForbiddenProperty(walk, name);
  }
  const { required = [] } = schema;
  walk.spend(required.length * COMPARISON_STEPS);
  for (const name of required) {
    if (!Object.hasOwn(object, name) || object[name] === undefined) reportRequired(walk, name);
  }
}

function checkMember(
  compiled: CompiledSchema,
  name: string,
  member: JsonValue,
  old: JsonValue | undefined,
  walk: Walk,
): void {
  walk.path.push(name);
  check(compiled, member, old, walk);
  walk.path.pop();
}

const atRoot = ({ path }: Walk): boolean => path.length === 0;

/** False ends the check of the object: its members do not matter any more. */
function checkMemberCount({ minProperties, maxProperties }: StructuralSchema, object: JsonObject, walk: Walk): boolean {
  if (minProperties === undefined && maxProperties === undefined) return true;
  const count = Object.values(object).filter((member) => member !== undefined).length;
  if (minProperties !== undefined && count < minProperties) {
    reportRule(walk, count, `should have at least ${minProperties} properties`);
    return false;
  }
  if (maxProperties !== undefined && count > maxProperties) {
    reportTooMany(walk, count, maxProperties);
    return false;
  }
  return true;
}
