// Writes a schema as a definition of an OpenAPI v2 document, without what v2 and its clients cannot hold.
// Source: k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go

import type { JsonObject } from "../json/json-value.ts";
import { type OpenApiOptions, writeRoot } from "./openapi-v3.ts";
import { propertyOf, type StructuralSchema } from "./structural-schema.ts";

export function toOpenApiV2(schema: StructuralSchema, options: OpenApiOptions = {}): JsonObject {
  const { components = new Map<StructuralSchema, string>() } = options;
  // Reduced schemas are new objects, so that each component is followed as a stub that stands for it.
  const renamed = new Map<StructuralSchema, string>();
  const reducePart = (part: StructuralSchema): StructuralSchema => {
    const name = components.get(part);
    if (name === undefined) return reduce(part, reducePart);
    const stub: StructuralSchema = part.description === undefined ? {} : { description: part.description };
    renamed.set(stub, name);
    return stub;
  };
  return writeRoot(reduce(schema, reducePart), { ...options, components: renamed }, (name, { description }) => ({
    ...(description === undefined ? {} : { description }),
    $ref: `#/definitions/${name}`,
  }));
}

/**
 * One level of the schema in v2 terms; parts go through `reducePart`. Combinations are left out. A nullable value has no
 * type, since clients would refuse null. Clients take declared members for the only ones, so that an object that keeps
 * unknown ones declares none.
 */
function reduce(schema: StructuralSchema, reducePart: (part: StructuralSchema) => StructuralSchema): StructuralSchema {
  const { allOf, anyOf, oneOf, not, nullable, type, properties, items, additionalProperties, required, ...rest } =
    schema;
  const isFree = nullable === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const stillRequired = (required ?? []).filter((name) => propertyOf(schema, name)?.nullable !== true);
  return {
    ...rest,
    ...(type === undefined || nullable === true ? {} : { type }),
    ...(stillRequired.length === 0 || nullable === true ? {} : { required: stillRequired }),
    ...(properties === undefined || isFree
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, reducePart(part)])),
        }),
    ...(items === undefined || isFree ? {} : { items: reducePart(items) }),
    ...(additionalProperties === undefined || nullable === true
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === "boolean" ? additionalProperties : reducePart(additionalProperties),
        }),
  };
}
