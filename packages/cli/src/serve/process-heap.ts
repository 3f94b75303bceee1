// The heap of this process, as far as V8 lets it be steered while it runs. See docs/adr/0197.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Growth of the heap between two collections, in per cent of the live objects; V8 chooses for 0. */
const LITTLE_GROWTH = 20;

let collector: unknown;

/** A context that is made after the flag was set has the function. */
function findCollector(): unknown {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}

export const processHeap = {
  residentBytes: (): number => process.memoryUsage.rss(),
  limitGrowth: (isLittle: boolean): void =>
    setFlagsFromString(`--heap-growing-percent=${isLittle ? LITTLE_GROWTH : 0}`),
  collect(): void {
    collector ??= findCollector();
    if (typeof collector === "function") collector();
  },
};
