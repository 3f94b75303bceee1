// The ownership and merge rules of ObjectMeta, which are the same for every kind.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (the list and map types of ObjectMeta)

import { ATOMIC, type MapField, NO_FIELDS, type TypedSchema } from "./typed-schema.ts";

const STRING: TypedSchema = { scalar: "string" };
const NUMERIC: TypedSchema = { scalar: "numeric" };
const BOOLEAN: TypedSchema = { scalar: "boolean" };
/** Timestamps are strings to JSON, but of a type of their own to Go. */
const TIME: TypedSchema = { scalar: "untyped" };

export const fields = (schemas: { readonly [name: string]: TypedSchema }): ReadonlyMap<string, MapField> =>
  new Map(Object.entries(schemas).map(([name, schema]) => [name, { schema }]));

const STRING_MAP: TypedSchema = {
  map: { kind: "map", relationship: "granular", fields: NO_FIELDS, element: STRING },
};

const OWNER_REFERENCE: TypedSchema = {
  map: {
    kind: "map",
    relationship: "atomic",
    fields: fields({
      apiVersion: STRING,
      kind: STRING,
      name: STRING,
      uid: STRING,
      controller: BOOLEAN,
      blockOwnerDeletion: BOOLEAN,
    }),
  },
};

const OBJECT_META_SCHEMA: TypedSchema = {
  map: {
    kind: "map",
    relationship: "granular",
    fields: fields({
      name: STRING,
      generateName: STRING,
      namespace: STRING,
      selfLink: STRING,
      uid: STRING,
      resourceVersion: STRING,
      generation: NUMERIC,
      creationTimestamp: TIME,
      deletionTimestamp: TIME,
      deletionGracePeriodSeconds: NUMERIC,
      labels: STRING_MAP,
      annotations: STRING_MAP,
      ownerReferences: {
        list: { kind: "list", relationship: "associative", keys: ["uid"], element: OWNER_REFERENCE },
      },
      finalizers: { list: { kind: "list", relationship: "associative", keys: [], element: STRING } },
      managedFields: { list: { kind: "list", relationship: "atomic", keys: [], element: ATOMIC } },
    }),
  },
};

/** The members that every object has whatever its kind. */
export const OBJECT_FIELDS: ReadonlyMap<string, MapField> = new Map([
  ["apiVersion", { schema: STRING }],
  ["kind", { schema: STRING }],
  ["metadata", { schema: OBJECT_META_SCHEMA }],
]);
