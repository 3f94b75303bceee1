import { expect, it } from "vitest";
import { MINUTE_MS, MinuteRing } from "./minute-ring.ts";

const START = 100 * MINUTE_MS;

it("counts each minute by itself, and forgets what is older than its size", () => {
  const ring = new MinuteRing(3, START);
  ring.add("requests", START);
  ring.add("requests", START + 59_999);
  ring.add("refused", START + MINUTE_MS);
  expect(ring.read(START + MINUTE_MS)).toEqual({
    from: START,
    counts: { requests: [2, 0], refused: [0, 1], failed: [0, 0], watches: [0, 0] },
  });
  ring.add("requests", START + 3 * MINUTE_MS);
  const { from, counts } = ring.read(START + 3 * MINUTE_MS);
  expect([from, counts.requests, counts.refused]).toEqual([START + MINUTE_MS, [0, 0, 1], [1, 0, 0]]);
});

it("is empty after a pause longer than its size", () => {
  const ring = new MinuteRing(3, START);
  ring.add("requests", START);
  expect(ring.read(START + 1_000 * MINUTE_MS).counts.requests).toEqual([0, 0, 0]);
});

it("keeps the highest of the values of a minute", () => {
  const ring = new MinuteRing(3, START);
  for (const value of [1, 5, 2]) ring.raise("watches", value, START);
  expect(ring.read(START).counts.watches).toEqual([5]);
});

it("goes on in its newest minute where the clock goes back a little, and begins anew where it goes back by hours", () => {
  const ring = new MinuteRing(3, START);
  ring.add("requests", START);
  ring.add("requests", START - MINUTE_MS);
  expect(ring.read(START)).toMatchObject({ from: START, counts: { requests: [2] } });
  const before = START - 90 * MINUTE_MS;
  ring.add("requests", before);
  expect(ring.read(before)).toMatchObject({ from: before, counts: { requests: [1] } });
});

it("adds the minutes of another ring to its own, and leaves out those that it does not keep", () => {
  const ring = new MinuteRing(3, START);
  const other = new MinuteRing(1_440, START - MINUTE_MS);
  for (const at of [START - MINUTE_MS, START, START + MINUTE_MS, START + MINUTE_MS]) other.add("requests", at);
  ring.add("requests", START + MINUTE_MS);
  const { from, counts } = other.read(START + MINUTE_MS);
  ring.addCounts(from, counts, START + MINUTE_MS);
  expect(ring.read(START + MINUTE_MS).counts.requests).toEqual([1, 3]);
  ring.addCounts(from, counts, START + 3 * MINUTE_MS);
  expect(ring.read(START + 3 * MINUTE_MS).counts.requests).toEqual([5, 0, 0]);
});
