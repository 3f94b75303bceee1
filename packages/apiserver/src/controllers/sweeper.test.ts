import { expect, it } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createSweeper } from "./sweeper.ts";

/** The rest after the first sweep over so many items. The second one tells its items the same. */
async function restAfter(items: number): Promise<number> {
  let next = (): void => undefined;
  let planned = 0;
  const seen = new Set<number>();
  const sweeper = createSweeper<number>(
    {
      runtime: {
        ...systemRuntime,
        scheduler: {
          schedule(delayMs, task) {
            planned = delayMs;
            next = task;
            return { [Symbol.dispose]: () => undefined };
          },
        },
      },
      onError: (error) => expect.unreachable(String(error)),
    },
    {
      intervalMs: 1_000,
      items: () => Array.from({ length: items }, (_, index) => index),
      isOver: (_, restMs) => seen.add(restMs) === undefined,
      remove: async () => undefined,
      nameOf: String,
    },
  );
  await sweeper.idle();
  await new Promise((resolve) => setImmediate(resolve));
  const rest = planned;
  expect(sweeper.restMs).toBe(rest);
  next();
  await sweeper.idle();
  sweeper[Symbol.dispose]();
  expect([...seen]).toEqual([...new Set([1_000, rest])]);
  return rest;
}

it("rests for its interval between looks at few items", async () => {
  expect(await restAfter(3)).toBe(1_000);
});

it("rests longer where there are many, so that looks are a small part of the time", async () => {
  expect(await restAfter(100_000)).toBe(10_000);
});

it("rests for five minutes at most", async () => {
  expect(await restAfter(3_500_000)).toBe(300_000);
});
