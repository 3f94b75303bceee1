// One definition of a resource: it gives the TypeScript type and the structural schema.
//
//   export const widgetSchema = s.object({
//     spec: s.object({
//       size: s.int32({ minimum: 1 }).required().describe("How many."),
//       color: s.string({ enum: ["red", "blue"] }).describe("The paint."),
//     }),
//   });
//   export type Widget = Infer<typeof widgetSchema>;

import type { JsonObject, JsonValue } from "../json/json-value.ts";
import type { Timestamp } from "../meta/object-meta.ts";
import type { StructuralSchema } from "./structural-schema.ts";

declare const TYPE: unique symbol;

/** A field of type `T`. Fields are optional, as everywhere in Kubernetes, unless marked required. */
export type Field<T, Required extends boolean = false> = {
  readonly schema: StructuralSchema;
  readonly isRequired: Required;
  /** Carries the type only; never there at run time. */
  readonly [TYPE]?: T;
  /** Sentences for `kubectl explain` and the reference: what the field does, its unit, what absence means. */
  describe(text: string): Field<T, Required>;
  /** The field still works, but every use is answered with a warning. `advice`: `use spec.scope.projects instead`. */
  deprecated(advice: string): Field<T, Required>;
  required(): Field<T, true>;
  nullable(): Field<T | null, Required>;
  /** Written into stored objects. Prefer a documented meaning of absence. */
  default(value: T & JsonValue): Field<T, Required>;
};

/** The type of a definition. */
export type Infer<F> = F extends { readonly [TYPE]?: infer T } ? Exclude<T, undefined> : never;

type AnyField = Field<unknown, boolean>;
type Members = { readonly [name: string]: AnyField };
type RequiredNames<M> = { [K in keyof M]: M[K] extends { readonly isRequired: true } ? K : never }[keyof M];
type Flat<T> = { readonly [K in keyof T]: T[K] };
type ObjectOf<M extends Members> = Flat<
  { [K in RequiredNames<M>]: Infer<M[K]> } & { [K in Exclude<keyof M, RequiredNames<M>>]?: Infer<M[K]> }
>;

type StringRules<E extends string> = {
  readonly enum?: readonly E[];
  /** RE2 syntax; unanchored, so begin with ^ and end with $. */
  readonly pattern?: string;
  readonly format?: string;
  /** Characters. */
  readonly minLength?: number;
  /** Characters. */
  readonly maxLength?: number;
};
type NumberRules = { readonly minimum?: number; readonly maximum?: number; readonly multipleOf?: number };
type ListRules = { readonly minItems?: number; readonly maxItems?: number };

/** Integers are plain numbers where both bounds are known; beyond 2^53 they arrive as bigint. */
type Int64Of<R> = R extends { readonly minimum: number; readonly maximum: number } ? number : number | bigint;

/** A field of any schema, for what the builder has no word for. */
function field<T>(schema: StructuralSchema): Field<T> {
  return createField<T, false>(schema, false);
}

function createField<T, Required extends boolean>(schema: StructuralSchema, isRequired: Required): Field<T, Required> {
  return {
    schema,
    isRequired,
    describe: (text) => createField({ ...schema, description: text }, isRequired),
    deprecated: (advice) => createField({ ...schema, deprecation: advice }, isRequired),
    required: () => createField(schema, true),
    nullable: () => createField({ ...schema, nullable: true }, isRequired),
    default: (value) => createField({ ...schema, default: value }, isRequired),
  };
}

/** An object with these members and no others. `atomic`: appliers own it whole, not member by member. */
function object<const M extends Members>(members: M, { atomic = false } = {}): Field<ObjectOf<M>> {
  const entries = Object.entries(members);
  const required = entries.filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  return field({
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
    ...(atomic ? { "x-kubernetes-map-type": "atomic" } : {}),
  });
}

function array<T>(item: Field<T, boolean>, rules: ListRules, listType: StructuralSchema): Field<readonly T[]> {
  return field({ type: "array", items: item.schema, ...rules, ...listType });
}

/**
 * The words of a definition: each gives a field with its schema and its type. Fields are optional unless they are `required()`.
 *
 * @example
 * ```ts
 * import { s } from "@postern/kubernetes";
 *
 * export const fields = s.object({
 *   spec: s.object({
 *     size: s.int32({ minimum: 1 }).required().describe("How many."),
 *     color: s.string({ enum: ["red", "blue"] }).default("red").describe("The paint."),
 *     labels: s.map(s.string()),
 *   }),
 * });
 * ```
 */
export const s = {
  object,
  field,

  string: <const E extends string = string>(rules: StringRules<E> = {}) => field<E>({ type: "string", ...rules }),
  boolean: () => field<boolean>({ type: "boolean" }),
  int32: (rules: NumberRules = {}) => field<number>({ type: "integer", format: "int32", ...rules }),
  int64: <const R extends NumberRules = NumberRules>(rules?: R) =>
    field<Int64Of<R>>({ type: "integer", format: "int64", ...rules }),
  number: (rules: NumberRules = {}) => field<number>({ type: "number", format: "double", ...rules }),
  /** `80` or `"http"`. */
  intOrString: () => field<number | string>({ "x-kubernetes-int-or-string": true }),
  /** RFC 3339, or null for no time. */
  timestamp: () => field<Timestamp | null>({ type: "string", format: "date-time", nullable: true }),
  /** As `timestamp`, to the microsecond; of built-in kinds. */
  microTime: () => field<Timestamp | null>({ type: "string", format: "date-time", nullable: true, isMicroTime: true }),
  /** Bytes in base64. */
  bytes: () => field<string>({ type: "string", format: "byte" }),

  /** A list that is replaced whole. */
  list: <T>(item: Field<T, boolean>, rules: ListRules = {}): Field<readonly T[]> =>
    array(item, rules, { "x-kubernetes-list-type": "atomic" }),
  /** A list of scalars that holds each once; appliers own single items. */
  set: <T extends string | number | boolean>(item: Field<T, boolean>, rules: ListRules = {}): Field<readonly T[]> =>
    array(item, rules, { "x-kubernetes-list-type": "set" }),
  /** A list of objects distinguished by these members; appliers own members of single items. */
  listMap: <T>(
    item: Field<T, boolean>,
    keys: readonly (keyof T & string)[],
    rules: ListRules = {},
  ): Field<readonly T[]> => array(item, rules, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys }),
  /** Free keys, values of one kind. */
  map: <T>(value: Field<T, boolean>) =>
    field<{ readonly [key: string]: T }>({ type: "object", additionalProperties: value.schema }),

  /** An object kept as it is, whatever it holds. */
  anyObject: () => field<JsonObject>({ type: "object", "x-kubernetes-preserve-unknown-fields": true }),
  /** Any JSON value, kept as it is. */
  any: () => field<JsonValue>({ "x-kubernetes-preserve-unknown-fields": true }),
} as const;
