// Knowledge of the merge engine about a value: the forms it may take, and how its parts are owned and merged.
// Source: sigs.k8s.io/structured-merge-diff/schema/elements.go, typed/parser.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

export type ScalarKind = "string" | "numeric" | "boolean" | "untyped";

/** The forms a value may take; more than one where the form is deduced from the value itself. */
export type TypedSchema = {
  readonly scalar?: ScalarKind;
  readonly list?: ListSchema;
  readonly map?: MapSchema;
};

export type ListSchema = {
  readonly kind: "list";
  /** `atomic`: owned as a whole. `associative`: every item is owned, distinguished by `keys`, or as a set without keys. */
  readonly relationship: "atomic" | "associative";
  readonly keys: readonly string[];
  readonly element: TypedSchema;
};

export type MapSchema = {
  readonly kind: "map";
  /** `atomic`: owned as a whole. `granular`: every member has its own owners. */
  readonly relationship: "atomic" | "granular";
  readonly fields: ReadonlyMap<string, MapField>;
  /** The schema of members that `fields` does not name; undefined when there must be none. */
  readonly element?: TypedSchema;
};

export type MapField = { readonly schema: TypedSchema; readonly default?: JsonValue };

export const NO_FIELDS: ReadonlyMap<string, MapField> = new Map();

/** Anything, owned as a whole. */
export const ATOMIC: TypedSchema = {
  scalar: "untyped",
  list: {
    kind: "list",
    relationship: "atomic",
    keys: [],
    get element() {
      return ATOMIC;
    },
  },
  map: {
    kind: "map",
    relationship: "atomic",
    fields: NO_FIELDS,
    get element() {
      return ATOMIC;
    },
  },
};

/** Anything without a schema: maps granular, lists atomic, scalars leaves. */
export const DEDUCED: TypedSchema = {
  scalar: "untyped",
  list: { kind: "list", relationship: "atomic", keys: [], element: ATOMIC },
  map: {
    kind: "map",
    relationship: "granular",
    fields: NO_FIELDS,
    get element() {
      return DEDUCED;
    },
  },
};

/** One form of a schema: a map, a list, or a kind of scalar. */
export type ValueForm = MapSchema | ListSchema | ScalarKind;

/** The form in which to treat `value`: its own where the schema allows that, else the first that the schema has. */
export function formOf(schema: TypedSchema, value: JsonValue | undefined): ValueForm {
  if (value !== undefined && value !== null) {
    if (isJsonArray(value)) {
      if (schema.list !== undefined) return schema.list;
    } else if (isJsonObject(value)) {
      if (schema.map !== undefined) return schema.map;
    } else if (schema.scalar !== undefined) return schema.scalar;
  }
  return schema.map ?? schema.scalar ?? schema.list ?? "untyped";
}

/** The schema of a member; undefined when the map does not allow it. */
export const memberSchema = (map: MapSchema, name: string): TypedSchema | undefined =>
  map.fields.get(name)?.schema ?? map.element;
