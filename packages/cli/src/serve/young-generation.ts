// Has V8 keep less memory for a server: a young generation as up to Node 22. See docs/adr/0128.

import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

const HALF_MIB = 16;
const ENOUGH_YOUNG_BYTES = (2 * HALF_MIB) << 20;

export type Heap = {
  readonly youngBytes: () => number;
  /** Such as `--semi-space-growth-factor=1`. */
  readonly setFlag: (flag: string) => void;
  readonly onCollected: (listener: () => void) => Disposable;
};

const ownHeap: Heap = {
  youngBytes: () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0,
  setFlag: setFlagsFromString,
  onCollected(listener) {
    const observer = new PerformanceObserver(listener);
    observer.observe({ entryTypes: ["gc"] });
    return { [Symbol.dispose]: () => observer.disconnect() };
  },
};

/** `options` are those of Node: a young generation whose size they have is left alone. V8 may make it smaller, after which it grows again. */
export function limitYoungGeneration(options: readonly string[], heap: Heap = ownHeap): Disposable {
  if (options.some((option) => /semi[-_]space/.test(option))) return { [Symbol.dispose]: () => undefined };
  let grows = true;
  const collected = heap.onCollected(() => {
    const mayGrow = heap.youngBytes() < ENOUGH_YOUNG_BYTES;
    if (mayGrow === grows) return;
    grows = mayGrow;
    heap.setFlag(`--semi-space-growth-factor=${grows ? 2 : 1}`);
  });
  return {
    [Symbol.dispose]() {
      collected[Symbol.dispose]();
      if (!grows) heap.setFlag("--semi-space-growth-factor=2");
    },
  };
}
