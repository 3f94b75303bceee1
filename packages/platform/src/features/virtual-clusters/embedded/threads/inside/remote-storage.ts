// The part of the store of one cluster, as its thread sees it: the front reads, writes and watches for it.

import type { Revision, Storage, WatchObserver } from "@postern/apiserver/storage/storage";
import type { FrontCalls, FrontNotes, ThreadNotes } from "../messages/cluster-methods.ts";
import { prefixOfCluster } from "../messages/cluster-prefix.ts";
import type { Link, NoteHandlers } from "../messages/link.ts";
import { unpackEntries, unpackEvents, wholeBuffer } from "../messages/wire-bytes.ts";
import { decodeError } from "../messages/wire-errors.ts";

/** The watches of the store of all clusters of a thread. */
export type RemoteWatches = {
  readonly notes: Pick<NoteHandlers<ThreadNotes>, "events" | "watchFailed">;
  /** `slot` is that of the cluster, for which the thread works when an event arrives. */
  add(slot: number, observer: WatchObserver): number;
  remove(watch: number): void;
};

export function createRemoteWatches(workFor: (slot: number) => void): RemoteWatches {
  const watches = new Map<number, { readonly slot: number; readonly observer: WatchObserver }>();
  let last = 0;
  return {
    notes: {
      events({ watch, events, revision }) {
        const found = watches.get(watch);
        if (found === undefined) return;
        workFor(found.slot);
        found.observer.events(events === undefined ? [] : unpackEvents(events), revision);
      },
      watchFailed({ watch, error }) {
        const found = watches.get(watch);
        watches.delete(watch);
        found?.observer.error(decodeError(error));
      },
    },
    add(slot, observer) {
      watches.set(++last, { slot, observer });
      return last;
    },
    remove: (watch) => void watches.delete(watch),
  };
}

export type RemoteStorageDeps = {
  readonly uid: string;
  readonly slot: number;
  readonly front: () => Link<FrontCalls, FrontNotes>;
  readonly watches: RemoteWatches;
  /** Whether other servers write to the store as well. */
  readonly isShared: boolean;
};

export function createRemoteStorage({ uid, slot, front, watches, isShared }: RemoteStorageDeps): Storage {
  const whole = prefixOfCluster(uid);
  /** Where this server alone writes to the store, only this thread writes to this part of it. */
  let newest: Revision = 0;
  const reached = (revision: Revision): Revision => {
    newest = Math.max(newest, revision);
    return revision;
  };
  return {
    get: (key, { signal } = {}) => front().call("get", { uid, key }, { signal }),
    async list(prefix, { signal, ...options } = {}) {
      const packed = await front().call("list", { uid, prefix, options }, { signal });
      const { revision, remaining } = packed;
      return { entries: unpackEntries(packed), revision: reached(revision), remaining };
    },
    create: async (key, value) => reached(await front().call("create", { uid, key, value: wholeBuffer(value) })),
    update: async (key, value, expected) =>
      reached(await front().call("update", { uid, key, value: wholeBuffer(value), expected })),
    delete: async (key, expected) => reached(await front().call("delete", { uid, key, expected })),
    checkRoom: (key, value, kind) => front().call("checkRoom", { uid, key, value: wholeBuffer(value), kind }),
    watch(prefix, fromRevision, observer) {
      // The cache keeps the previous state itself.
      const withPrevious = prefix !== whole;
      const watch = watches.add(slot, observer);
      front().note("watch", { uid, watch, prefix, fromRevision, withPrevious });
      return {
        [Symbol.dispose]() {
          watches.remove(watch);
          front().note("unwatch", { watch });
        },
      };
    },
    currentRevision: () =>
      isShared || newest === 0 ? front().call("currentRevision", { uid }) : Promise.resolve(newest),
    ...(isShared
      ? {}
      : {
          known: {
            get revision() {
              return newest;
            },
          },
        }),
    compact: () => Promise.reject(new Error("a cluster does not compact the store")),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
