// The order of a merged list: items that the patch names in the order of the patch, the others at their place among them.
// Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go (normalizeElementOrder)

import { getMember, isJsonObject, type JsonArray, type JsonValue } from "../json/json-value.ts";
import { stringifyJson, withSortedMembers } from "../json/stringify-json.ts";

/** `mergeKey` identifies objects; "" for a list of scalars. */
export function orderLikePatch(
  elements: JsonArray,
  patchOrder: JsonArray,
  originalOrder: JsonArray,
  mergeKey: string,
): JsonArray {
  const inPatch = positions(patchOrder, mergeKey);
  const inOriginal = positions(originalOrder, mergeKey);
  const named: Placed[] = [];
  const others: Placed[] = [];
  for (const element of elements) {
    const id = placeId(element, mergeKey);
    const place = inPatch.get(id);
    const before = inOriginal.get(id);
    if (place === undefined) others.push({ element, place: before, before });
    else named.push({ element, place, before });
  }
  for (const list of [named, others]) {
    list.sort((a, b) => (a.place ?? list.length) - (b.place ?? list.length));
  }

  const merged: JsonValue[] = [];
  let next = 0;
  for (const { element, before } of named) {
    for (let other = others[next]; other !== undefined && before !== undefined; other = others[++next]) {
      if (other.before === undefined || other.before >= before) break;
      merged.push(other.element);
    }
    merged.push(element);
  }
  for (; next < others.length; next++) merged.push(others[next]?.element ?? null);
  return merged;
}

/** An element, where it goes among those like it, and where it was before. */
type Placed = {
  readonly element: JsonValue;
  readonly place: number | undefined;
  readonly before: number | undefined;
};

function positions(order: JsonArray, mergeKey: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, element] of order.entries()) {
    const id = placeId(element, mergeKey);
    if (!places.has(id)) places.set(id, place);
  }
  return places;
}

const placeId = (element: JsonValue, mergeKey: string): string =>
  identity(mergeKey !== "" && isJsonObject(element) ? (getMember(element, mergeKey) ?? null) : element);

/** The same for equal values, and for no others. */
export const identity = (value: JsonValue): string =>
  typeof value === "object" ? stringifyJson(withSortedMembers(value)) : stringifyJson(value);
