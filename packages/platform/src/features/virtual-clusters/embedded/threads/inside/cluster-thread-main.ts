// The entry point of a cluster thread.

import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { giveWay } from "@postern/apiserver/runtime/give-way";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { BEAT_MS, ownThreadId } from "../../../../../foundation/stall-watch.ts";
import { writeThreadState } from "../messages/thread-state.ts";
import type { ClusterThreadData } from "./cluster-thread.ts";

// The front starts this file with this data.
const data = workerData as ClusterThreadData & { readonly limitBytes: number };
const state = writeThreadState(data.state);
/** Part of the limit above which all garbage is collected before the watchdog sees it. */
const COLLECT_PART = 0.85;
const BEATS_BETWEEN_COLLECTIONS = 40;

const usedBytes = (): number => {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
};

/** Undefined where V8 gives none. */
function collector(): (() => void) | undefined {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  return typeof collect === "function" ? () => void collect() : undefined;
}

async function run(port: MessagePort): Promise<void> {
  giveWay();
  // Before hundreds of modules load: the front sees whether the thread waits for a processor meanwhile.
  state.setThreadId(ownThreadId());
  const { startClusterThread } = await import("./cluster-thread.ts");
  const thread = startClusterThread(port, data, systemRuntime);
  let collect: (() => void) | undefined;
  let untilCollection = 0;
  const beat = (): void => {
    let used = usedBytes();
    untilCollection--;
    if (used > COLLECT_PART * data.limitBytes && untilCollection <= 0) {
      untilCollection = BEATS_BETWEEN_COLLECTIONS;
      collect ??= collector();
      collect?.();
      used = usedBytes();
    }
    state.setMemory(used);
    state.setRequests(thread.requests);
    state.beat();
  };
  beat();
  setInterval(beat, BEAT_MS).unref();
}

// An error of the start ends the thread: the front hears of it.
if (parentPort !== null) void run(parentPort);
