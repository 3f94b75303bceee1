// The memory that the server may use, and the budgets that follow from it: for the platform, for all embedded clusters together, and for history.

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";

export type MemoryBudgets = {
  readonly limitBytes: number;
  /** Objects and bytes outside embedded clusters. */
  readonly platformBytes: number;
  /** All embedded clusters together. */
  readonly clustersBytes: number;
  /** Recent events for watches: as much for the platform, and for all embedded clusters together. */
  readonly historyBytes: number;
};

const MIB = 1 << 20;
/** The idle process, with code and space for the garbage collector. */
const IDLE_BYTES = 128 * MIB;
/** At least this part of the limit is for what is stored, however large the buffers are. */
const MIN_STORED_PART = 4;

/** `buffersBytes` is the most that request bodies and events for slow watches may take. */
export function memoryBudgets(limitBytes: number, buffersBytes: number): MemoryBudgets {
  const rest = Math.max(limitBytes - IDLE_BYTES - buffersBytes, limitBytes / MIN_STORED_PART);
  const eighth = Math.floor(rest / 8);
  return { limitBytes, platformBytes: 3 * eighth, clustersBytes: 4 * eighth, historyBytes: Math.floor(eighth / 2) };
}

/**
 * An estimate: 512 MiB in one cluster took 1.3 times their bytes in the process, and besides each object has a key, an entry in a map, and an object of
 * JavaScript.
 */
const OBJECT_BYTES = 600;
const RESIDENT_FACTOR = 1.35;

/** Memory for stored objects. */
export const residentBytes = ({ objects, bytes }: StoredAmount): number =>
  objects * OBJECT_BYTES + bytes * RESIDENT_FACTOR;

/** Version 2, then version 1. The first one that is a number wins. */
const CGROUP_FILES = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"] as const;

/** The limit of the cgroup, or the physical memory if there is none below it. */
export function detectedMemoryLimit(read = readText, physicalBytes = totalmem()): number {
  for (const file of CGROUP_FILES) {
    const text = read(file)?.trim() ?? "";
    // Version 1 writes a huge number for no limit, and version 2 the word max.
    if (/^\d+$/.test(text) && Number(text) > 0) return Math.min(Number(text), physicalBytes);
  }
  return physicalBytes;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
