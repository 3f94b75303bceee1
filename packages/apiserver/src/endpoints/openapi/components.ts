// The schemas of a set of resources, and their names in OpenAPI documents.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { kindSchema, listSchema } from "@postern/apimachinery/schema/kind-schema";
import type { OpenApiOptions } from "@postern/apimachinery/schema/openapi-v3";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { definitionName, META_PREFIX } from "./openapi-names.ts";
import { SHARED_COMPONENTS, sharedKinds } from "./shared-schemas.ts";

export type Component = {
  readonly name: string;
  readonly schema: StructuralSchema;
  readonly kinds?: readonly GroupVersionKind[];
  /** Paths that field selectors may name, without the dot in front. */
  readonly selectableFields?: readonly string[];
};

/** Writes a schema in one version of OpenAPI. */
export type SchemaWriter = (schema: StructuralSchema, options: OpenApiOptions) => JsonObject;

/** The components of all resources, by name, each once. */
export function openApiComponents(resources: readonly ResourceDefinition[]): readonly Component[] {
  const components = new Map<string, Component>();
  const kinds = sharedKinds(servedVersions(resources));
  for (const [schema, name] of SHARED_COMPONENTS) {
    const own = kinds.get(schema);
    components.set(name, { name, schema, ...(own === undefined ? {} : { kinds: own }) });
  }
  for (const component of resources.flatMap(resourceComponents)) {
    if (!components.has(component.name)) components.set(component.name, component);
  }
  return [...components.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function servedVersions(resources: readonly ResourceDefinition[]): readonly GroupVersion[] {
  const versions = new Map(resources.map(({ group, version }) => [`${group}/${version}`, { group, version }]));
  return [...versions.values()];
}

/** The kind, its list and what its subresources send and answer, the kind first so that none of them takes its name. */
function resourceComponents(resource: ResourceDefinition): readonly Component[] {
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

/** Every component as a schema object, by name. */
export function writeComponents(
  components: readonly Component[],
  write: SchemaWriter,
): ReadonlyMap<string, JsonObject> {
  const names = new Map(components.map(({ name, schema }) => [schema, name]));
  return new Map(
    components.map(({ name, schema, kinds, selectableFields }) => [
      name,
      {
        ...write(schema, { components: names, ...(kinds === undefined ? {} : { groupVersionKinds: kinds }) }),
        ...(selectableFields === undefined
          ? {}
          : { "x-kubernetes-selectable-fields": selectableFields.map((fieldPath) => ({ fieldPath })) }),
      },
    ]),
  );
}

/** Not referred to by any path, but looked up by clients. */
const ALWAYS_PUBLISHED = [`${META_PREFIX}WatchEvent`];

/** The components that `document` refers to, and those that they refer to, sorted by name. */
export function referredComponents(
  document: JsonValue,
  components: ReadonlyMap<string, JsonObject>,
): { readonly [name: string]: JsonObject } {
  const found = new Map<string, JsonObject>();
  const pending = [...ALWAYS_PUBLISHED, ...references(document)];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const schema = components.get(name);
    if (schema === undefined || found.has(name)) continue;
    found.set(name, schema);
    pending.push(...references(schema));
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The last parts of all `$ref` in a document. */
function references(value: JsonValue | undefined): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "$ref" && typeof member === "string" ? [member.slice(member.lastIndexOf("/") + 1)] : references(member),
  );
}
