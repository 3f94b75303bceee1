// The maximum size of values of a schema in one request.
// Source: k8s.io/apiserver/pkg/cel/common/schemas.go, pkg/cel/limits.go

import { type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { escapeCelName, RESOURCE_PROPERTIES } from "./schema-type.ts";

export type SizeLimits = {
  /** Most items, entries or bytes of text; 0 for a value without a size. */
  readonly max: number;
  /** Fewest bytes of its JSON. */
  readonly minBytes: number;
  /** By the name that expressions have for them. */
  readonly fields: Pick<ReadonlyMap<string, SizeLimits>, "get">;
  /** Items of a list, or values of a map. */
  readonly items?: SizeLimits;
  readonly keys?: SizeLimits;
};

export const MAX_REQUEST_BYTES = 3 * 1024 * 1024;
/** Without the quotes, brackets or braces around it. */
const MAX_CONTENT = MAX_REQUEST_BYTES - 2;

const NO_FIELDS: ReadonlyMap<string, SizeLimits> = new Map();
const scalar = (minBytes: number, max = 0): SizeLimits => ({ max, minBytes, fields: NO_FIELDS });

const FORMATS: { readonly [format: string]: SizeLimits } = {
  duration: scalar(3, 32),
  date: scalar(12, 12),
  "date-time": scalar(21, 32),
};

/** Undefined for what rules cannot see. */
export function sizeLimitsOf(schema: StructuralSchema, isResourceRoot: boolean): SizeLimits | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) return scalar(1, maxTextBytes(schema));
  switch (schema.type) {
    case "array": {
      const items = schema.items && limitsOfPart(schema.items);
      if (items === undefined) return undefined;
      const max = schema.maxItems ?? Math.floor(MAX_CONTENT / (items.minBytes + 1));
      return { max: Math.max(0, max), minBytes: 2, fields: NO_FIELDS, items };
    }
    case "object":
      return valueSchemaOf(schema) === undefined ? limitsOfObject(schema, isResourceRoot) : limitsOfMap(schema);
    case "string":
      return limitsOfText(schema);
    case "boolean":
      return scalar(4);
    case "number":
    case "integer":
      return scalar(1);
    default:
      return undefined;
  }
}

const limitsOfPart = (schema: StructuralSchema): SizeLimits | undefined =>
  sizeLimitsOf(schema, schema["x-kubernetes-embedded-resource"] === true);

function limitsOfMap(schema: StructuralSchema): SizeLimits | undefined {
  const values = valueSchemaOf(schema);
  const items = values && limitsOfPart(values);
  if (items === undefined) return undefined;
  // A key of two quotes, a colon and a comma at least.
  const max = schema.maxProperties ?? Math.floor(MAX_CONTENT / (items.minBytes + 6));
  return { max: Math.max(0, max), minBytes: 2, fields: NO_FIELDS, items, keys: scalar(2) };
}

function limitsOfObject({ properties, required = [] }: StructuralSchema, isResourceRoot: boolean): SizeLimits {
  const fields = new Map<string, SizeLimits>();
  let minBytes = 2;
  for (const [name, property] of Object.entries({ ...properties, ...(isResourceRoot ? RESOURCE_PROPERTIES : {}) })) {
    const limits = limitsOfPart(property);
    if (limits === undefined) continue;
    const escaped = escapeCelName(name);
    if (escaped !== undefined) fields.set(escaped, limits);
    const isDue = required.includes(name) && property.default === undefined;
    if (isDue) minBytes += Buffer.byteLength(name) + limits.minBytes + 4;
  }
  return { max: 0, minBytes, fields };
}

function limitsOfText(schema: StructuralSchema): SizeLimits {
  const { format = "", maxLength, enum: values = [] } = schema;
  if (format === "byte") return scalar(2, maxLength ?? MAX_CONTENT);
  const known = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (known !== undefined) return known;
  if (maxLength !== undefined || values.length === 0) return scalar(2, maxTextBytes(schema));
  return scalar(2, Math.max(...values.map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0))));
}

/** A character has four bytes at most. */
const maxTextBytes = ({ maxLength }: StructuralSchema): number =>
  maxLength === undefined ? MAX_CONTENT : Math.max(0, maxLength) * 4;
