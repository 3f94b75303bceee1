// Writes a schema as a component of an OpenAPI v3 document.
// Source: https://spec.openapis.org/oas/v3.0.0, k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder

import type { JsonObject, JsonValue } from "../json/json-value.ts";
import type { GroupVersionKind } from "../meta/group-version.ts";
import type { StructuralSchema } from "./structural-schema.ts";

export type OpenApiOptions = {
  /** Schemas that are components of their own, by identity: referred to by name, not repeated. */
  readonly components?: Pick<ReadonlyMap<StructuralSchema, string>, "get">;
  /** Written onto the root, where clients look for the kinds that a component describes. */
  readonly groupVersionKinds?: readonly GroupVersionKind[];
};

/** How a document refers to a component. */
type Reference = (name: string, schema: StructuralSchema) => JsonObject;

/** Everything the schema says; a deprecation becomes a part of the description. */
export function toOpenApiV3(schema: StructuralSchema, options: OpenApiOptions = {}): JsonObject {
  const refer: Reference = (name, { description }) => ({
    ...(description === undefined ? {} : { description }),
    allOf: [{ $ref: `#/components/schemas/${name}` }],
  });
  return writeRoot(schema, options, refer);
}

export function writeRoot(schema: StructuralSchema, options: OpenApiOptions, refer: Reference): JsonObject {
  const { components = new Map(), groupVersionKinds } = options;
  const written = writeSchema(schema, (part) => {
    const name = part === schema ? undefined : components.get(part);
    return name === undefined ? undefined : refer(name, part);
  });
  if (groupVersionKinds === undefined) return written;
  const extension = groupVersionKinds.map(({ group, kind, version }) => ({ group, kind, version }));
  return { ...written, "x-kubernetes-group-version-kind": extension };
}

/** `referTo` returns a reference for a schema that is defined elsewhere. */
function writeSchema(
  schema: StructuralSchema,
  referTo: (schema: StructuralSchema) => JsonObject | undefined,
): JsonObject {
  const reference = referTo(schema);
  if (reference !== undefined) return reference;
  const write = (part: StructuralSchema): JsonObject => writeSchema(part, referTo);
  const {
    properties,
    additionalProperties,
    items,
    allOf,
    anyOf,
    oneOf,
    not,
    deprecation,
    isMicroTime: _,
    ...plain
  } = schema;
  const description = describe(schema);
  const written: { [keyword: string]: JsonValue | undefined } = { ...plain };
  if (description !== undefined) written["description"] = description;
  if (properties !== undefined) {
    written["properties"] = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, write(part)]));
  }
  if (additionalProperties !== undefined) {
    written["additionalProperties"] =
      typeof additionalProperties === "boolean" ? additionalProperties : write(additionalProperties);
  }
  if (items !== undefined) written["items"] = write(items);
  if (allOf !== undefined) written["allOf"] = allOf.map(write);
  if (anyOf !== undefined) written["anyOf"] = anyOf.map(write);
  if (oneOf !== undefined) written["oneOf"] = oneOf.map(write);
  if (not !== undefined) written["not"] = write(not);
  return written;
}

/** Kubernetes announces deprecations in the text of a field. */
function describe({ description, deprecation }: StructuralSchema): string | undefined {
  if (deprecation === undefined) return description;
  const notice = `Deprecated: ${deprecation}.`;
  return description === undefined ? notice : `${description} ${notice}`;
}
