// The types of objects that are described by a schema.
// Source: k8s.io/apiserver/pkg/cel/common/schemas.go (SchemaDeclType), pkg/cel/escaping.go

import { type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { type CelField, type CelType, readCelType } from "./cel-type.ts";
import { RESERVED_WORDS } from "./parse-cel.ts";

const STRING_FORMATS: { readonly [format: string]: CelType } = {
  byte: readCelType("bytes"),
  duration: readCelType("duration"),
  date: readCelType("timestamp"),
  "date-time": readCelType("timestamp"),
};

const SCALARS: { readonly [type: string]: CelType } = {
  boolean: readCelType("bool"),
  integer: readCelType("int"),
  number: readCelType("double"),
};

/** Every object has these, whatever its schema declares. */
export const RESOURCE_PROPERTIES: { readonly [name: string]: StructuralSchema } = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } },
};

export type SchemaTypeOptions = {
  /** The schema of a whole object, which has metadata. Default: false. */
  readonly isResourceRoot?: boolean;
  /** The type of parts that may have any members. Absent: they have those that the schema names, as rules of CustomResourceDefinitions see them. */
  readonly open?: CelType;
};

/** Undefined for parts that rules cannot see: those without a type, and lists and maps of them. */
export function celTypeOfSchema(
  schema: StructuralSchema,
  { isResourceRoot = false, ...options }: SchemaTypeOptions = {},
): CelType | undefined {
  const { open } = options;
  if (schema["x-kubernetes-int-or-string"] === true) return { kind: "dyn" };
  if (open !== undefined && (schema["x-kubernetes-preserve-unknown-fields"] === true || schema.type === undefined)) {
    return open;
  }
  const typeOfPart = (part: StructuralSchema): CelType | undefined =>
    celTypeOfSchema(part, { ...options, isResourceRoot: part["x-kubernetes-embedded-resource"] === true });
  const { type, format = "", items } = schema;
  switch (type) {
    case undefined:
      return undefined;
    case "array": {
      const of = items === undefined ? undefined : typeOfPart(items);
      if (of === undefined) return undefined;
      return { kind: "list", of, hasNulls: items?.nullable === true, ...identityOf(schema) };
    }
    case "object": {
      const values = valueSchemaOf(schema);
      if (values !== undefined) {
        const value = typeOfPart(values);
        if (value === undefined) return undefined;
        return { kind: "map", key: readCelType("string"), value, hasNulls: values.nullable === true };
      }
      const properties = { ...schema.properties, ...(isResourceRoot ? RESOURCE_PROPERTIES : {}) };
      if (open !== undefined && Object.keys(properties).length === 0) return open;
      const fields = Object.entries(properties).flatMap(([property, part]) => fieldOf(property, typeOfPart(part)));
      return { kind: "object", fields: new Map(fields) };
    }
    case "string":
      return (Object.hasOwn(STRING_FORMATS, format) ? STRING_FORMATS[format] : undefined) ?? readCelType("string");
    default:
      return SCALARS[type];
  }
}

function fieldOf(property: string, type: CelType | undefined): readonly (readonly [string, CelField])[] {
  const name = escapeCelName(property);
  if (type === undefined || name === undefined) return [];
  return [[name, { property, type }]];
}

function identityOf(schema: StructuralSchema): Pick<Extract<CelType, { readonly kind: "list" }>, "identity"> {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return { identity: "set" };
    case "map":
      return {
        identity: { keys: (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => escapeCelName(key) ?? key) },
      };
    default:
      return {};
  }
}

const ESCAPES: { readonly [text: string]: string } = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

const reservedName = (word: string): string => `__${word}__`;

/** A field by its name in an expression: that of a reserved word may be the word itself, as for `FindStructFieldType` of pkg/cel/types.go. */
export const fieldNamed = (fields: ReadonlyMap<string, CelField>, name: string): CelField | undefined =>
  fields.get(name) ?? (RESERVED_WORDS.has(name) ? fields.get(reservedName(name)) : undefined);

/** The name that expressions have for a property; undefined for one that they cannot name. */
export function escapeCelName(property: string): string | undefined {
  if (RESERVED_WORDS.has(property)) return reservedName(property);
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined;
  return property.replace(/__|[./-]/g, (text) => ESCAPES[text] ?? text);
}
