// Checks in one walk whether a valid object needs no changes: pruning, defaulting and validation would take six walks. If in doubt, the answer is no,
// and those walks decide and report errors.

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import type { CompiledSchema } from "./compile-schema.ts";

/**
 * True only for a value that
 * - `pruneUnknownFields`, `coerceEmbeddedResources`, `pruneNulls` and `setDefaults` give back as it is, and
 * - `validateAgainstSchema`, `validateListTypes` and `validateEmbeddedResources` find no fault in.
 */
export function passesQuickValidation(plain: QuickSchema, value: JsonValue, walk: QuickWalk, depth = 0): boolean {
  walk.values++;
  if (plain.isDoubtful) return false;
  if (typeof value === "string") {
    walk.values += value.length >>> TEXT_SHIFT;
    return isPlainText(plain, value);
  }
  if (typeof value === "number") return isPlainNumber(plain, value);
  if (typeof value === "boolean") return plain.allowsBoolean && plain.choices === undefined;
  if (isJsonArray(value)) return isPlainList(plain, value, walk, depth);
  if (isJsonObject(value)) return isPlainObject(plain, value, walk, depth);
  // Null, or a bigint: a nullable value may be null.
  return value === null && plain.isNullable && plain.choices === undefined;
}

/** Members of an object, and of its members, are remembered if they are large. */
const DEEPEST_REMEMBERED = 2;
/** Remembering a part costs as much as looking at some hundred values. */
export const MANY_VALUES = 500;
/** Steps of patterns. */
const MANY_STEPS = 20_000;
/** 64 characters of a text count as one value. */
const TEXT_SHIFT = 6;

/** The cost of looks at values of one schema, and large parts that have passed: a request looks at the same object several times, and parts never change. */
export class QuickWalk {
  /** That have been looked at, in all looks. */
  values = 0;
  /** That patterns may still take in this look. */
  stepsLeft = 0;
  readonly #passed = new WeakMap<object, QuickSchema>();

  /** Throws QuickValidationTooLongError. */
  spend(taken: number): void {
    this.stepsLeft -= taken;
    if (this.stepsLeft < 0) throw new QuickValidationTooLongError("patterns take long");
  }

