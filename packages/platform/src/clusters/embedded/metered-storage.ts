// Holds one embedded cluster to its share of the store: so many objects, and so many bytes (ADR 71).

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Storage } from "@postern/apiserver/storage/storage";

export type StorageShare = { readonly objects: number; readonly bytes: number };

/** What a cluster may have where its project says nothing. */
export const DEFAULT_SHARE: StorageShare = { objects: 200_000, bytes: 512 * 1024 * 1024 };

/** Updates go on a little longer: without them nothing could be brought to its end. */
const UPDATE_ROOM = 1.1;
/** So much of the share may be written before everything is counted again. */
const RECOUNT_SHARE = 0.02;

export type MeteredStorage = {
  readonly storage: Storage;
  /** Says how all there is is counted, once it can be. Until then, which is while the cluster gets its first objects, nothing is refused. */
  countBy(count: () => StorageShare): void;
};

/** Counts what is written, and looks at all there is only when that has become much. */
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
      async create(key, value) {
        check(value.length, 1);
        const revision = await storage.create(key, value);
        objects++;
        bytes += value.length;
        return revision;
      },
      async update(key, value, expected) {
        check(value.length, UPDATE_ROOM);
        const revision = await storage.update(key, value, expected);
        // What was there before it is found out when all is counted again.
        bytes += value.length;
        return revision;
      },
      async delete(key, expected) {
        const revision = await storage.delete(key, expected);
        // Room may have been made: the next write that seems too much counts.
        bytes += 1;
        return revision;
      },
      watch: (...call) => storage.watch(...call),
      currentRevision: () => storage.currentRevision(),
      knownRevision: storage.knownRevision,
      compact: (...call) => storage.compact(...call),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}
