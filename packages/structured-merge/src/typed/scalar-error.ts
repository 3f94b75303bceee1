// Tells whether a value is the scalar that a schema asks for.
// Source: sigs.k8s.io/structured-merge-diff/typed/validate.go (validateScalar)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { formatGoPlain, formatGoSyntax, goTypeName } from "./format-go-value.ts";
import type { ScalarKind } from "./typed-schema.ts";

/** The fault as text; undefined for a fitting value. Null fits every kind. */
export function scalarError(kind: ScalarKind, value: JsonValue): string | undefined {
  if (value === null) return undefined;
  switch (kind) {
    case "numeric":
      if (typeof value === "number" || typeof value === "bigint") return undefined;
      return `expected numeric (int or float), got ${goTypeName(value)}`;
    case "string":
      if (typeof value === "string") return undefined;
      return `expected string, got &value.valueUnstructured{Value:${formatGoSyntax(value)}}`;
    case "boolean":
      if (typeof value === "boolean") return undefined;
      return `expected boolean, got &{${formatGoPlain(value)}}`;
    case "untyped":
      return typeof value === "object" ? `expected any scalar, got &{${formatGoPlain(value)}}` : undefined;
  }
}
