import { createLimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import { expect, it } from "vitest";
import { createThreadLimits, currentLimitLocks } from "./limits-of-threads.ts";

const settle = () => new Promise(setImmediate);

it("a lock of one thread is waited for by all others, and is free again when the thread has ended", async () => {
  const locks = createLimitLocks();
  const [one, other] = [createThreadLimits(locks), createThreadLimits(locks)];
  const steps: string[] = [];
  const note = (step: string) => (): void => void steps.push(step);
  const held = await one.hold(["b", "a"]);
  const waiting = other.hold(["a"]).then(note("other"));
  await one.hold(["c"]);
  const first = locks.hold(["c"]).then(note("first"));
  await settle();
  expect(steps).toEqual([]);
  one.release(held);
  await waiting;
  expect(steps).toEqual(["other"]);
  one[Symbol.dispose]();
  await first;
  // One that it waited for when it ended.
  const late = one.hold(["a"]);
  other[Symbol.dispose]();
  await late;
  (await locks.hold(["a"]))();
});

it("a holder sees what was written before, and one that cannot holds nothing", async () => {
  const steps: string[] = [];
  const cache = (isNewest: boolean, refresh: () => Promise<number>) => ({ isNewest: () => isNewest, refresh });
  const locks = createLimitLocks();
  const seen = async () => steps.push("refresh");
  (await currentLimitLocks(locks, cache(true, seen)).hold(["a"]))();
  expect(steps).toEqual([]);
  (await currentLimitLocks(locks, cache(false, seen)).hold(["a"]))();
  expect(steps).toEqual(["refresh"]);
  const lost = currentLimitLocks(
    locks,
    cache(false, () => Promise.reject(new Error("lost"))),
  );
  await expect(lost.hold(["a"])).rejects.toThrow("lost");
  (await locks.hold(["a"]))();
});
