// Prints values as Go's %#v does: error texts of Kubernetes up to 1.33 show lists and maps that way.
// Source: https://pkg.go.dev/fmt (verb %#v)

import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { quoteGo } from "../text/go-quote.ts";

/** Values nested deeper print as `...`: no message needs them, and they could exhaust the stack. */
const MAX_DEPTH = 100;

/** A decoded JSON value, such as `map[string]interface {}{"a":[]interface {}{"b", 42}}`. Keys are sorted. */
export const formatGoValue = (value: JsonValue | undefined, mapType = "map[string]interface {}"): string =>
  formatNested(value, mapType, 0);

function formatNested(value: JsonValue | undefined, mapType: string, depth: number): string {
  if (value === null || value === undefined) return "interface {}(nil)";
  if (typeof value === "string") return quoteGo(value);
  if (depth > MAX_DEPTH) return "...";
  if (isJsonArray(value)) {
    return `[]interface {}{${value.map((item) => formatNested(item, mapType, depth + 1)).join(", ")}}`;
  }
  if (isJsonObject(value)) {
    const members = Object.keys(value).sort();
    const texts = members.map((name) => `${quoteGo(name)}:${formatNested(value[name], mapType, depth + 1)}`);
    return `${mapType}{${texts.join(", ")}}`;
  }
  return String(value);
}

/** `[]string{"a", "b"}` */
export const formatGoStrings = (values: readonly string[]): string => `[]string{${values.map(quoteGo).join(", ")}}`;

/** A timestamp as Go's time.Time prints: `2023-11-14 22:30:00 +0000 UTC`. Text that is no time is quoted. */
export function formatGoTime(timestamp: string): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return quoteGo(timestamp);
  return `${time.toISOString().slice(0, 19).replace("T", " ")} +0000 UTC`;
}

/** A float as Go's %v prints it: `0.5`, and with an exponent from a million on, `1e+06`. */
export function formatGoFloat(value: number): string {
  const [digits = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
