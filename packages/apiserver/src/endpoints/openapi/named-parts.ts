// The types that the schemas of built-in kinds hold, such as PodSpec: components of their own, as upstream publishes them. Clients show their names,
// and a document has each once. Their names are those of the protobuf messages.

import { isDeepStrictEqual } from "node:util";
import { heldMessages, messageNameOf } from "@postern/apimachinery/protobuf/kubernetes-messages";
import { referenceMembers, toOpenApiV3 } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { runSteps } from "@postern/apimachinery/steps/steps";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { META_PREFIX, typePrefix } from "./openapi-names.ts";

export type NamedParts = {
  /** Each name once. */
  readonly components: ReadonlyMap<string, StructuralSchema>;
  /** Also of schemas that only differ from their component in what a reference says. */
  readonly names: ReadonlyMap<StructuralSchema, string>;
};

/** `isTaken`: schemas that have a name already are not looked into. */
export function namedParts(
  resources: readonly ResourceDefinition[],
  isTaken: (schema: StructuralSchema) => boolean,
): NamedParts {
  const found = new Map<StructuralSchema, Set<string>>();

  function look(schema: StructuralSchema, message: string): void {
    const held = heldMessages(message);
    for (const [member, property] of Object.entries(schema.properties ?? {})) {
      const part = partOf(property);
      const type = held.get(member) ?? formOf(part);
      if (type !== undefined) add(part, type);
    }
  }

  function add(schema: StructuralSchema, message: string): void {
    const isType = schema.properties !== undefined || formOf(schema) !== undefined;
    if (!isType || schema.nullable === true || isTaken(schema)) return;
    const known = found.get(schema);
    if (known?.has(message) === true) return;
    found.set(schema, (known ?? new Set()).add(message));
    look(schema, message);
  }

  for (const { group, version, kind, schema } of resources) {
    const message = messageNameOf(group === "" ? version : `${group}/${version}`, kind);
    if (message !== undefined) look(schema, message);
  }

  const components = new Map<string, StructuralSchema>();
  const names = new Map<StructuralSchema, string>();
  for (const [schema, [message, ...others]] of found) {
    // One schema for several types stays where it is.
    if (message === undefined || others.length > 0) continue;
    const name = typeName(message);
    const component = FORMS[name] ?? components.get(name) ?? schema;
    if (!(name in FORMS) && !isSameType(schema, component)) continue;
    components.set(name, component);
    names.set(schema, name);
  }
  return { components, names };
}

const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/** Types that are no objects, by their full names, as upstream publishes them. */
const FORMS: { readonly [name: string]: StructuralSchema } = {
  [QUANTITY]: { oneOf: [{ type: "string" }, { type: "number" }] },
  [INT_OR_STRING]: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
};

const formOf = (schema: StructuralSchema): string | undefined =>
  schema.isQuantity === true ? QUANTITY : schema["x-kubernetes-int-or-string"] === true ? INT_OR_STRING : undefined;

/** The schema of the elements of a list or a map. */
function partOf(schema: StructuralSchema): StructuralSchema {
  const { items, additionalProperties } = schema;
  if (items !== undefined) return partOf(items);
  return typeof additionalProperties === "object" ? partOf(additionalProperties) : schema;
}

function typeName(message: string): string {
  if (message in FORMS) return message;
  const [group = "", version = "", type = ""] = message.split(".");
  return group === "meta" ? `${META_PREFIX}${type}` : `${typePrefix(group)}.${version}.${type}`;
}

/** Whether they are published alike, but for what references say. */
function isSameType(a: StructuralSchema, b: StructuralSchema): boolean {
  if (a === b) return true;
  const ofReference = { ...referenceMembers(a), ...referenceMembers(b) };
  const published = (schema: StructuralSchema) =>
    Object.fromEntries(Object.entries(runSteps(toOpenApiV3(schema))).filter(([name]) => !(name in ofReference)));
  return isDeepStrictEqual(published(a), published(b));
}
