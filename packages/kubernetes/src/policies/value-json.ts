// CEL values as JSON, for patches that expressions make.
// Source: k8s.io/apiserver/pkg/cel/mutation/dynamic/objects.go, github.com/google/cel-go/common/types (ConvertToNative)

import { type JsonValue, type MutableJsonObject, setMember } from "@postern/apimachinery/json/json-value";
import {
  CelEvaluationError,
  CelList,
  CelMap,
  CelMessage,
  CelUint,
  type CelValue,
  typeNameOf,
} from "@postern/cel/cel-value";

/** The type of an operation of a JSON patch; all others are types of objects. */
const JSON_PATCH = "JSONPatch";

/**
 * `path`: the type that an object here has to have, which is the path of fields to it. Absent: any. Throws CelEvaluationError for an object of another
 * type, and for a value that JSON does not have.
 */
export function jsonOfValue(value: CelValue, path?: string): JsonValue {
  if (value === null || typeof value === "boolean" || typeof value === "string" || typeof value === "number")
    return value;
  if (typeof value === "bigint") return jsonNumber(value);
  if (value instanceof CelUint) return jsonNumber(value.value);
  if (value instanceof CelList) return value.items.map((item) => jsonOfValue(item, path));
  if (value instanceof CelMessage) return jsonOfMessage(value, path);
  if (value instanceof CelMap) return jsonOfMap(value, path);
  throw new CelEvaluationError(`unsupported conversion of ${typeNameOf(value)} to JSON`);
}

const jsonNumber = (value: bigint): JsonValue => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

function jsonOfMessage({ typeName, fields }: CelMessage, path: string | undefined): JsonValue {
  const isPatch = typeName === JSON_PATCH;
  if (path !== undefined && path !== typeName) {
    throw new CelEvaluationError(
      `type mismatch: unexpected type name "${typeName}", expected "${path}", which matches field name path from root Object type`,
    );
  }
  const json: MutableJsonObject = {};
  for (const [name, value] of fields)
    setMember(json, name, jsonOfValue(value, isPatch ? undefined : `${typeName}.${name}`));
  return json;
}

function jsonOfMap(map: CelMap, path: string | undefined): JsonValue {
  const json: MutableJsonObject = {};
  for (const key of map.keys()) {
    if (typeof key !== "string") throw new CelEvaluationError(`unsupported key type: ${typeNameOf(key)}`);
    const value = map.get(key);
    if (value !== undefined) setMember(json, key, jsonOfValue(value, path));
  }
  return json;
}
