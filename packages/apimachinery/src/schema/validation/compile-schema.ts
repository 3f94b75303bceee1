// Prepares a schema for validation: patterns compiled, formats and types resolved, once.

import type { JsonValue } from "../../json/json-value.ts";
import { compilePattern, type Pattern } from "../pattern/pattern.ts";
import { PatternSyntaxError } from "../pattern/pattern-syntax.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { findStringFormat, type StringFormat } from "./string-formats.ts";

export type CompiledSchema = {
  readonly schema: StructuralSchema;
  /** JSON type names; empty where any type will do. */
  readonly types: readonly string[];
  /** A pattern that cannot be read matches nothing, and `fault` says why. */
  readonly pattern?: { readonly source: string; readonly test: Pattern["test"]; readonly fault?: string };
  readonly format?: StringFormat;
  readonly formatName: string;
  readonly enum: readonly JsonValue[];
  /** The values of `enum` that are texts: an object may have thousands of values, and an enum thousands of texts. */
  readonly enumTexts: ReadonlySet<JsonValue>;
  readonly properties: ReadonlyMap<string, CompiledSchema>;
  readonly values?: CompiledSchema;
  readonly items?: CompiledSchema;
  readonly allOf: readonly CompiledSchema[];
  readonly anyOf: readonly CompiledSchema[];
  readonly oneOf: readonly CompiledSchema[];
  readonly not?: CompiledSchema;
};

export function compileSchema(schema: StructuralSchema): CompiledSchema {
  const { pattern, items, additionalProperties, not } = schema;
  const format = findFormat(schema);
  return {
    schema,
    types: typesOf(schema),
    ...(pattern === undefined ? {} : { pattern: readPattern(pattern) }),
    ...(format.check === undefined ? {} : { format: format.check }),
    formatName: format.name,
    enum: schema.enum ?? [],
    enumTexts: new Set((schema.enum ?? []).filter((value) => typeof value === "string")),
    properties: new Map(
      Object.entries(schema.properties ?? {}).map(([name, property]) => [name, compileSchema(property)]),
    ),
    ...(typeof additionalProperties === "object" ? { values: compileSchema(additionalProperties) } : {}),
    ...(items === undefined ? {} : { items: compileSchema(items) }),
    allOf: (schema.allOf ?? []).map(compileSchema),
    anyOf: (schema.anyOf ?? []).map(compileSchema),
    oneOf: (schema.oneOf ?? []).map(compileSchema),
    ...(not === undefined ? {} : { not: compileSchema(not) }),
  };
}

function typesOf(schema: StructuralSchema): readonly string[] {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"];
  return schema.type === undefined ? [] : [schema.type];
}

/** Only formats that belong to the type count; any other name is documentation. */
function findFormat({ type, format = "" }: StructuralSchema): { name: string; check?: StringFormat } {
  if (type === "integer") return { name: format === "int32" || format === "int64" ? format : "" };
  if (type === "number") return { name: format === "float" || format === "double" ? format : "" };
  const check = type === undefined || type === "string" ? findStringFormat(format) : undefined;
  return check === undefined ? { name: "" } : { name: format, check };
}

function readPattern(source: string) {
  try {
    return { source, test: compilePattern(source).test };
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error;
    return { source, test: () => false, fault: error.message };
  }
}
