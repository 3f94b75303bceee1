// The cluster threads: which cluster runs in which, and what follows when a thread ends. A thread begins with its first cluster, and ends some time
// after its last: a server without clusters that run takes no memory for threads.

import { ApiError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { ALONE_THREADS } from "../../../../budgets/memory-limit.ts";
import { createQuarantine, type Quarantine } from "./quarantine.ts";
import type { EndReason } from "./thread-process.ts";

/** A thread that runs clusters. */
export type PooledThread = {
  /** With the error that its calls fail with. */
  close(error: Error): void;
};

export type Place<Thread extends PooledThread> = {
  readonly thread: Thread;
  /** The slot of the cluster in this thread. */
  readonly slot: number;
};

export type ThreadPoolDeps<Thread extends PooledThread> = {
  /** Shared threads that there may be. */
  readonly size: number;
  /** Memory for clusters in one thread, in bytes; a thread for one cluster alone has less. */
  readonly roomBytes: { readonly shared: number; readonly alone: number };
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Bytes that the cluster needs. */
  readonly needOf: (uid: string) => number;
  /** `onEnd` is called once, with the slot that it worked for. */
  readonly start: (name: string, isAlone: boolean, onEnd: OnThreadEnd) => Thread;
  /** These clusters ran in a thread that has ended. `culprit` is the one that it worked for; undefined if it is not known. */
  readonly onLost: (uids: readonly string[], culprit: string | undefined, reason: EndReason) => void;
};

export type OnThreadEnd = (reason: EndReason, slot: number) => void;

type Entry<Thread extends PooledThread> = {
  readonly name: string;
  readonly thread: Thread;
  readonly isAlone: boolean;
  readonly startedAt: number;
  /** Uids by slot. */
  readonly clusters: Map<number, string>;
  /** Ends a shared thread without clusters. */
  idle: Disposable | undefined;
};

/** Where a thread ended sooner and no cluster is to blame, none begins for as long. */
const SHORT_LIFE_MS = 1_000;
/** A shared thread is kept for so long without a cluster: its start takes the processor time of a hundred requests. */
const IDLE_MS = 60_000;

export type ThreadPool<Thread extends PooledThread> = Disposable & {
  /** Throws ApiError 503 for a cluster that may not start now. */
  place(uid: string): Place<Thread>;
  /** The clusters that leave no room for this one in the thread with the most, and the bytes that are missing there. Undefined: there is room. */
  crowding(uid: string): { readonly uids: readonly string[]; readonly missingBytes: number } | undefined;
  /** The cluster in this slot was stopped, or did not start. */
  leave(slot: number): void;
  readonly quarantine: Quarantine;
  readonly threads: readonly { readonly name: string; readonly thread: Thread; readonly clusters: number }[];
  /** Calls back when a thread has been ended, but not for those that were stopped. */
  onThreadEnd(listener: (reason: EndReason) => void): void;
};

export function createThreadPool<Thread extends PooledThread>(deps: ThreadPoolDeps<Thread>): ThreadPool<Thread> {
  const { size, roomBytes, clock, scheduler, needOf, start, onLost } = deps;
  const quarantine = createQuarantine(clock);
  const shared: Entry<Thread>[] = [];
  const alone: Entry<Thread>[] = [];
  const listeners: ((reason: EndReason) => void)[] = [];
  let lastSlot = 0;
  let isOver = false;
  let mayBeginAt = 0;

  function begin(name: string, isAlone: boolean): Entry<Thread> {
    const clusters = new Map<number, string>();
    const entry: Entry<Thread> = {
      name,
      isAlone,
      startedAt: clock.elapsed(),
      clusters,
      idle: undefined,
      thread: start(name, isAlone, (reason, slot) => ended(entry, reason, slot)),
    };
    return entry;
  }

  const all = (): readonly Entry<Thread>[] => [...shared, ...alone];

  function ended(entry: Entry<Thread>, reason: EndReason, slot: number): void {
    forget(entry);
    const uids = [...entry.clusters.values()];
    const culprit = reason === "stopped" ? undefined : entry.clusters.get(slot);
    entry.clusters.clear();
    if (culprit !== undefined) quarantine.add(culprit, reason);
    const why = reason === "stopped" ? "it was stopped" : "it ran in a thread that had to be ended";
    entry.thread.close(serviceUnavailableError(`the virtual cluster starts again: ${why}`));
    if (reason === "stopped" || isOver) return;
    for (const listener of listeners) listener(reason);
    const now = clock.elapsed();
    if (culprit === undefined && now - entry.startedAt < SHORT_LIFE_MS) mayBeginAt = now + SHORT_LIFE_MS;
    onLost(uids, culprit, reason);
  }

  function forget(entry: Entry<Thread>): void {
    entry.idle?.[Symbol.dispose]();
    const list = entry.isAlone ? alone : shared;
    const index = list.indexOf(entry);
    if (index >= 0) list.splice(index, 1);
  }

  /** A thread for one cluster alone is not kept for the next. */
  function emptied(entry: Entry<Thread>): void {
    if (entry.isAlone) stop(entry);
    else entry.idle = scheduler.schedule(IDLE_MS, () => stop(entry));
  }

  function stop(entry: Entry<Thread>): void {
    forget(entry);
    entry.thread.close(serviceUnavailableError("the virtual cluster has been stopped"));
  }

  const used = ({ clusters }: Entry<Thread>): number =>
    [...clusters.values()].reduce((sum, uid) => sum + needOf(uid), 0);

  const roomiestThread = (): { readonly entry: Entry<Thread>; readonly room: number } | undefined =>
    shared
      .map((entry) => ({ entry, room: roomBytes.shared - used(entry) }))
      .sort((one, other) => other.room - one.room)[0];

  /** The next name of a shared thread, if all that run have clusters. */
  const nextName = (): string | undefined => {
    if (shared.some(({ clusters }) => clusters.size === 0) || clock.elapsed() < mayBeginAt) return undefined;
    return freeName("shared", size, shared);
  };

  /** A further one while there may be more, otherwise the one with the most room. */
  function sharedThread(uid: string): Entry<Thread> {
    const name = nextName();
    if (name !== undefined) {
      const entry = begin(name, false);
      shared.push(entry);
      return entry;
    }
    const need = needOf(uid);
    const roomiest = roomiestThread();
    if (roomiest === undefined) throw serviceUnavailableError("the threads for virtual clusters are starting");
    // A cluster that is alone in its thread may have all of it.
    if (need > roomiest.room && roomiest.entry.clusters.size > 0) {
      throw serviceUnavailableError(
        "the virtual cluster waits for memory: the threads for virtual clusters are full",
        30,
      );
    }
    return roomiest.entry;
  }

  function aloneThread(): Entry<Thread> {
    const name = freeName("alone", ALONE_THREADS, alone);
    // Those that stopped a thread hold up each other alone.
    if (name === undefined)
      return alone.reduce((one, other) => (other.clusters.size < one.clusters.size ? other : one));
    const entry = begin(name, true);
    alone.push(entry);
    return entry;
  }

  return {
    place(uid) {
      if (isOver) throw serviceUnavailableError("the server is shutting down");
      const pause = quarantine.pauseOf(uid);
      if (pause !== undefined) throw pausedError(pause);
      const entry = quarantine.has(uid) ? aloneThread() : sharedThread(uid);
      const slot = ++lastSlot;
      entry.idle?.[Symbol.dispose]();
      entry.clusters.set(slot, uid);
      return { thread: entry.thread, slot };
    },
    crowding(uid) {
      const roomiest = quarantine.has(uid) || nextName() !== undefined ? undefined : roomiestThread();
      if (roomiest === undefined) return undefined;
      const missingBytes = Math.min(needOf(uid) - roomiest.room, used(roomiest.entry));
      return missingBytes > 0 ? { uids: [...roomiest.entry.clusters.values()], missingBytes } : undefined;
    },
    leave(slot) {
      const entry = all().find(({ clusters }) => clusters.has(slot));
      if (entry === undefined) return;
      entry.clusters.delete(slot);
      if (entry.clusters.size === 0 && !isOver) emptied(entry);
    },
    quarantine,
    get threads() {
      return all().map(({ name, thread, clusters }) => ({ name, thread, clusters: clusters.size }));
    },
    onThreadEnd: (listener) => void listeners.push(listener),
    [Symbol.dispose]() {
      isOver = true;
      for (const { thread, idle } of all()) {
        idle?.[Symbol.dispose]();
        thread.close(serviceUnavailableError("the server is shutting down"));
      }
    },
  };
}

/** The first free name `<kind>-<number>`, from 1 to `most`. Undefined: all are taken. */
function freeName(kind: string, most: number, taken: readonly { readonly name: string }[]): string | undefined {
  const names = new Set(taken.map(({ name }) => name));
  for (let number = 1; number <= most; number++) if (!names.has(`${kind}-${number}`)) return `${kind}-${number}`;
  return undefined;
}

function pausedError({
  reason,
  message,
  remainingMs,
}: {
  readonly reason: string;
  readonly message: string;
  readonly remainingMs: number;
}): ApiError {
  const text = `the virtual cluster is paused: ${message}`;
  return new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message: text,
    details: { causes: [{ reason, message }], retryAfterSeconds: Math.ceil(remainingMs / 1000) },
  });
}
