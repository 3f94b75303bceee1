import { expect, it } from "vitest";
import { FrequentKeys } from "./frequent-keys.ts";

const HOUR_MS = 3_600_000;
const START = 1_000 * HOUR_MS;

it("adds up the hours of a day, the most frequent key first", () => {
  const keys = new FrequentKeys();
  for (let hour = 0; hour < 24; hour++) keys.add("steady", START + hour * HOUR_MS);
  for (let times = 0; times < 30; times++) keys.add("busy", START);
  const last = START + 23 * HOUR_MS;
  expect(keys.read(5, last)).toEqual([
    { id: "busy", count: 30 },
    { id: "steady", count: 24 },
  ]);
  expect(keys.read(1, last)).toHaveLength(1);
  // The first hour is over.
  expect(keys.read(5, last + HOUR_MS)).toEqual([{ id: "steady", count: 23 }]);
  expect(keys.read(5, last + 48 * HOUR_MS)).toEqual([]);
});

it("has the keys that send the most among a ten thousand others, in bounded memory, and never counts too high", () => {
  const keys = new FrequentKeys();
  const sent = new Map<string, number>();
  const add = (id: string): void => {
    keys.add(id, START);
    sent.set(id, (sent.get(id) ?? 0) + 1);
  };
  for (let index = 0; index < 10_000; index++) {
    add(`rare-${index}`);
    if (index % 10 === 0) add(`busy-${index % 30}`);
  }
  const all = keys.read(1_000, START);
  expect(all.length).toBeLessThan(256);
  expect(
    all
      .slice(0, 3)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["busy-0", "busy-10", "busy-20"]);
  const slack = 11_000 / 128;
  for (const { id, count } of all.slice(0, 3)) {
    expect(count).toBeLessThanOrEqual(sent.get(id) ?? 0);
    expect(count).toBeGreaterThanOrEqual((sent.get(id) ?? 0) - slack);
  }
});
