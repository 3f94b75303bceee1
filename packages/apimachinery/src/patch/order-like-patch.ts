// The order of a merged list: what the patch names goes in the patch's order, the rest keeps its place among it.
// Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go (normalizeElementOrder)

import { isJsonObject, type JsonArray, type JsonValue } from "../json/json-value.ts";
import { getMember } from "../json/set-member.ts";
import { stringifyJson } from "../json/stringify-json.ts";

/** `mergeKey` identifies objects; "" for a list of scalars. */
export function orderLikePatch(
  elements: JsonArray,
  patchOrder: JsonArray,
  originalOrder: JsonArray,
  mergeKey: string,
): JsonArray {
  const inPatch = positions(patchOrder, mergeKey);
  const inOriginal = positions(originalOrder, mergeKey);
  const placeIn = (order: ReadonlyMap<string, number>, element: JsonValue) => order.get(identity(element, mergeKey));
  const sortedBy = (order: ReadonlyMap<string, number>, list: JsonArray) =>
    list.toSorted((a, b) => (placeIn(order, a) ?? list.length) - (placeIn(order, b) ?? list.length));

  const named = sortedBy(
    inPatch,
    elements.filter((element) => placeIn(inPatch, element) !== undefined),
  );
  const others = sortedBy(
    inOriginal,
    elements.filter((element) => placeIn(inPatch, element) === undefined),
  );
  const merged: JsonValue[] = [];
  let next = 0;
  for (const element of named) {
    const place = placeIn(inOriginal, element);
    for (let other = others[next]; other !== undefined && place !== undefined; other = others[++next]) {
      const otherPlace = placeIn(inOriginal, other);
      if (otherPlace === undefined || otherPlace >= place) break;
      merged.push(other);
    }
    merged.push(element);
  }
  return [...merged, ...others.slice(next)];
}

function positions(order: JsonArray, mergeKey: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, element] of order.entries()) {
    const id = identity(element, mergeKey);
    if (!places.has(id)) places.set(id, place);
  }
  return places;
}

function identity(element: JsonValue, mergeKey: string): string {
  const key = mergeKey !== "" && isJsonObject(element) ? getMember(element, mergeKey) : element;
  return stringifyJson(key ?? null);
}
