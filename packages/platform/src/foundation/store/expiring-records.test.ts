import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { createEndSweeper } from "./expiring-records.ts";

const MINUTE = 60_000;
const settle = () => new Promise(setImmediate);

function prepare(ends: Map<string, number>) {
  const time = manualTime();
  const start = time.clock.now();
  const removed: string[] = [];
  const errors: unknown[] = [];
  let told: (name: string) => void = () => undefined;
  const port = { runtime: { ...systemRuntime, ...time }, onError: (error: unknown) => void errors.push(error) };
  const sweeper = createEndSweeper<string>(port, {
    items: () => ends.keys(),
    endOf: (name) => start + (ends.get(name) ?? 0),
    follow: (onItem) => {
      told = onItem;
      return { [Symbol.dispose]: () => undefined };
    },
    remove: async (name) => {
      if (name === "fails") throw new Error("not now");
      removed.push(name);
      ends.delete(name);
    },
    nameOf: (name) => name,
  });
  return { time, start, removed, errors, sweeper, tell: (name: string) => told(name) };
}

it("removes what ends at its end, by the time that passes and not by the time of day", async () => {
  const ends = new Map([
    ["over", -1],
    ["soon", 5_000],
    ["later", 90_000],
  ]);
  const { time, start, removed, errors, sweeper, tell } = prepare(ends);
  await sweeper.idle();
  expect(removed).toEqual(["over"]);
  await settle();
  // The clock is set back by a day meanwhile.
  time.setTimeOfDay(start - 24 * 3600_000);
  time.advance(4_999);
  expect(removed).toEqual(["over"]);
  time.advance(1);
  expect(removed).toEqual(["over", "soon"]);
  time.setTimeOfDay(start + 5_000);
  // Items that come between two sweeps.
  ends.set("new", 10_000);
  tell("new");
  ends.set("far", 10 * MINUTE);
  tell("far");
  time.advance(5_000);
  expect(removed).toEqual(["over", "soon", "new"]);
  // The sweep after a minute plans the end of what ends half a minute later.
  time.advance(50_000);
  await settle();
  time.setTimeOfDay(start);
  time.advance(30_000);
  await settle();
  expect(removed).toEqual(["over", "soon", "new", "later"]);
  expect(errors).toEqual([]);
  sweeper[Symbol.dispose]();
  expect(time.waiting).toBe(0);
});

it("reports what cannot be removed, and tries again with the next sweep", async () => {
  const { time, errors, sweeper } = prepare(new Map([["fails", 1_000]]));
  await sweeper.idle();
  await settle();
  time.advance(1_000);
  await settle();
  expect(errors).toHaveLength(1);
  time.advance(MINUTE);
  await settle();
  expect(errors).toHaveLength(2);
  sweeper[Symbol.dispose]();
});
