// Builds the schemas of objects and lists from the fields of a kind.

import type { KubeObject } from "../meta/object-meta.ts";
import { type Field, type Infer, s } from "./builder.ts";
import { listMetaSchema, objectMetaSchema } from "./object-meta-schema.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** A whole object of a kind, from the definition of its fields. */
export type KindOf<F extends Field<unknown, boolean>> = KubeObject & Infer<F>;

const apiVersionSchema = s
  .string()
  .describe(
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
  ).schema;

const kindNameSchema = s
  .string()
  .describe(
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
  ).schema;

/** Whatever is compiled from a schema is kept by the schema itself, so the same fields give the same one. */
const kindSchemas = new WeakMap<StructuralSchema, StructuralSchema>();

/** `fields` is the schema of `spec`, `status` and whatever else the kind has beside apiVersion, kind and metadata. */
export function kindSchema(fields: StructuralSchema): StructuralSchema {
  const known = kindSchemas.get(fields);
  if (known !== undefined) return known;
  const schema = completed(fields);
  kindSchemas.set(fields, schema);
  return schema;
}

function completed(fields: StructuralSchema): StructuralSchema {
  return {
    ...fields,
    type: "object",
    properties: {
      ...fields.properties,
      apiVersion: apiVersionSchema,
      kind: kindNameSchema,
      metadata: objectMetaSchema,
    },
  };
}

/** `item` is a schema made by `kindSchema`. */
export function listSchema(kind: string, item: StructuralSchema): StructuralSchema {
  return {
    type: "object",
    description: `A list of ${kind}.`,
    required: ["items"],
    properties: {
      apiVersion: apiVersionSchema,
      kind: kindNameSchema,
      metadata: listMetaSchema,
      items: { type: "array", items: item, description: "The objects, sorted by namespace and name." },
    },
  };
}
