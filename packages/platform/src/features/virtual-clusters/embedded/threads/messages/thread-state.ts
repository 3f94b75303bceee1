// The memory that a cluster thread shares with its watchdog: it is readable while the thread stands still.

import type { ThreadBeats } from "../../../../../foundation/stall-watch.ts";

/** Written by the thread alone. */
export type ThreadState = {
  /** Shows that the event loop turns. */
  beat(): void;
  /** The slot of the cluster that the thread works for; 0 for none. */
  workFor(slot: number): void;
  readonly slot: number;
  /** Bytes of the heap and of buffers. */
  setMemory(bytes: number): void;
  /** Requests in progress, with their streams. */
  setRequests(count: number): void;
  /** The id that the operating system gave the thread, for its processor time; 0 if it is not known. */
  setThreadId(id: number): void;
};

/** Read by the watchdog. */
export type ThreadReadings = ThreadBeats & {
  readonly slot: number;
  readonly memoryBytes: number;
  readonly requests: number;
};

const BEATS = 0;
const SLOT = 1;
const THREAD_ID = 2;
const REQUESTS = 3;
/** Behind the integers. */
const MEMORY_OFFSET = 16;
const BYTES = 24;

export const createThreadMemory = (): SharedArrayBuffer => new SharedArrayBuffer(BYTES);

export function writeThreadState(memory: SharedArrayBuffer): ThreadState {
  const numbers = new Int32Array(memory, 0, 4);
  const bytes = new Float64Array(memory, MEMORY_OFFSET, 1);
  return {
    beat: () => void Atomics.add(numbers, BEATS, 1),
    workFor: (slot) => void Atomics.store(numbers, SLOT, slot),
    get slot() {
      return Atomics.load(numbers, SLOT);
    },
    setMemory(count) {
      bytes[0] = count;
    },
    setRequests: (count) => void Atomics.store(numbers, REQUESTS, count),
    setThreadId: (id) => void Atomics.store(numbers, THREAD_ID, id),
  };
}

export function readThreadState(memory: SharedArrayBuffer): ThreadReadings {
  const numbers = new Int32Array(memory, 0, 4);
  const bytes = new Float64Array(memory, MEMORY_OFFSET, 1);
  return {
    get beats() {
      return Atomics.load(numbers, BEATS);
    },
    get slot() {
      return Atomics.load(numbers, SLOT);
    },
    get memoryBytes() {
      return bytes[0] ?? 0;
    },
    get requests() {
      return Atomics.load(numbers, REQUESTS);
    },
    get threadId() {
      return Atomics.load(numbers, THREAD_ID);
    },
  };
}
