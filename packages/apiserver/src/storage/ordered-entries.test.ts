import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareKeys } from "./key-order.ts";
import { OrderedEntries } from "./ordered-entries.ts";

const key = (number: number) => `/k/${String(number).padStart(5, "0")}`;

describe("OrderedEntries", () => {
  test("holds thousands of keys in order, whatever order they come and go in", () => {
    const entries = new OrderedEntries<{ key: string }>();
    for (let step = 0; step < 5_000; step++) entries.set({ key: key((step * 7919) % 5_000) });
    for (let step = 0; step < 5_000; step += 3) entries.delete(key(step));
    const expected = Array.from({ length: 5_000 }, (_, number) => number)
      .filter((number) => number % 3 !== 0)
      .map(key);
    expect(entries.list("/k/").map((entry) => entry.key)).toEqual(expected);
    expect(entries.count("/k/")).toBe(expected.length);
    expect(entries.count("/k/", key(2_500))).toBe(expected.filter((name) => name > key(2_500)).length);
  });

  test("agrees with a sorted array on any sequence of changes and any range", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", "/", "\uffee", "\u{1f600}"), maxLength: 4 });
    const change = fc.record({ key: name, remove: fc.boolean() });
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 20 }),
        fc.array(change, { maxLength: 60 }),
        name,
        fc.option(name),
        fc.nat(8),
        (loaded, changes, prefix, after, limit) => {
          const entries = new OrderedEntries<{ key: string }>();
          const model = new Map<string, { key: string }>();
          for (const key of loaded.toSorted(compareKeys)) {
            const entry = { key };
            entries.append(entry);
            model.set(key, entry);
          }
          for (const { key, remove } of changes) {
            const entry = { key };
            expect(remove ? entries.delete(key) : entries.set(entry)).toBe(model.get(key));
            if (remove) model.delete(key);
            else model.set(key, entry);
            expect(entries.size).toBe(model.size);
            expect(entries.get(key)).toBe(model.get(key));
            expect(entries.byKey.get(key)).toBe(model.get(key));
          }
          expect(entries.get(prefix)).toBe(model.get(prefix));
          const under = [...model.values()]
            .filter((entry) => entry.key.startsWith(prefix) && (after === null || compareKeys(entry.key, after) > 0))
            .sort((left, right) => compareKeys(left.key, right.key));
          const startAfter = after ?? undefined;
          expect(entries.list(prefix, startAfter === undefined ? { limit } : { limit, startAfter })).toEqual(
            under.slice(0, limit),
          );
          expect(entries.count(prefix, startAfter)).toBe(under.length);
        },
      ),
    );
  });
});
