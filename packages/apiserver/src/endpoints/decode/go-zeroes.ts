// Puts in the place of a null what Go's decoder leaves there: the zero value of the type, since its maps and lists cannot hold null.
// Source: encoding/json (Unmarshal), sigs.k8s.io/json

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";

/** Of a value without type faults. Fields that are null go, as they are absent in Go. The value itself where there is no null. */
export function withGoZeroes(value: JsonValue, schema: StructuralSchema): JsonValue {
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    const typed = value.map((item) => (item === null ? zeroOf(items) : withGoZeroes(item, items)));
    return typed.every((item, index) => item === value[index]) ? value : typed;
  }
  return isJsonObject(value) ? withoutNullMembers(value, schema) : value;
}

function withoutNullMembers(object: JsonObject, schema: StructuralSchema): JsonObject {
  const values = valueSchemaOf(schema);
  let isChanged = false;
  const members = Object.entries(object).flatMap(([name, member = null]): [string, JsonValue][] => {
    const property = propertyOf(schema, name);
    const declared = property ?? values;
    if (declared === undefined) return [[name, member]];
    const isZeroed = member === null && property === undefined;
    const typed = isZeroed ? zeroOf(declared) : withGoZeroes(member, declared);
    const isDropped = typed === null && declared.type !== undefined && declared.nullable !== true;
    isChanged ||= isDropped || typed !== member;
    return isDropped ? [] : [[name, typed]];
  });
  return isChanged ? Object.fromEntries(members) : object;
}

function zeroOf({ type }: StructuralSchema): JsonValue {
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
