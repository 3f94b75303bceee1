import fc from "fast-check";
import { expect, test } from "vitest";
import { CachedObject } from "./cached-object.ts";
import { EventRing } from "./event-ring.ts";
import type { CacheEvent } from "./watch-cache.ts";

const eventOf = (revision: number, bytes: number): CacheEvent => ({
  type: "put",
  object: CachedObject.fromEntry({ key: `/k/${revision % 3}`, value: Buffer.alloc(bytes, "x"), revision }),
  previous: undefined,
});

test("keeps the newest events that are within both limits, and says from where on", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 100, max: 600 }),
      fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 }),
      (limit, maxBytes, sizes) => {
        const ring = new EventRing(limit, 0, { maxBytes });
        const all: CacheEvent[] = [];
        for (const [index, size] of sizes.entries()) {
          const event = eventOf(index + 1, size);
          ring.push(event);
          all.push(event);
          const kept = all.filter(({ object }) => object.revision > ring.floor);
          const bytes = kept.reduce((sum, { object }) => sum + object.byteLength, 0);
          expect(ring.bytes).toBe(bytes);
          expect(kept.length).toBeLessThanOrEqual(limit);
          expect(bytes).toBeLessThanOrEqual(maxBytes);
          // The one that went before would not have had room.
          const dropped = all[all.length - kept.length - 1];
          if (dropped !== undefined) {
            expect(kept.length === limit || bytes + dropped.object.byteLength > maxBytes).toBe(true);
          }
          expect(ring.after("/k/", ring.floor)).toEqual(kept);
          const from = Math.max(ring.floor, index - 1);
          expect(ring.after("/k/1", from)).toEqual(
            kept.filter(({ object }) => object.revision > from && object.key === "/k/1"),
          );
        }
      },
    ),
  );
});

test("a hundred versions of an object of a megabyte do not take a hundred", () => {
  const ring = new EventRing(4_096, 0);
  for (let revision = 1; revision <= 100; revision++) ring.push(eventOf(revision, 1 << 20));
  expect(ring.bytes).toBeLessThanOrEqual(16 << 20);
  expect(ring.after("/k/", ring.floor).length).toBeGreaterThan(10);
});
