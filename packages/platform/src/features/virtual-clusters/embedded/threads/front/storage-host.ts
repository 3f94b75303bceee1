// The store as a cluster thread reaches it: each thread reads, writes and watches the parts of its clusters, and nothing else.

import type { Storage, WatchObserver } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { prefixOfCluster } from "../messages/cluster-prefix.ts";
import { type CallHandlers, type Link, type NoteHandlers, Transferred } from "../messages/link.ts";
import { buffersOf, packEntries, packEvents } from "../messages/wire-bytes.ts";
import { encodeError } from "../messages/wire-errors.ts";
import type { ClusterFeed } from "./cluster-feed.ts";

type StorageCall = "get" | "list" | "create" | "update" | "delete" | "checkRoom" | "currentRevision";

export type StorageHost = Disposable & {
  readonly calls: Pick<CallHandlers<FrontCalls>, StorageCall>;
  readonly notes: Pick<NoteHandlers<FrontNotes>, "watch" | "unwatch">;
};

export type StorageHostDeps = {
  readonly storage: Storage;
  readonly feed: ClusterFeed;
  /** Whether the cluster runs in this thread: writes in progress must not follow its deletion, or its start in another thread. */
  readonly isOpen: (uid: string) => boolean;
  readonly thread: () => Pick<Link<ThreadCalls, ThreadNotes>, "note">;
};

export function createStorageHost({ storage, feed, isOpen, thread }: StorageHostDeps): StorageHost {
  const watches = new Map<number, Disposable>();

  /** Throws StorageUnavailableError for a cluster that has been stopped. */
  function check(uid: string, key: string): void {
    if (!key.startsWith(prefixOfCluster(uid))) throw new Error(`${key} is not of this cluster`);
    if (!isOpen(uid)) throw new StorageUnavailableError("the virtual cluster has been stopped");
  }

  const observerOf = (watch: number, withPrevious: boolean): WatchObserver => ({
    events(events, revision) {
      const packed = events.length === 0 ? undefined : packEvents(events, withPrevious);
      thread().note("events", { watch, events: packed, revision }, buffersOf(packed, packed?.previous));
    },
    error(error) {
      watches.delete(watch);
      thread().note("watchFailed", { watch, error: encodeError(error) });
    },
  });

  return {
    calls: {
      get({ uid, key }) {
        check(uid, key);
        return storage.get(key);
      },
      async list({ uid, prefix, options }) {
        check(uid, prefix);
        const { entries, revision, remaining } = await storage.list(prefix, options);
        const packed = packEntries(entries);
        return new Transferred({ ...packed, revision, remaining }, buffersOf(packed));
      },
      create({ uid, key, value }) {
        check(uid, key);
        return storage.create(key, value);
      },
      update({ uid, key, value, expected }) {
        check(uid, key);
        return storage.update(key, value, expected);
      },
      delete({ uid, key, expected }) {
        check(uid, key);
        return storage.delete(key, expected);
      },
      async checkRoom({ uid, key, value, kind }) {
        check(uid, key);
        await storage.checkRoom(key, value, kind);
        return undefined;
      },
      async currentRevision({ uid }) {
        const revision = await storage.currentRevision();
        feed.tell(prefixOfCluster(uid), revision);
        return revision;
      },
    },
    notes: {
      watch({ uid, watch, prefix, fromRevision, withPrevious }) {
        const observer = observerOf(watch, withPrevious);
        try {
          check(uid, prefix);
        } catch (error) {
          // The thread knows what is closed by then.
          observer.error(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        const isOfCluster = prefix === prefixOfCluster(uid);
        const handle = isOfCluster
          ? feed.join(prefix, fromRevision, observer)
          : storage.watch(prefix, fromRevision, observer);
        watches.set(watch, handle);
      },
      unwatch({ watch }) {
        watches.get(watch)?.[Symbol.dispose]();
        watches.delete(watch);
      },
    },
    [Symbol.dispose]() {
      for (const watch of watches.values()) watch[Symbol.dispose]();
      watches.clear();
    },
  };
}
