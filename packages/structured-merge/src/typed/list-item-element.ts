// Tells the items of an associative list apart.
// Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go (listItemToPathElement)

import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { keyElement, type PathElement, valueElement } from "../fieldpath/path-element.ts";
import type { ListSchema } from "./typed-schema.ts";

/** The path element of an item; or, as `fault`, why it has none. */
export type ListItemElement =
  | { readonly element: PathElement; readonly fault?: undefined }
  | { readonly element?: undefined; readonly fault: string };

/** For an item of an associative list. Missing key fields take their default from the schema. */
export const listItemElement = (list: ListSchema, item: JsonValue): ListItemElement =>
  list.keys.length > 0 ? keyedElement(list, item) : setElement(item);

function keyedElement(list: ListSchema, item: JsonValue): ListItemElement {
  if (item === null) return { fault: "associative list with keys may not have a null element" };
  if (!isJsonObject(item)) return { fault: "associative list with keys may not have non-map elements" };
  const [only = ""] = list.keys;
  const text = list.keys.length === 1 ? keyValue(list, item, only) : undefined;
  // Most lists have one key, which is a text: long ones are gone through often.
  if (typeof text === "string") return { element: `k:{${JSON.stringify(only)}:${JSON.stringify(text)}}` };
  const keys: [string, JsonValue][] = [];
  for (const name of list.keys) {
    const value = keyValue(list, item, name);
    if (value !== undefined) keys.push([name, value]);
  }
  return keys.length === 0 ? { fault: missingKeysFault(list.keys) } : { element: keyElement(Object.fromEntries(keys)) };
}

/** Some keys may be missing, but not all of them. */
function missingKeysFault(keys: readonly string[]): string {
  const names = keys.map(quoteGo).join(" ");
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`;
}

function keyValue(list: ListSchema, item: JsonObject, name: string): JsonValue | undefined {
  const value = getMember(item, name);
  return value === undefined ? list.element.map?.fields.get(name)?.default : value;
}

function setElement(item: JsonValue): ListItemElement {
  if (isJsonArray(item)) return { fault: "not supported: associative list with lists as elements" };
  if (item === null) return { fault: "associative list without keys has an element that's an explicit null" };
  if (isJsonObject(item)) return { fault: "associative list without keys has an element that's a map type" };
  return { element: valueElement(item) };
}
