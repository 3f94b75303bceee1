// The newest revision on disk, in memory that all threads share: each of them knows without asking whether it has seen everything.

import type { Revision } from "@postern/apiserver/storage/storage";

export const createNewestRevision = (): SharedArrayBuffer => new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);

export const publishNewest = (memory: SharedArrayBuffer, revision: Revision): void =>
  void Atomics.store(new BigInt64Array(memory), 0, BigInt(revision));

/** Returns a function that reads it. */
export function newestReader(memory: SharedArrayBuffer): () => Revision {
  const cell = new BigInt64Array(memory);
  return () => Number(Atomics.load(cell, 0));
}
