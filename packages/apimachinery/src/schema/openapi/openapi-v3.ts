// Writes a schema as a component of an OpenAPI v3 document.
// Source: https://spec.openapis.org/oas/v3.0.0, k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder

import { type JsonObject, type JsonValue, setMember } from "../../json/json-value.ts";
import type { GroupVersionKind } from "../../meta/group-version.ts";
import { StepPace, type Steps } from "../../steps/steps.ts";
import type { StructuralSchema } from "../structural-schema.ts";

export type OpenApiOptions = {
  /** Schemas that are components of their own, by identity: referred to by name, not repeated. */
  readonly components?: Pick<ReadonlyMap<StructuralSchema, string>, "get">;
  /** Written onto the root, where clients look for the kinds that a component describes. */
  readonly groupVersionKinds?: readonly GroupVersionKind[];
};

/** Descriptions of a type and of its members, by the name of the type in documents: undefined for one whose schema has them. */
export type DescriptionsOf = (component: string) => Descriptions | undefined;

export type Descriptions = {
  /** Absent: that of the schema. */
  readonly type?: string | undefined;
  /** Members that are not named keep that of their schema; those with an empty one have none. */
  readonly members: { readonly [name: string]: string };
};

/** How a document refers to a component. */
type Reference = (name: string, schema: StructuralSchema) => JsonObject;

/** Schemas inside one another that are written in one step. */
const SCHEMAS_PER_STEP = 1_000;

export const schemaPace = (): StepPace => new StepPace(SCHEMAS_PER_STEP);

/** Everything the schema says; a deprecation becomes a part of the description. */
export function toOpenApiV3(schema: StructuralSchema, options: OpenApiOptions = {}): Steps<JsonObject> {
  const refer: Reference = (name, part) => ({
    ...referenceMembers(part),
    allOf: [{ $ref: `#/components/schemas/${name}` }],
  });
  return writeRoot(schema, options, refer, schemaPace());
}

const OF_REFERENCES = ["description", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"] as const;

/** The members of a schema that are about its place, and not about its type. */
export const referenceMembers = (schema: StructuralSchema): StructuralSchema => ({
  ...Object.fromEntries(OF_REFERENCES.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]]))),
  // Types are atomic, or say nothing.
  ...(schema["x-kubernetes-map-type"] === "granular" ? { "x-kubernetes-map-type": "granular" } : {}),
});

export function* writeRoot(
  schema: StructuralSchema,
  options: OpenApiOptions,
  refer: Reference,
  pace: StepPace,
): Steps<JsonObject> {
  const { components = new Map(), groupVersionKinds } = options;
  const referTo = (part: StructuralSchema): JsonObject | undefined => {
    const name = part === schema ? undefined : components.get(part);
    return name === undefined ? undefined : refer(name, part);
  };
  const written = yield* writeSchema(schema, referTo, pace);
  if (groupVersionKinds === undefined) return written;
  const extension = groupVersionKinds.map(({ group, kind, version }) => ({ group, kind, version }));
  return { ...written, "x-kubernetes-group-version-kind": extension };
}

/** `referTo` returns a reference for a schema that is defined elsewhere. */
function* writeSchema(
  schema: StructuralSchema,
  referTo: (schema: StructuralSchema) => JsonObject | undefined,
  pace: StepPace,
): Steps<JsonObject> {
  if (pace.isOver()) yield;
  const reference = referTo(schema);
  if (reference !== undefined) return reference;
  const write = (part: StructuralSchema): Steps<JsonObject> => writeSchema(part, referTo, pace);
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
    isQuantity: _quantity,
    publishedRequired,
    ...plain
  } = schema;
  const description = describe(schema);
  const written: { [keyword: string]: JsonValue | undefined } = { ...plain };
  if (publishedRequired !== undefined) written["required"] = publishedRequired;
  if (description !== undefined) written["description"] = description;
  // Go's types have no empty list of properties, so that clients would not find the schema equal to what they make of it.
  if (properties !== undefined && Object.keys(properties).length > 0) {
    written["properties"] = yield* eachMember(properties, write);
  }
  if (additionalProperties !== undefined) {
    written["additionalProperties"] =
      typeof additionalProperties === "boolean" ? additionalProperties : yield* write(additionalProperties);
  }
  if (items !== undefined) written["items"] = yield* write(items);
  if (allOf !== undefined) written["allOf"] = yield* each(allOf, write);
  if (anyOf !== undefined) written["anyOf"] = yield* each(anyOf, write);
  if (oneOf !== undefined) written["oneOf"] = yield* each(oneOf, write);
  if (not !== undefined) written["not"] = yield* write(not);
  return written;
}

function* each<A, B>(parts: readonly A[], write: (part: A) => Steps<B>): Steps<B[]> {
  const written: B[] = [];
  for (const part of parts) written.push(yield* write(part));
  return written;
}

/** Fills the result as it goes: thousands of members at once would take as long as all else. */
export function* eachMember<B extends JsonObject | StructuralSchema>(
  schemas: { readonly [name: string]: StructuralSchema },
  write: (schema: StructuralSchema) => Steps<B>,
): Steps<{ [name: string]: B }> {
  const written: { [name: string]: B } = {};
  for (const name of Object.keys(schemas)) {
    const schema = schemas[name];
    if (schema !== undefined) setMember(written, name, yield* write(schema));
  }
  return written;
}

/** Kubernetes announces deprecations in the text of a field. */
function describe({ description, deprecation }: StructuralSchema): string | undefined {
  if (deprecation === undefined) return description;
  const notice = `Deprecated: ${deprecation}.`;
  return description === undefined ? notice : `${description} ${notice}`;
}
