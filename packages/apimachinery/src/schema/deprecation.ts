// Finds the deprecated fields of a schema, and those an object uses.

import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts";
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
  for (const { steps, advice } of deprecations) {
    for (const path of pathsOf(value, steps, [])) {
      found.push({ path: formatValuePath(path), message: `deprecated; ${advice}` });
    }
  }
  return found;
}

function* pathsOf(
  value: JsonValue | undefined,
  steps: readonly DeprecationStep[],
  path: readonly (string | number)[],
): Generator<readonly (string | number)[]> {
  const [step, ...rest] = steps;
  if (value === undefined || value === null) return;
  if (step === undefined) {
    yield path;
  } else if (isJsonArray(value)) {
    if (step === EACH) for (const [index, item] of value.entries()) yield* pathsOf(item, rest, [...path, index]);
  } else if (isJsonObject(value)) {
    const names = step === EACH ? Object.keys(value) : [step].filter((name) => Object.hasOwn(value, name));
    for (const name of names) yield* pathsOf(value[name], rest, [...path, name]);
  }
}
