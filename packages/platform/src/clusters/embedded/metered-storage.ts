// Enforces the quota of one embedded cluster: a number of objects and of bytes (ADR 71).

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Storage } from "@postern/apiserver/storage/storage";

export type StorageShare = { readonly objects: number; readonly bytes: number };

/** The quota of a cluster if its project has none. */
export const DEFAULT_SHARE: StorageShare = { objects: 200_000, bytes: 512 * 1024 * 1024 };

/** Updates may exceed the quota a little: without them no deletion could be completed. */
const UPDATE_ROOM = 1.1;
/** The part of the quota that may be written before everything is counted again. */
const RECOUNT_SHARE = 0.02;

export type MeteredStorage = {
  readonly storage: Storage;
  /** Sets the function that counts everything. Until then, while the initial objects of the cluster are created, nothing is refused. */
  countBy(count: () => StorageShare): void;
};

/** Adds up what is written, and counts everything only if that may have reached the quota. */
export function meteredStorage(storage: Storage, shareOf: () => StorageShare): MeteredStorage {
  let count: (() => StorageShare) | undefined;
  let known: StorageShare | undefined;
  let objects = 0;
  let bytes = 0;

  function check(size: number, room: number): void {
    if (count === undefined) return;
    const share = shareOf();
    const exceeds = (): boolean =>
      known === undefined ||
      known.objects + objects >= share.objects * room ||
      known.bytes + bytes + size > share.bytes * room;
    const isMuch = objects > share.objects * RECOUNT_SHARE || bytes > share.bytes * RECOUNT_SHARE;
    if (known === undefined || isMuch || exceeds()) {
      if (known === undefined || objects + bytes > 0) known = count();
      objects = 0;
      bytes = 0;
    }
    if (!exceeds()) return;
    throw new ApiError({
      code: 507,
      reason: "InsufficientStorage",
      message: `this virtual cluster is full: it has ${known.objects} objects of ${share.objects} and ${known.bytes} bytes of ${share.bytes}; delete some, or raise spec.quotas of its project`,
    });
  }

  return {
    countBy(counter) {
      count = counter;
    },
    storage: {
      get: (...call) => storage.get(...call),
      list: (...call) => storage.list(...call),
      async create(key, value, content) {
        check(value.length, 1);
        const revision = await storage.create(key, value, content);
        objects++;
        bytes += value.length;
        return revision;
      },
      async update(key, value, expected) {
        check(value.length, UPDATE_ROOM);
        const revision = await storage.update(key, value, expected);
        // The next count includes what existed before.
        bytes += value.length;
        return revision;
      },
      async delete(key, expected) {
        const revision = await storage.delete(key, expected);
        // Deletions may have made room: the next write that seems too large counts everything.
        bytes += 1;
        return revision;
      },
      watch: (...call) => storage.watch(...call),
      currentRevision: () => storage.currentRevision(),
      known: storage.known,
      compact: (...call) => storage.compact(...call),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}