  passes(plain: QuickSchema, part: JsonValue, depth: number): boolean {
    if (typeof part !== "object" || part === null || depth > DEEPEST_REMEMBERED) {
      return passesQuickValidation(plain, part, this, depth);
    }
    if (this.#passed.get(part) === plain) return true;
    const { values, stepsLeft } = this;
    if (!passesQuickValidation(plain, part, this, depth)) return false;
    if (this.values - values > MANY_VALUES || stepsLeft - this.stepsLeft > MANY_STEPS) this.#passed.set(part, plain);
    return true;
  }
}

/** The parts of a schema that this needs, at hand. */
export type QuickSchema = {
  /** The schema has keywords that are rare, or whose meaning depends on more than one value. */
  readonly isDoubtful: boolean;
  readonly isNullable: boolean;
  readonly allowsText: boolean;
  readonly allowsBoolean: boolean;
  readonly allowsInteger: boolean;
  readonly allowsFraction: boolean;
  readonly allowsList: boolean;
  readonly allowsObject: boolean;
  /** The values of an enum. */
  readonly choices: ReadonlySet<JsonValue> | undefined;
  readonly minLength: number;
  readonly maxLength: number;
  readonly matches: ((text: string) => boolean) | undefined;
  readonly fits: ((text: string) => boolean) | undefined;
  readonly minimum: number;
  readonly maximum: number;
  readonly minItems: number;
  readonly maxItems: number;
  readonly items: QuickSchema | undefined;
  /** Undefined: items may be alike. `[]`: each is its own key; otherwise all are objects. */
  readonly itemKeys: readonly string[] | undefined;
  readonly members: ReadonlyMap<string, QuickSchema>;
  readonly values: QuickSchema | undefined;
  /** Whether members that nothing is said of are let alone, with all that they hold. */
  readonly allowsOthers: boolean;
  /** That have to be there: others without them are faulty, or get defaults. */
  readonly needed: readonly string[];
  readonly minMembers: number;
  readonly maxMembers: number;
};

const MAX_INT32 = 2 ** 31 - 1;

/** The value may be plain, but its patterns take longer than one look should. */
export class QuickValidationTooLongError extends Error {
  override readonly name = "QuickValidationTooLongError";
}

/** Compiles a schema once more, for `passesQuickValidation` with the same `walk`, from which patterns take their steps. */
export function quickSchemaOf(compiled: CompiledSchema, walk: QuickWalk): QuickSchema {
  const spend = (taken: number): void => walk.spend(taken);
  const { schema, types, pattern, format, formatName, properties, values, items, allOf, anyOf, oneOf, not } = compiled;
  const allows = (type: string): boolean => types.length === 0 || types.includes(type);
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const isBounded = schema.minimum !== undefined || schema.maximum !== undefined;
  const isInt32 = formatName === "int32";
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const filled = Object.entries(schema.properties ?? {}).filter(([, property]) => (property.default ?? null) !== null);
  return {
    isDoubtful:
      allOf.length + anyOf.length + oneOf.length > 0 ||
      not !== undefined ||
      pattern?.fault !== undefined ||
      schema.multipleOf !== undefined ||
      schema.exclusiveMinimum === true ||
      schema.exclusiveMaximum === true ||
      schema.uniqueItems === true ||
      schema["x-kubernetes-embedded-resource"] === true ||
      (listType === "map" && keys.length === 0),
    isNullable: schema.nullable === true,
    allowsText: allows("string"),
    allowsBoolean: allows("boolean"),
    allowsInteger: allows("integer") || allows("number"),
    allowsFraction: allows("number") && !isBounded,
    allowsList: allows("array"),
    allowsObject: allows("object"),
    choices: compiled.enum.length === 0 ? undefined : new Set(compiled.enum),
    minLength: schema.minLength ?? 0,
    maxLength: schema.maxLength ?? Number.POSITIVE_INFINITY,
    matches: pattern && ((text) => pattern.test(text, spend)),
    fits: format,
    minimum: isInt32 ? Math.max(minimum, -MAX_INT32) : minimum,
    maximum: isInt32 ? Math.min(maximum, MAX_INT32) : maximum,
    minItems: schema.minItems ?? 0,
    maxItems: schema.maxItems ?? Number.POSITIVE_INFINITY,
    items: items && quickSchemaOf(items, walk),
    itemKeys: listType === "set" ? [] : listType === "map" ? keys : undefined,
    members: new Map([...properties].map(([name, property]) => [name, quickSchemaOf(property, walk)])),
    values: values && quickSchemaOf(values, walk),
    allowsOthers:
      schema.additionalProperties === true ||
      (schema["x-kubernetes-preserve-unknown-fields"] === true && schema.additionalProperties === undefined),
    needed: [...new Set([...(schema.required ?? []), ...filled.map(([name]) => name)])],
    minMembers: schema.minProperties ?? 0,
    maxMembers: schema.maxProperties ?? Number.POSITIVE_INFINITY,
  };
}

function isPlainText({ allowsText, choices, minLength, maxLength, matches, fits }: QuickSchema, text: string): boolean {
  if (!allowsText || text.length > maxLength) return false;
  // A character is two units of a text at most.
  if (minLength > 1 ? text.length < minLength * 2 : text.length < minLength) return false;
  if (choices !== undefined && !choices.has(text)) return false;
  return (matches === undefined || matches(text)) && (fits === undefined || fits(text));
}

function isPlainNumber(plain: QuickSchema, value: number): boolean {
  const isAllowed = Number.isSafeInteger(value) ? plain.allowsInteger : plain.allowsFraction;
  return isAllowed && plain.choices === undefined && value >= plain.minimum && value <= plain.maximum;
}

function isPlainList(
  { allowsList, choices, items, itemKeys, minItems, maxItems }: QuickSchema,
  list: JsonArray,
  walk: QuickWalk,
  depth: number,
): boolean {
  if (!allowsList || choices !== undefined || list.length < minItems || list.length > maxItems) return false;
  if (list.length === 0) return true;
  if (items === undefined) return false;
  for (const item of list) if (!passesQuickValidation(items, item, walk, depth + 1)) return false;
  if (itemKeys === undefined) return true;
  if (list.length === 1) return itemKeys.length === 0 || isJsonObject(list[0]);
  return areDistinct(list, itemKeys);
}

/** Longer ones are compared elsewhere, and so are those whose keys are no texts. */
const MOST_COMPARED = 16;

function areDistinct(list: JsonArray, keys: readonly string[]): boolean {
  if (list.length > MOST_COMPARED) return false;
  const seen = new Set<string>();
  for (const item of list) {
    const key = keys.length === 0 ? item : keyTextOf(item, keys);
    if (typeof key !== "string") return false;
    seen.add(key);
  }
  return seen.size === list.length;
}

function keyTextOf(item: JsonValue, keys: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined;
  let text = "";
  for (const key of keys) {
    const part = Object.hasOwn(item, key) ? item[key] : undefined;
    if (typeof part !== "string") return undefined;
    text += `${part.length} ${part}`;
  }
  return text;
}

function isPlainObject(plain: QuickSchema, object: JsonObject, walk: QuickWalk, depth: number): boolean {
  if (!plain.allowsObject || plain.choices !== undefined) return false;
  let count = 0;
  // JSON inherits nothing that could be listed: this makes no list of names, and finds the members faster.
  for (const name in object) {
    const member = object[name];
    if (member === undefined) continue;
    count++;
    const schema = plain.members.get(name) ?? plain.values;
    if (schema === undefined) {
      if (!plain.allowsOthers) return false;
    } else if (!walk.passes(schema, member, depth + 1)) return false;
  }
  if (count < plain.minMembers || count > plain.maxMembers) return false;
  for (const name of plain.needed) if (!Object.hasOwn(object, name) || object[name] === undefined) return false;
  return true;
}
