// Derives how values are owned and merged from the structural schema that describes them.
// Source: k8s.io/kube-openapi/pkg/schemaconv/openapi.go

import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { OBJECT_FIELDS } from "./object-meta-schema.ts";
import {
  ATOMIC,
  DEDUCED,
  type ListSchema,
  type MapField,
  type MapSchema,
  type ScalarKind,
  type TypedSchema,
} from "./typed-schema.ts";

/** The schema of a whole object: its own members, and those of every object. Without a structural schema all is deduced. */
export function objectSchemaFrom(structural: StructuralSchema | undefined): TypedSchema {
  const map = structural === undefined ? DEDUCED.map : typedSchemaFrom(structural).map;
  if (map === undefined) return DEDUCED;
  return { map: { ...map, fields: new Map([...map.fields, ...OBJECT_FIELDS]) } };
}

/** `x-kubernetes-preserve-unknown-fields` is inherited by everything below, as upstream has it. */
export function typedSchemaFrom(structural: StructuralSchema, preserveInherited = false): TypedSchema {
  const preserve = structural["x-kubernetes-preserve-unknown-fields"] ?? preserveInherited;
  if (structural["x-kubernetes-int-or-string"] === true) return { scalar: "untyped" };
  switch (structural.type) {
    case "object":
      return { map: mapFrom(structural, preserve) };
    case "array":
      return { list: listFrom(structural, preserve) };
    case undefined:
      return structural["x-kubernetes-map-type"] === "atomic" ? ATOMIC : DEDUCED;
    default:
      return { scalar: scalarKind(structural.type, structural.format) };
  }
}

function scalarKind(type: "string" | "integer" | "number" | "boolean", format: string | undefined): ScalarKind {
  if (type === "boolean") return "boolean";
  if (type !== "string") return "numeric";
  // A string with a format, such as date-time, may be of any scalar type in Go.
  return format === undefined || format === "" || format === "byte" ? "string" : "untyped";
}

function mapFrom(structural: StructuralSchema, preserve: boolean): MapSchema {
  const fields = new Map<string, MapField>(structural["x-kubernetes-embedded-resource"] === true ? OBJECT_FIELDS : []);
  for (const [name, property] of Object.entries(structural.properties ?? {})) {
    if (name === "metadata" && fields.has(name)) continue;
    const schema = typedSchemaFrom(property, preserve);
    fields.set(name, property.default === undefined ? { schema } : { schema, default: property.default });
  }
  const element = elementOf(structural, fields.size > 0, preserve);
  return {
    kind: "map",
    relationship: structural["x-kubernetes-map-type"] === "atomic" ? "atomic" : "granular",
    fields,
    ...(element === undefined ? {} : { element }),
  };
}

/** The schema of undeclared members: an object that declares none at all is free-form. */
function elementOf(structural: StructuralSchema, hasFields: boolean, preserve: boolean): TypedSchema | undefined {
  const { additionalProperties } = structural;
  if (typeof additionalProperties === "object") return typedSchemaFrom(additionalProperties, preserve);
  if (additionalProperties === true) return DEDUCED;
  if (additionalProperties === false) return undefined;
  return preserve || !hasFields ? DEDUCED : undefined;
}

function listFrom(structural: StructuralSchema, preserve: boolean): ListSchema {
  const element = structural.items === undefined ? DEDUCED : typedSchemaFrom(structural.items, preserve);
  return { kind: "list", element, ...listRelationship(structural) };
}

type ListRelationship = Pick<ListSchema, "relationship" | "keys">;

const ATOMIC_LIST: ListRelationship = { relationship: "atomic", keys: [] };

function listRelationship(structural: StructuralSchema): ListRelationship {
  switch (structural["x-kubernetes-list-type"]) {
    case "map":
      return { relationship: "associative", keys: structural["x-kubernetes-list-map-keys"] ?? [] };
    case "set":
      return { relationship: "associative", keys: [] };
    case "atomic":
      return ATOMIC_LIST;
    default:
      return patchStrategyRelationship(structural);
  }
}

/** The built-in kinds say by their patch strategy what others say by their list type. */
function patchStrategyRelationship(structural: StructuralSchema): ListRelationship {
  const strategies = structural["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  if (!strategies.includes("merge")) return ATOMIC_LIST;
  const key = structural["x-kubernetes-patch-merge-key"];
  return { relationship: "associative", keys: key === undefined ? [] : [key] };
}
