// Writes a schema as a definition of an OpenAPI v2 document, without what v2 and its clients cannot hold.
// Source: k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go

import type { JsonObject } from "../../json/json-value.ts";
import type { StepPace, Steps } from "../../steps/steps.ts";
import { propertyOf, type StructuralSchema } from "../structural-schema.ts";
import { eachMember, type OpenApiOptions, referenceMembers, schemaPace, writeRoot } from "./openapi-v3.ts";

export function* toOpenApiV2(schema: StructuralSchema, options: OpenApiOptions = {}): Steps<JsonObject> {
  const { components = new Map<StructuralSchema, string>() } = options;
  // Reduced schemas are new objects, so that each component is followed as its stub.
  const renamed = new Map<StructuralSchema, string>();
  const pace = schemaPace();
  const reducePart = function* (part: StructuralSchema): Steps<StructuralSchema> {
    const name = components.get(part);
    if (name === undefined) return yield* reduce(part, reducePart, pace);
    const stub = referenceMembers(part);
    renamed.set(stub, name);
    return stub;
  };
  // As upstream: kubectl would take whatever else is said of it for all that there may be.
  const root: StructuralSchema = schema["x-kubernetes-preserve-unknown-fields"] === true ? { type: "object" } : schema;
  const reduced = yield* reduce(root, reducePart, pace);
  const refer = (name: string, part: StructuralSchema): JsonObject => ({
    ...referenceMembers(part),
    $ref: `#/definitions/${name}`,
  });
  return yield* writeRoot(reduced, { ...options, components: renamed }, refer, pace);
}

/**
 * One level of the schema in v2 terms; parts go through `reducePart`. Combinations are left out. A nullable value has no
 * type, since clients would refuse null. Clients take declared members for the only ones, so that an object that keeps
 * unknown ones declares none.
 */
function* reduce(
  schema: StructuralSchema,
  reducePart: (part: StructuralSchema) => Steps<StructuralSchema>,
  pace: StepPace,
): Steps<StructuralSchema> {
  if (pace.isOver()) yield;
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
          properties: yield* eachMember(properties, reducePart),
        }),
    ...(items === undefined || isFree ? {} : { items: yield* reducePart(items) }),
    ...(additionalProperties === undefined || nullable === true
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === "boolean" ? additionalProperties : yield* reducePart(additionalProperties),
        }),
  };
}
