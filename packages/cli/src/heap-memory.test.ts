import { setImmediate as nextTurn } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { expect, it } from "vitest";
import { type Collection, type Heap, limitHeapMemory } from "./heap-memory.ts";

function fakeHeap() {
  const flags: string[] = [];
  const listeners = new Set<(collection: Collection) => void>();
  const looks = new Set<() => void>();
  const sizes = { young: 0, used: 0 };
  const heap: Heap = {
    youngBytes: () => sizes.young << 20,
    usedBytes: () => sizes.used << 20,
    setFlag: (flag) => void flags.push(flag),
    onCollected(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    every(_, look) {
      looks.add(look);
      return { [Symbol.dispose]: () => void looks.delete(look) };
    },
  };
  const collect = (isYoung: boolean, sizesThen: Partial<typeof sizes> = {}): void => {
    Object.assign(sizes, sizesThen);
    for (const listener of listeners) listener({ isYoung });
  };
  const look = (times = 1): void => {
    for (let time = 0; time < times; time++) for (const each of looks) each();
  };
  return { heap, flags, collect, look, left: () => listeners.size + looks.size };
}

const factor = (value: number) => `--semi-space-growth-factor=${value}`;

it("lets the young generation grow up to its size, and again after V8 has made it smaller", () => {
  const { heap, flags, collect, left } = fakeHeap();
  const limit = limitHeapMemory([], heap);
  for (const young of [1, 16, 32, 32, 4, 8, 64]) collect(true, { young });
  expect(flags).toEqual([factor(1), factor(2), factor(1)]);
  limit[Symbol.dispose]();
  expect([flags.at(-1), left()]).toEqual([factor(2), 0]);
});

it("leaves it as the options of Node have it", () => {
  for (const option of ["--max-semi-space-size=64", "--title=a --min_semi_space_size=1"]) {
    const { heap, flags, collect } = fakeHeap();
    using _ = limitHeapMemory([option], heap);
    collect(true, { young: 64 });
    expect(flags).toEqual([]);
  }
});

it("has V8 give memory back once after load, when nothing has been collected for a while", () => {
  const { heap, flags, collect, look } = fakeHeap();
  using _ = limitHeapMemory([], heap);
  // Nothing was ever collected as a whole.
  collect(true);
  look(5);
  expect(flags).toEqual([]);
  collect(false);
  collect(true);
  look(2);
  expect(flags).toEqual([]);
  look();
  expect(flags).toEqual(["--optimize-for-size"]);
  // What V8 collects for that.
  collect(false);
  look(20);
  expect(flags).toEqual(["--optimize-for-size", "--no-optimize-for-size"]);
});

it("stops when load comes, and begins again after it", () => {
  const { heap, flags, collect, look } = fakeHeap();
  using _ = limitHeapMemory([], heap);
  collect(false);
  look(2);
  collect(true);
  look();
  expect(flags).toEqual(["--optimize-for-size", "--no-optimize-for-size"]);
  collect(false);
  collect(true);
  look(3);
  expect(flags).toHaveLength(3);
});

it("leaves a heap alone that takes long to collect", () => {
  const { heap, flags, collect, look } = fakeHeap();
  using _ = limitHeapMemory([], heap);
  collect(false, { used: 300 });
  look(5);
  expect(flags).toEqual([]);
});

it("limits the young generation of this process", async () => {
  const megabytes = (): number =>
    (getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0) / 2 ** 20;
  using _ = limitHeapMemory([]);
  const before = megabytes();
  const kept: unknown[] = [];
  // Much survives each collection, for which V8 would let it grow.
  for (let round = 0; round < 60; round++) {
    for (let each = 0; each < 50_000; each++) kept[(round * 50_000 + each) % 400_000] = { each, list: [each] };
    await nextTurn();
  }
  expect(kept).toHaveLength(400_000);
  // Node 26 grows in other steps.
  expect(megabytes()).toBeLessThanOrEqual(Math.max(before, 64));
});
