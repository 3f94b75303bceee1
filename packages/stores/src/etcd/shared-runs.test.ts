import { expect, it } from "vitest";
import { sharedRuns } from "./shared-runs.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function observed() {
  const ends: ((error?: Error) => void)[] = [];
  const shared = sharedRuns(
    () =>
      new Promise<number>((resolve, reject) => {
        const number = ends.length;
        ends.push((error) => (error === undefined ? resolve(number) : reject(error)));
      }),
  );
  return { shared, ends };
}

it("gives the calls of one turn the same run, which starts after the last of them", async () => {
  const { shared, ends } = observed();
  const calls = [shared(), shared()];
  await new Promise<void>((resolve) => process.nextTick(resolve));
  calls.push(shared());
  expect(ends).toHaveLength(0);
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await Promise.all(calls)).toEqual([0, 0, 0]);
});

it("gives each call a run that started after it, and one run to all calls during another", async () => {
  const { shared, ends } = observed();
  const first = shared();
  await turn();
  const others = Array.from({ length: 100 }, () => shared());
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await first).toBe(0);
  await turn();
  const later = shared();
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(new Set(await Promise.all(others))).toEqual(new Set([1]));
  await turn();
  ends[2]?.();
  expect(await later).toBe(2);
});

it("continues after a failed run, which only its own callers see", async () => {
  const { shared, ends } = observed();
  const first = shared();
  await turn();
  const next = shared();
  ends[0]?.(new Error("unreachable"));
  await expect(first).rejects.toThrow("unreachable");
  await turn();
  ends[1]?.();
  expect(await next).toBe(1);
  const alone = shared();
  await turn();
  ends[2]?.();
  expect(await alone).toBe(2);
});

it("makes calls during a run wait for one that started later", async () => {
  const { shared, ends } = observed();
  const first = shared();
  await turn();
  const later = [shared(), shared(), shared()];
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await first).toBe(0);
  await turn();
  expect(ends).toHaveLength(2);
  const latest = shared();
  ends[1]?.();
  expect(await Promise.all(later)).toEqual([1, 1, 1]);
  await turn();
  ends[2]?.();
  expect(await latest).toBe(2);
});
