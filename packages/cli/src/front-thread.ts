// A thread of `postern serve --threads` that serves requests. The thread runs this same file, so that both have the modules of one build.

import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { ownThreadId } from "@postern/platform/foundation/stall-watch";
import { withWholeYoungGeneration } from "@postern/platform/foundation/whole-young-generation";
import { type FurtherFrontData, setThreadId } from "@postern/platform/fronts/front-methods";
import type { StartFrontThread } from "@postern/platform/fronts/front-thread";
import { stopReading } from "@postern/platform/fronts/stop-reading";

/** MiB of short-lived objects: as many as the main thread has (ADR 128). */
const YOUNG_MIB = 48;

export const startFrontThread: StartFrontThread = withWholeYoungGeneration(
  (options) =>
    new Worker(new URL(import.meta.url), {
      ...options,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    }),
);

/** Another takes its place. */
function endThread(): never {
  stopReading();
  process.exit(1);
}

async function run(port: MessagePort, front: FurtherFrontData): Promise<void> {
  // Before hundreds of modules load: the first front sees whether the thread waits for a processor meanwhile.
  setThreadId(front.state, ownThreadId());
  const [{ runFurtherFront }, { takeProcessErrors }] = await Promise.all([
    import("@postern/platform/further-front"),
    import("./serve/take-process-errors.ts"),
  ]);
  await runFurtherFront(port, front, {
    loadConsole: () => import("@postern/console/files"),
    loadDocumentation: () => import("@postern/console/documentation"),
    onFaults: (faults) =>
      takeProcessErrors({ source: process, now: () => performance.now(), onRepeated: endThread }, faults),
  });
}

const isFront = (data: unknown): data is FurtherFrontData =>
  typeof data === "object" && data !== null && "isFront" in data;

const data: unknown = workerData;
// An error of the start ends the thread: the main thread hears of it.
if (!isMainThread && parentPort !== null && isFront(data)) void run(parentPort, data);
