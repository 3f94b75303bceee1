// Has V8 keep less memory for a server: a young generation as up to Node 22, and nothing empty once it is quiet. See docs/adr/0128.

import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";

/** Two halves of 16 MiB. */
const ENOUGH_YOUNG_BYTES = 32 << 20;
/** Collecting a larger heap as a whole takes too long where a request may come at any time. */
const MAX_REDUCED_BYTES = 256 << 20;
const LOOK_MS = 5_000;
/** So many looks without a collection of the young generation, which has 16 MiB to fill: the server is quiet. */
const QUIET_LOOKS = 2;
/** V8 looks every eight seconds whether it should begin, and collects twice. */
const REDUCING_LOOKS = 6;

/** What follows each collection. */
export type Collection = { readonly isYoung: boolean };

export type Heap = {
  readonly youngBytes: () => number;
  /** In use, as far as is known without a collection. */
  readonly usedBytes: () => number;
  /** Such as `--optimize-for-size`. */
  readonly setFlag: (flag: string) => void;
  readonly onCollected: (listener: (collection: Collection) => void) => Disposable;
  readonly every: (ms: number, look: () => void) => Disposable;
};

const ownHeap: Heap = {
  youngBytes: () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0,
  usedBytes: () => getHeapStatistics().used_heap_size,
  setFlag: setFlagsFromString,
  onCollected(listener) {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        // Of collections they tell the kind, which the types do not know.
        const { kind } = (entry as unknown as { readonly detail: { readonly kind: number } }).detail;
        listener({ isYoung: kind !== constants.NODE_PERFORMANCE_GC_MAJOR });
      }
    });
    observer.observe({ entryTypes: ["gc"] });
    return { [Symbol.dispose]: () => observer.disconnect() };
  },
  every(ms, look) {
    const timer = setInterval(look, ms).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  },
};

/** `options` are those of Node: a young generation whose size they have is left alone. */
export function limitHeapMemory(options: readonly string[], heap: Heap = ownHeap): Disposable {
  const limits = options.some((option) => /semi[-_]space/.test(option)) ? [] : [limitYoungGeneration(heap)];
  limits.push(reduceWhenQuiet(heap));
  return {
    [Symbol.dispose]() {
      for (const limit of limits) limit[Symbol.dispose]();
    },
  };
}

/** V8 may make it smaller, after which it grows again. */
function limitYoungGeneration(heap: Heap): Disposable {
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

/** After load V8 keeps empty pages, and takes a server that allocates nothing any more for a busy one. */
function reduceWhenQuiet(heap: Heap): Disposable {
  let isYoungCollected = false;
  /** Since the last reduction. */
  let isAllCollected = false;
  let quiet = 0;
  let reducing = 0;
  const end = (): void => {
    if (reducing === 0) return;
    reducing = 0;
    isAllCollected = false;
    heap.setFlag("--no-optimize-for-size");
  };
  const collected = heap.onCollected(({ isYoung }) => {
    if (isYoung) isYoungCollected = true;
    else isAllCollected = true;
  });
  const looking = heap.every(LOOK_MS, () => {
    quiet = isYoungCollected ? 0 : quiet + 1;
    isYoungCollected = false;
    if (quiet === 0 || reducing === REDUCING_LOOKS) end();
    else if (reducing > 0) reducing++;
    else if (isAllCollected && quiet >= QUIET_LOOKS && heap.usedBytes() <= MAX_REDUCED_BYTES) {
      reducing = 1;
      heap.setFlag("--optimize-for-size");
    }
  });
  return {
    [Symbol.dispose]() {
      collected[Symbol.dispose]();
      looking[Symbol.dispose]();
      end();
    },
  };
}
