import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { type Heap, limitYoungGeneration } from "./young-generation.ts";

function fakeHeap() {
  const flags: string[] = [];
  const listeners = new Set<() => void>();
  let megabytes = 0;
  const heap: Heap = {
    youngBytes: () => megabytes << 20,
    setFlag: (flag) => void flags.push(flag),
    onCollected(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const collect = (young: number): void => {
    megabytes = young;
    for (const listener of listeners) listener();
  };
  return { heap, flags, collect, left: () => listeners.size };
}

const factor = (value: number) => `--semi-space-growth-factor=${value}`;

it("lets the young generation grow up to its size, and again after V8 has made it smaller", () => {
  const { heap, flags, collect, left } = fakeHeap();
  const limit = limitYoungGeneration([], heap);
  for (const young of [1, 16, 32, 32, 4, 8, 64]) collect(young);
  expect(flags).toEqual([factor(1), factor(2), factor(1)]);
  limit[Symbol.dispose]();
  expect([flags.at(-1), left()]).toEqual([factor(2), 0]);
});

it("leaves it as the options of Node have it", () => {
  for (const option of ["--max-semi-space-size=64", "--title=a --min_semi_space_size=1"]) {
    const { heap, flags, collect } = fakeHeap();
    using _ = limitYoungGeneration([option], heap);
    collect(64);
    expect(flags).toEqual([]);
  }
});

it("limits the young generation of a process", async () => {
  // Much survives each collection, for which V8 would let it grow. In one turn there is one collection at most.
  const script = `
    import { setImmediate as nextTurn } from "node:timers/promises";
    import { getHeapSpaceStatistics } from "node:v8";
    import { limitYoungGeneration } from ${JSON.stringify(new URL("young-generation.ts", import.meta.url).href)};
    limitYoungGeneration([]);
    const kept = [];
    for (let round = 0; round < 600; round++) {
      for (let each = 0; each < 5_000; each++) kept[(round * 5_000 + each) % 400_000] = { each, list: [each] };
      await nextTurn();
    }
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    console.log(kept.length, young.space_size / 2 ** 20);
    process.exit();
  `;
  // By itself: other files of this worker have let its heap grow. Without the limit it grows to 128 MB on Node 20.
  const node = [...["--max-semi-space-size=64", "--import", "tsx", "--input-type=module"], "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, node, { env: { ...process.env, NODE_OPTIONS: "" } });
  const [kept, megabytes] = stdout.trim().split(" ").map(Number);
  expect(kept).toBe(400_000);
  // Node 26 grows in other steps.
  expect(megabytes).toBeLessThanOrEqual(64);
});
