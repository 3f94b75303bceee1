// The notices of access keys in the store. A write succeeds on one of several servers.

import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { decodeEntry, decodeNotices, encodeNotices, type NoticeRecord } from "./notice-records.ts";

export type StoredNotices = { readonly entry: StoredEntry; readonly record: NoticeRecord };

/** Records by the uid of their key. */
export type NoticeStore = {
  /** As of memory, which may be behind the store. */
  known(uid: string): NoticeRecord | undefined;
  /** uids of the records in memory. */
  uids(): readonly string[];
  read(uid: string, signal?: AbortSignal): Promise<StoredNotices | undefined>;
  /** Resolves with false if another server has written since `before` was read. */
  write(uid: string, before: StoredNotices | undefined, next: NoticeRecord): Promise<boolean>;
  /** Deletes a record that has not changed since it was read. */
  delete(stored: StoredNotices): Promise<void>;
};

export function createNoticeStore(storage: Storage, { view, prefix }: ViewPrefix): NoticeStore {
  return {
    known(uid) {
      const object = view.get(prefix + uid);
      return object && decodeNotices(object);
    },
    uids: () => view.list(prefix).map(({ key }) => key.slice(prefix.length)),
    async read(uid, signal) {
      const entry = await storage.get(prefix + uid, signal === undefined ? {} : { signal });
      return entry && { entry, record: decodeEntry(entry) };
    },
    async write(uid, before, next) {
      return (await putUnlessConflict(storage, prefix + uid, encodeNotices(uid, next), before?.entry)) !== undefined;
    },
    async delete({ entry }) {
      await unlessConflict(storage.delete(entry.key, entry.revision));
    },
  };
}
