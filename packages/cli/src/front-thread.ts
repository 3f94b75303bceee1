// A thread of `postern serve --threads` that serves requests. The thread runs this same file, so that both have the modules of one build.

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { withWholeYoungGeneration } from "@postern/platform/foundation/whole-young-generation";
import type { FurtherFrontData } from "@postern/platform/fronts/front-methods";
import type { StartFrontThread } from "@postern/platform/fronts/front-thread";
import { stopReading } from "@postern/platform/fronts/stop-reading";
import { runFurtherFront } from "@postern/platform/further-front";
import { takeProcessErrors } from "./serve/take-process-errors.ts";

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

const isFront = (data: unknown): data is FurtherFrontData =>
  typeof data === "object" && data !== null && "isFront" in data;

const data: unknown = workerData;
if (!isMainThread && parentPort !== null && isFront(data)) {
  // An error of the start ends the thread: the main thread hears of it.
  void runFurtherFront(parentPort, data, {
    loadConsole: () => import("@postern/console/files"),
    loadDocumentation: () => import("@postern/console/documentation"),
    onFaults: (faults) =>
      takeProcessErrors({ source: process, now: () => performance.now(), onRepeated: endThread }, faults),
  });
}
