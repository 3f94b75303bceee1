// Prints JSON values as Go's verbs %v, %#v and %T print what encoding/json makes of them, for error texts.
// Source: https://pkg.go.dev/fmt

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

const entriesOf = (object: JsonObject): [string, JsonValue][] =>
  Object.keys(object)
    .sort()
    .map((name) => [name, object[name] ?? null]);

/** `%T`: `string`, `int64`, `map[string]interface {}`, … */
export function goTypeName(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (isJsonArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "bigint" ? "int64" : "string";
}

/** `%v`: `aoeu`, `[1 2]`, `map[a:1 b:x]`. */
export function formatGoPlain(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (isJsonArray(value)) return `[${value.map(formatGoPlain).join(" ")}]`;
  if (isJsonObject(value)) {
    return `map[${entriesOf(value)
      .map(([name, member]) => `${name}:${formatGoPlain(member)}`)
      .join(" ")}]`;
  }
  return String(value);
}

/** `%#v`: `"aoeu"`, `[]interface {}{1, 2}`, `map[string]interface {}{"a":1}`. */
export function formatGoSyntax(value: JsonValue): string {
  if (value === null) return "interface {}(nil)";
  if (isJsonArray(value)) return `[]interface {}{${value.map(formatGoSyntax).join(", ")}}`;
  if (isJsonObject(value)) {
    return `map[string]interface {}{${entriesOf(value)
      .map(([name, member]) => `${quoteGo(name)}:${formatGoSyntax(member)}`)
      .join(", ")}}`;
  }
  return typeof value === "string" ? quoteGo(value) : String(value);
}
