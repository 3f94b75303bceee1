// The schemas of a set of resources, and their names in OpenAPI documents.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { kindSchema, listSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Descriptions, DescriptionsOf, OpenApiOptions } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { StepPace, type Steps } from "@postern/apimachinery/steps/steps";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { definitionName, META_PREFIX } from "./openapi-names.ts";
import { PUBLISHED_FORMS, SHARED_COMPONENTS, sharedKinds } from "./shared-schemas.ts";

export type Component = {
  readonly name: string;
  readonly schema: StructuralSchema;
  readonly kinds?: readonly GroupVersionKind[];
  /** Paths that field selectors may name, without the dot in front. */
  readonly selectableFields?: readonly string[];
  /** Each reference describes it: clients show both descriptions. */
  readonly isDescribedByReferences?: true;
};

/** Writes a schema in one version of OpenAPI. */
export type SchemaWriter = (schema: StructuralSchema, options: OpenApiOptions) => Steps<JsonObject>;

/** Finds the name of a schema that is a component of its own. */
export type SchemaNames = Pick<ReadonlyMap<StructuralSchema, string>, "get">;

export const componentNames = (components: readonly Component[]): SchemaNames =>
  new Map(components.map(({ name, schema }) => [schema, name]));

/** The components that all APIs share. `resources`: those whose versions options and events belong to. */
export function sharedComponents(resources: readonly ResourceDefinition[]): readonly Component[] {
  const kinds = sharedKinds(servedVersions(resources));
  return [...SHARED_COMPONENTS].map(([schema, name]) => {
    const own = kinds.get(schema);
    return { name, schema, ...(own === undefined ? {} : { kinds: own }) };
  });
}

function servedVersions(resources: readonly ResourceDefinition[]): readonly GroupVersion[] {
  const versions = new Map(resources.map(({ group, version }) => [`${group}/${version}`, { group, version }]));
  return [...versions.values()];
}

/** The kind, its list and what its subresources send and answer, the kind first so that none of them takes its name. */
export function ownComponents(resource: ResourceDefinition): readonly Component[] {
  const { group, version, kind, submit, subresources = [], selectableFields } = resource;
  const schema = kindSchema(resource.schema);
  const fields =
    selectableFields === undefined ? {} : { selectableFields: selectableFields.map((path) => path.replace(/^\./, "")) };
  const listKind = resource.listKind ?? `${kind}List`;
  const one = component({ group, version, kind }, schema);
  const list = component({ group, version, kind: listKind }, listSchema(kind, schema));
  return [
    { ...one, ...fields },
    ...(submit === undefined ? [{ ...list, ...fields }] : []),
    ...subresources.map((subresource) => component(subresource.kind, kindSchema(subresource.schema ?? {}))),
  ];
}

const component = (kind: GroupVersionKind, schema: StructuralSchema): Component => ({
  name: definitionName(kind),
  schema,
  kinds: [kind],
});

/** A component as a schema object. */
export function* writeComponent(
  { name, schema, kinds, selectableFields, isDescribedByReferences }: Component,
  names: SchemaNames,
  write: SchemaWriter,
  descriptions: DescriptionsOf,
): Steps<JsonObject> {
  const { description, ...whole } = yield* write(PUBLISHED_FORMS.get(schema) ?? schema, {
    components: names,
    ...(kinds === undefined ? {} : { groupVersionKinds: kinds }),
  });
  const other = descriptions(name);
  const own = other?.type ?? (isDescribedByReferences === true ? undefined : description);
  const written = describeMembers(own === undefined ? whole : { description: own, ...whole }, other);
  if (selectableFields === undefined) return written;
  return { ...written, "x-kubernetes-selectable-fields": selectableFields.map((fieldPath) => ({ fieldPath })) };
}

function describeMembers(written: JsonObject, descriptions: Descriptions | undefined): JsonObject {
  const { properties } = written;
  if (descriptions === undefined || !isJsonObject(properties)) return written;
  const described = Object.entries(properties).map(([name, member]) => {
    const description = Object.hasOwn(descriptions.members, name) ? descriptions.members[name] : undefined;
    if (description === undefined || !isJsonObject(member)) return [name, member];
    const { description: _, ...rest } = member;
    return [name, description === "" ? rest : { ...rest, description }];
  });
  return { ...written, properties: Object.fromEntries(described) };
}

/** Not referred to by any path, but looked up by clients. */
export const ALWAYS_PUBLISHED: readonly string[] = [`${META_PREFIX}WatchEvent`];

/** Values that are searched in one step. */
const SEARCHED_PER_STEP = 1_000;

/** The last parts of all `$ref` in a document, each once. */
export function* references(value: JsonValue | undefined): Steps<readonly string[]> {
  const found = new Set<string>();
  yield* collectReferences(value, found, new StepPace(SEARCHED_PER_STEP));
  return [...found];
}

function* collectReferences(value: JsonValue | undefined, found: Set<string>, pace: StepPace): Steps<void> {
  if (typeof value !== "object" || value === null) return;
  if (pace.isOver()) yield;
  for (const [name, member] of Object.entries(value)) {
    if (name === "$ref" && typeof member === "string") found.add(member.slice(member.lastIndexOf("/") + 1));
    else if (typeof member === "object") yield* collectReferences(member, found, pace);
  }
}
