// CEL values as JSON, for patches that expressions make.
// Source: k8s.io/apiserver/pkg/cel/mutation/dynamic/objects.go, github.com/google/cel-go/common/types (ConvertToNative)

import { type JsonValue, type MutableJsonObject, setMember } from "@postern/apimachinery/json/json-value";
import type { CelMeter } from "@postern/cel/cel-budget";
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

const VALUE_COST = 1;
/** The cost of a character of a text. */
const CHARACTER_COST = 0.01;

type Spend = CelMeter["spend"];

/**
 * `path`: the type that an object here has to have, which is the path of fields to it. Absent: any. `spend` is called with the cost of each value: one that
 * stands in several places is written out in each. Throws CelEvaluationError for an object of another type, and for a value that JSON does not have.
 */
export function jsonOfValue(value: CelValue, spend: Spend, path?: string): JsonValue {
  spend(VALUE_COST);
  if (typeof value === "string") spend(value.length * CHARACTER_COST);
  if (value === null || typeof value === "boolean" || typeof value === "string" || typeof value === "number")
    return value;
  if (typeof value === "bigint") return jsonNumber(value);
  if (value instanceof CelUint) return jsonNumber(value.value);
  if (value instanceof CelList) return value.items.map((item) => jsonOfValue(item, spend, path));
  if (value instanceof CelMessage) return jsonOfMessage(value, spend, path);
  if (value instanceof CelMap) return jsonOfMap(value, spend, path);
  throw new CelEvaluationError(`unsupported conversion of ${typeNameOf(value)} to JSON`);
}

const jsonNumber = (value: bigint): JsonValue => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

function jsonOfMessage({ typeName, fields }: CelMessage, spend: Spend, path: string | undefined): JsonValue {
  const isPatch = typeName === JSON_PATCH;
  if (path !== undefined && path !== typeName) {
    throw new CelEvaluationError(
      `type mismatch: unexpected type name "${typeName}", expected "${path}", which matches field name path from root Object type`,
    );
  }
  const json: MutableJsonObject = {};
  for (const [name, value] of fields)
    setMember(json, name, jsonOfValue(value, spend, isPatch ? undefined : `${typeName}.${name}`));
  return json;
}

function jsonOfMap(map: CelMap, spend: Spend, path: string | undefined): JsonValue {
  const json: MutableJsonObject = {};
  for (const key of map.keys()) {
    if (typeof key !== "string") throw new CelEvaluationError(`unsupported key type: ${typeNameOf(key)}`);
    spend(key.length * CHARACTER_COST);
    const value = map.get(key);
    if (value !== undefined) setMember(json, key, jsonOfValue(value, spend, path));
  }
  return json;
}
