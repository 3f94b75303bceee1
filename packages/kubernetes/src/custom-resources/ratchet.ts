// Finds unchanged parts of an object: rules that they violate do not refuse an update.
// Source: k8s.io/apiserver/pkg/cel/common/equality.go (CorrelatedObject)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { correlateItems } from "@postern/apimachinery/schema/validation/correlate-items";

/** A value and its old value. */
type Pair = { readonly schema: StructuralSchema; readonly value: JsonValue; readonly old: JsonValue };

export type Ratchet = {
  /** Absent where no old value corresponds to the new one. */
  readonly current: Pair | undefined;
  /** The closest part around it of which that is known. */
  readonly parent: Pair | undefined;
};

export const NO_RATCHET: Ratchet = { current: undefined, parent: undefined };

export const createRatchet = (schema: StructuralSchema, value: JsonValue, old: JsonValue | undefined): Ratchet =>
  old === undefined ? NO_RATCHET : { current: { schema, value, old }, parent: undefined };

export function isUnchanged({ current, parent }: Ratchet): boolean {
  const known = current ?? parent;
  return known !== undefined && isSame(known);
}

/** Ignored: both objects are converted to one version before they are compared. */
const OF_VERSION = new Set(["apiVersion", "kind"]);

export function ratchetOfMember(ratchet: Ratchet, name: string): Ratchet {
  const { current, parent } = ratchet;
  if (current === undefined) return ratchet;
  if (parent === undefined && OF_VERSION.has(name)) return NO_RATCHET;
  return { current: memberOf(current, name), parent: current };
}

export function ratchetOfItem(ratchet: Ratchet, index: number): Ratchet {
  const { current } = ratchet;
  return current === undefined ? ratchet : { current: itemOf(current, index), parent: current };
}

function memberOf({ schema, value, old }: Pair, name: string): Pair | undefined {
  const below = propertyOf(schema, name) ?? valueSchemaOf(schema);
  if (below === undefined || !isJsonObject(value) || !isJsonObject(old)) return undefined;
  const [member, before] = [value[name], Object.hasOwn(old, name) ? old[name] : undefined];
  return member === undefined || before === undefined ? undefined : { schema: below, value: member, old: before };
}

/** Only items with keys are distinguished: a list of another type is unchanged as a whole, or not at all. */
function itemOf({ schema, value, old }: Pair, index: number): Pair | undefined {
  const item = isJsonArray(value) ? value[index] : undefined;
  if (schema.items === undefined || item === undefined || !isJsonArray(old)) return undefined;
  if (schema["x-kubernetes-list-type"] !== "map") return undefined;
  const before = correlateItems(schema, old)(item);
  return before === undefined ? undefined : { schema: schema.items, value: item, old: before };
}

/** The order of items with keys does not matter. */
function isSame(pair: Pair): boolean {
  const { schema, value, old } = pair;
  if (isJsonArray(value) && isJsonArray(old)) {
    if (schema["x-kubernetes-list-type"] !== "map" || schema.items === undefined) return equalJson(value, old);
    const { items } = schema;
    const before = correlateItems(schema, old);
    return (
      value.length === old.length &&
      value.every((item) => {
        const other = before(item);
        return other !== undefined && isSame({ schema: items, value: item, old: other });
      })
    );
  }
  if (!isJsonObject(value) || !isJsonObject(old)) return equalJson(value, old);
  if (Object.keys(value).length !== Object.keys(old).length) return false;
  return Object.keys(value).every((name) => {
    const member = memberOf(pair, name);
    return member === undefined ? equalJson(value[name], old[name]) : isSame(member);
  });
}
