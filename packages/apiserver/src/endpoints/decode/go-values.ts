// Normalizes values as Go's types do: empty values are omitted, null is the zero value, times and bytes have one form.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { canonicalQuantity } from "@postern/apimachinery/quantity/quantity";
import { type MemberChanges, withMemberChanges } from "@postern/apimachinery/schema/member-changes";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { parseGoTime } from "@postern/apimachinery/time/parse-go-time";

/** The Go values of a value without type faults. Returns the value itself if nothing changes. */
export function withGoValues(value: JsonValue, schema: StructuralSchema): JsonValue {
  if (schema.isQuantity === true) return goQuantity(value);
  if (typeof value === "string") return goText(value, schema);
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    let typed: JsonValue[] | undefined;
    for (const [index, item] of value.entries()) {
      const kept = item === null ? zeroOf(items) : withGoValues(item, items);
      if (kept === item) continue;
      typed ??= [...value];
      typed[index] = kept;
    }
    return typed ?? value;
  }
  return isJsonObject(value) ? withGoMembers(value, schema) : value;
}

/** A text in Go's form. */
function goQuantity(value: JsonValue): JsonValue {
  if (value === "") return "0";
  return isAmount(value) ? (canonicalQuantity(String(value)) ?? value) : value;
}

const isAmount = (value: JsonValue): boolean => ["string", "number", "bigint"].includes(typeof value);

function goText(text: string, { format, isMicroTime }: StructuralSchema): string {
  if (format === "byte") return Buffer.from(text, "base64").toString("base64");
  if (format !== "date-time") return text;
  const time = parseGoTime(text, isMicroTime === true ? "microsecond" : "second");
  return "text" in time ? time.text : text;
}

function withGoMembers(object: JsonObject, schema: StructuralSchema): JsonObject {
  const values = valueSchemaOf(schema);
  let changes: MemberChanges | undefined;
  for (const name of Object.keys(object)) {
    const member = object[name] ?? null;
    const property = propertyOf(schema, name);
    const declared = property ?? values;
    // Metadata has its form already.
    if (declared === undefined || name === "metadata") continue;
    const typed = member === null && property === undefined ? zeroOf(declared) : withGoValues(member, declared);
    const isDropped = property !== undefined && isLeftOut(typed, property);
    if (!isDropped && typed === member) continue;
    changes ??= new Map();
    changes.set(name, isDropped ? undefined : typed);
  }
  return withMemberChanges(object, changes);
}

/** Structs are written when they are empty, lists and maps are not. */
function isLeftOut(member: JsonValue, { type, properties, nullable, isQuantity }: StructuralSchema): boolean {
  if (member === null) return (type !== undefined || isQuantity === true) && nullable !== true;
  if (isJsonArray(member)) return member.length === 0;
  return isJsonObject(member) && properties === undefined && type === "object" && Object.keys(member).length === 0;
}

function zeroOf({ type, isQuantity }: StructuralSchema): JsonValue {
  if (isQuantity === true) return "0";
  switch (type) {
    case "object":
      return {};
    case "array":
      return [];
    case "string":
      return "";
    case "boolean":
      return false;
    case "integer":
    case "number":
      return 0;
    default:
      return null;
  }
}
