// The types of objects that are described by a schema.
// Source: k8s.io/apiserver/pkg/cel/common/schemas.go (SchemaDeclType), pkg/cel/escaping.go

import { type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { type CelField, type CelType, readCelType } from "./cel-type.ts";

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

/** Every object has these, whatever its schema says of them. */
export const RESOURCE_PROPERTIES: { readonly [name: string]: StructuralSchema } = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } },
};

/** Undefined for what rules cannot see: what has no type, and lists and maps of it. */
export function celTypeOfSchema(schema: StructuralSchema, isResourceRoot: boolean): CelType | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) return { kind: "dyn" };
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
      return { kind: "object", fields: new Map(Object.entries(properties).flatMap(fieldOf)) };
    }
    case "string":
      return (Object.hasOwn(STRING_FORMATS, format) ? STRING_FORMATS[format] : undefined) ?? readCelType("string");
    default:
      return SCALARS[type];
  }
}

const typeOfPart = (schema: StructuralSchema): CelType | undefined =>
  celTypeOfSchema(schema, schema["x-kubernetes-embedded-resource"] === true);

function fieldOf([property, schema]: readonly [string, StructuralSchema]): readonly (readonly [string, CelField])[] {
  const type = typeOfPart(schema);
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

const KEYWORDS = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);
const ESCAPES: { readonly [text: string]: string } = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The name that expressions have for a property; undefined for one that they cannot name. */
export function escapeCelName(property: string): string | undefined {
  if (KEYWORDS.has(property)) return `__${property}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined;
  return property.replace(/__|[./-]/g, (text) => ESCAPES[text] ?? text);
}
