// The memory that the server may use, and the budgets that follow from it: for the platform, for all embedded clusters together, and for history.

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";

export type MemoryBudgets = {
  readonly limitBytes: number;
  /** Threads for embedded clusters, without those for one cluster alone. 0: the server serves them itself. */
  readonly clusterThreads: number;
  /** Objects and bytes outside embedded clusters. */
  readonly platformBytes: number;
  /** All embedded clusters together. */
  readonly clustersBytes: number;
  /** Bodies of requests. */
  readonly bodyBytes: number;
  /** Events that wait to be sent to slow watches. */
  readonly backlogBytes: number;
  /** The same in all cluster threads together. */
  readonly threadBacklogBytes: number;
  /** Garbage in all cluster threads together. */
  readonly threadMarginBytes: number;
  /** Answers that clients have not read. Garbage may take this memory as well. */
  readonly unreadBytes: number;
  /** Recent events for watches: as much for the platform, and for all embedded clusters together. */
  readonly historyBytes: number;
};

const MIB = 1 << 20;
/** The idle process, with code and space for the garbage collector. */
const IDLE_BYTES = 128 * MIB;
/** Threads for one cluster alone that there may be. */
export const ALONE_THREADS = 2;
/** A thread without clusters: code, and space for the garbage collector. */
export const THREAD_IDLE_BYTES = 32 << 20;

/** Less memory is worth more undivided. */
const BYTES_PER_THREAD = 1024 * MIB;
const MOST_THREADS = 4;

/** Threads for embedded clusters where the configuration has no number. One processor is enough for one: the system shares it out among threads. */
export const defaultClusterThreads = (limitBytes: number, processors: number): number =>
  Math.min(MOST_THREADS, Math.max(1, Math.floor(processors / 2)), Math.floor(limitBytes / BYTES_PER_THREAD));

/** Memory that threads take before any cluster runs. */
const idleBytesOfThreads = (threads: number): number =>
  threads === 0 ? 0 : (threads + ALONE_THREADS) * THREAD_IDLE_BYTES;

/** Parts of the limit. Garbage, the database, TLS, threads, and errors of the estimates. */
const MARGIN_PART = 8;
/** The largest share for request bodies, and the one for events that wait to be sent. */
const BODIES_PART = 8;
const BACKLOG_PART = 16;
const UNREAD_PART = 16;
/** The least share for stored objects. */
const MIN_STORED_PART = 4;

/**
 * `fronts` servers of the process share all of it evenly: each keeps the stored objects in memory. `whole` is what the options allow for request bodies and for events for slow watches. A small limit leaves less. With cluster threads, these
 * have half of the margin and half of the events.
 */
export function memoryBudgets(
  wholeBytes: number,
  whole: Pick<MemoryBudgets, "bodyBytes" | "backlogBytes">,
  threads = 0,
  fronts = 1,
): MemoryBudgets {
  const limitBytes = Math.floor(wholeBytes / fronts);
  const asked = { bodyBytes: whole.bodyBytes / fronts, backlogBytes: whole.backlogBytes / fronts };
  const bodyBytes = Math.floor(Math.min(asked.bodyBytes, limitBytes / BODIES_PART));
  const backlogBytes = Math.floor(Math.min(asked.backlogBytes, limitBytes / BACKLOG_PART));
  const idleBytes = IDLE_BYTES + idleBytesOfThreads(threads);
  const free = limitBytes - limitBytes / MARGIN_PART - idleBytes - bodyBytes - backlogBytes;
  const eighth = Math.floor(Math.max(free, limitBytes / MIN_STORED_PART) / 8);
  return {
    limitBytes,
    clusterThreads: threads,
    bodyBytes,
    backlogBytes: threads === 0 ? backlogBytes : Math.floor(backlogBytes / 2),
    threadBacklogBytes: threads === 0 ? 0 : Math.floor(backlogBytes / 2),
    threadMarginBytes: threads === 0 ? 0 : Math.floor(limitBytes / MARGIN_PART / 2),
    unreadBytes: Math.floor(limitBytes / UNREAD_PART),
    platformBytes: 3 * eighth,
    clustersBytes: 4 * eighth,
    historyBytes: Math.floor(eighth / 2),
  };
}

/**
 * An estimate: 512 MiB in one cluster took 1.3 times their bytes in the process, and besides each object has a key, an entry in a map, and an object of
 * JavaScript.
 */
const OBJECT_BYTES = 600;
export const RESIDENT_FACTOR = 1.35;

/** Memory for stored objects. */
export const residentBytes = ({ objects, bytes, kept = 0 }: StoredAmount): number =>
  objects * OBJECT_BYTES + bytes * RESIDENT_FACTOR + kept;

/** The root of a container, in version 2 and version 1. */
const CGROUP_FILES = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"] as const;

/**
 * The lowest limit of a cgroup, or the physical memory if there is none below it. `constrainedBytes` is what libuv finds in the cgroup of the process,
 * which is not the root in a systemd service; 0 for nothing.
 */
export function detectedMemoryLimit(
  read = readText,
  physicalBytes = totalmem(),
  constrainedBytes = process.constrainedMemory(),
): number {
  // Version 1 writes a huge number for no limit, and version 2 the word max.
  const limits = CGROUP_FILES.map((file) => Number(read(file)?.trim()));
  return Math.min(physicalBytes, ...[...limits, constrainedBytes].filter((limit) => limit > 0));
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
