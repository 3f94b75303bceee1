// Lists of strategic merge patches against a merge that searches the list for each element: slow, and easy to follow. The seed is printed.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 100_000);
const ROUNDS = 3_000;

const strategy = { "x-kubernetes-patch-strategy": "merge" } as const;
const schema: any = {
  type: "object",
  properties: {
    keyed: {
      type: "array",
      ...strategy,
      "x-kubernetes-patch-merge-key": "id",
      items: { type: "object", properties: { tags: { type: "array", ...strategy } } },
    },
    plain: { type: "array", ...strategy },
  },
};

type Item = { readonly id?: JsonValue; readonly [member: string]: JsonValue | undefined };

const keyOf = (item: any): JsonValue => (item?.id === undefined ? null : item.id);

function naiveKeyed(before: readonly Item[], patch: readonly any[], order: readonly any[] | undefined): Item[] {
  const changes = patch.filter((item) => item.$patch === undefined);
  const gone = patch.filter((item) => item.$patch === "delete").map((item) => item.id);
  const remaining = before.filter((item) => !gone.includes(item.id));
  const all: any[] = [...remaining];
  for (const change of changes) {
    const at = all.findIndex((item) => item.id === change.id);
    const merged = { ...all[at], ...change };
    for (const name of Object.keys(merged)) if (merged[name] === null && name in change) delete merged[name];
    const old: any = all[at]?.tags;
    if (change.tags !== undefined && old !== undefined) merged.tags = naivePlain(old, change.tags);
    if (at < 0) all.push(merged);
    else all[at] = merged;
  }
  const replaces = patch.some((item) => item.$patch === "replace");
  const merged = replaces ? changes : naiveOrder(all, changes, remaining, keyOf);
  return order === undefined ? merged : naiveOrder(merged, order, before, keyOf);
}

const naivePlain = (before: readonly JsonValue[], patch: readonly JsonValue[]): JsonValue[] =>
  naiveOrder([...new Set([...before, ...patch])], patch, before, (item) => item as JsonValue);

/** Items that the patch names come in its order; each other item goes before the first that stood behind it. */
function naiveOrder<T>(
  all: readonly T[],
  patch: readonly T[],
  before: readonly T[],
  keyOf: (item: T) => JsonValue,
): T[] {
  const placeIn = (list: readonly T[], item: T) => list.findIndex((each) => keyOf(each) === keyOf(item));
  const named = all.filter((item) => placeIn(patch, item) >= 0).sort((a, b) => placeIn(patch, a) - placeIn(patch, b));
  const last = (item: T) => (placeIn(before, item) < 0 ? Number.POSITIVE_INFINITY : placeIn(before, item));
  const others = all.filter((item) => placeIn(patch, item) < 0);
  others.sort((a, b) => (last(a) === last(b) ? 0 : last(a) - last(b)));
  const merged: T[] = [];
  for (const item of named) {
    while (others[0] !== undefined && placeIn(before, item) >= 0 && last(others[0]) < last(item)) {
      merged.push(others.shift() as T);
    }
    merged.push(item);
  }
  return [...merged, ...others];
}

it("merges lists through an index as it would by searching them", () => {
  process.stdout.write(`TEST_SEED=${seed}\n`);
  const [next = () => 0] = fc
    .sample(fc.noBias(fc.infiniteStream(fc.nat())), { seed, numRuns: 1 })
    .map((stream) => () => Number(stream.next().value));
  const random = (bound: number): number => next() % bound;
  const listOf = <T>(make: () => T): T[] => Array.from({ length: random(8) }, make);
  const id = (): JsonValue => [null, true, "1", 1, "a", "b", "c", "d", "e"][random(9)] as JsonValue;
  const tags = () => listOf(() => `t${random(4)}`);
  const item = (): Item => ({ id: id(), [`m${random(3)}`]: random(9), ...(random(3) === 0 ? { tags: tags() } : {}) });
  const change = () => {
    const kind = random(12);
    if (kind === 0) return { id: id(), $patch: "replace" };
    if (kind < 4) return { id: id(), $patch: "delete" };
    return kind === 4 ? { ...item(), m1: null } : item();
  };
  for (let round = 0; round < ROUNDS; round++) {
    // Stored lists may have repeats, and items without a key, from before they were lists with keys.
    const keyed = listOf(() => (random(12) === 0 ? { m0: 1 } : item()));
    const plain = listOf(id);
    const patch = listOf(change);
    const added = listOf(id);
    const set = patch.filter((each: any) => each.$patch === undefined).map((each) => ({ id: each.id ?? null }));
    const order =
      random(2) === 0
        ? undefined
        : [...set, ...keyed.flatMap((each) => (each.id === undefined ? [] : [{ id: each.id }]))];
    const deleted = listOf(id);
    const isPlainDeleted = random(2) === 0;
    const sent = {
      keyed: patch,
      ...(order === undefined ? {} : { "$setElementOrder/keyed": order }),
      ...(isPlainDeleted ? { "$deleteFromPrimitiveList/plain": deleted } : { plain: added }),
    } as JsonObject;
    const merged: any = applyStrategicMergePatch({ keyed, plain } as JsonObject, sent, schema);
    const context = JSON.stringify({ seed, round, keyed, plain, sent });
    expect(merged.keyed, context).toEqual(naiveKeyed(keyed, patch, order));
    const expected = isPlainDeleted ? plain.filter((each) => !deleted.includes(each)) : naivePlain(plain, added);
    expect(merged.plain, context).toEqual(expected);
  }
});
