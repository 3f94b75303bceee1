import fc from "fast-check";
import { expect, it } from "vitest";
import { hashOf, SlotIndex } from "./slot-index.ts";

const slotsOf = (index: SlotIndex, hash: number): readonly number[] => {
  const slots: number[] = [];
  for (let slot = index.first(hash); slot >= 0; slot = index.after(slot)) slots.push(slot);
  return slots;
};

it("finds the slots that were added under a hash and not removed, the last one first", () => {
  const slot = fc.nat({ max: 60 });
  // Some differ in their highest bits alone, and share a chain.
  const hash = fc.constantFrom(0, 1, -1, 2 ** 30, 7, 7 + 2 ** 20);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: slot, hash }) },
    { weight: 2, arbitrary: fc.record({ remove: slot }) },
    { weight: 1, arbitrary: fc.record({ reserve: fc.nat({ max: 300 }) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const index = new SlotIndex();
      let expected: { readonly slot: number; readonly hash: number }[] = [];
      let isOrdered = true;
      for (const each of steps) {
        if ("reserve" in each) {
          index.reserve(each.reserve);
          // Chains are made anew.
          isOrdered = false;
        } else if ("remove" in each) {
          expect(index.remove(each.remove)).toBe(expected.some(({ slot }) => slot === each.remove));
          expected = expected.filter(({ slot }) => slot !== each.remove);
        } else if (!index.has(each.add)) {
          if (each.add >= 16) isOrdered = false;
          index.add(each.add, each.hash);
          expected.unshift({ slot: each.add, hash: each.hash });
        }
      }
      expect(index.size).toBe(expected.length);
      for (const hash of new Set(expected.map((each) => each.hash).concat(5))) {
        const found = slotsOf(index, hash);
        const wanted = expected.filter((each) => each.hash === hash).map(({ slot }) => slot);
        if (isOrdered) expect(found).toEqual(wanted);
        else expect(found.toSorted()).toEqual(wanted.toSorted());
      }
    }),
  );
});

it("spreads names that differ in a number, with every seed", () => {
  for (const seed of [0, 1, -5]) {
    const buckets = new Set(Array.from({ length: 4096 }, (_, number) => hashOf(`robot-${number}`, seed) & 4095));
    // Of as many at random 63 % would be used.
    expect(buckets.size).toBeGreaterThan(2300);
  }
  expect(hashOf("/keys/a", 3, 6)).toBe(hashOf("a", 3));
});
