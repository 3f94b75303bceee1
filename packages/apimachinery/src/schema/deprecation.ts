// Finds the deprecated fields of a schema, and those an object uses.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";
import { formatValuePath } from "./value-path.ts";

/** Stands for every item of a list or every value of a map. */
const EACH = Symbol("each");

type DeprecationStep = string | typeof EACH;

export type Deprecation = {
  readonly steps: readonly DeprecationStep[];
  /** Such as `use spec.scope.projects instead`. */
  readonly advice: string;
};

export type DeprecatedField = {
  /** Where the object uses it, such as `spec.rules[2].resource`. */
  readonly path: string;
  /** The text of a warning, to follow the path: `deprecated; use … instead`. */
  readonly message: string;
};

/** Computed once per schema. */
export function collectDeprecations(schema: StructuralSchema): readonly Deprecation[] {
  const found: Deprecation[] = [];
  collect(schema, [], found);
  return found;
}

function collect(schema: StructuralSchema, steps: readonly DeprecationStep[], found: Deprecation[]): void {
  if (schema.deprecation !== undefined) found.push({ steps, advice: schema.deprecation });
  for (const [name, property] of Object.entries(schema.properties ?? {})) collect(property, [...steps, name], found);
  const each = schema.items ?? valueSchemaOf(schema);
  if (each !== undefined) collect(each, [...steps, EACH], found);
}

/** Deprecated fields that the value sets to anything but null. Costs nothing where a schema has none. */
export function findDeprecatedFields(
  value: JsonValue,
  deprecations: readonly Deprecation[],
): readonly DeprecatedField[] {
  const found: DeprecatedField[] = [];
  for (const deprecation of deprecations) if (isUsed(value, deprecation.steps)) findUses(value, deprecation, [], found);
  return found;
}

/** Nearly nothing is: without a path that is noted on the way. */
function isUsed(value: JsonValue | undefined, steps: readonly DeprecationStep[], from = 0): boolean {
  let member = value;
  for (let at = from; at < steps.length; at++) {
    const step = steps[at];
    if (step === EACH) return valuesIn(member).some((each) => isUsed(each, steps, at + 1));
    if (step === undefined || !isJsonObject(member) || !Object.hasOwn(member, step)) return false;
    member = member[step];
  }
  return member !== undefined && member !== null;
}

const valuesIn = (value: JsonValue | undefined): readonly (JsonValue | undefined)[] =>
  isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];

/** `path` is as long as the steps that have been taken, and one for all. */
function findUses(
  value: JsonValue | undefined,
  deprecation: Deprecation,
  path: (string | number)[],
  found: DeprecatedField[],
): void {
  if (value === undefined || value === null) return;
  const step = deprecation.steps[path.length];
  if (step === undefined) {
    found.push({ path: formatValuePath(path), message: `deprecated; ${deprecation.advice}` });
  } else if (isJsonArray(value)) {
    if (step !== EACH) return;
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      findUses(value[index], deprecation, path, found);
      path.pop();
    }
  } else if (isJsonObject(value)) {
    if (step !== EACH) findUsesBelow(value, step, deprecation, path, found);
    else for (const name of Object.keys(value)) findUsesBelow(value, name, deprecation, path, found);
  }
}

function findUsesBelow(
  object: JsonObject,
  name: string,
  deprecation: Deprecation,
  path: (string | number)[],
  found: DeprecatedField[],
): void {
  if (!Object.hasOwn(object, name)) return;
  path.push(name);
  findUses(object[name], deprecation, path, found);
  path.pop();
}
