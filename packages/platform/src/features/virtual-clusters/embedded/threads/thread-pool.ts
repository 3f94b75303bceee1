// The cluster threads: which cluster runs in which, and what follows when a thread ends.

import { ApiError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { ALONE_THREADS } from "../../../budgets/memory-limit.ts";
import { createQuarantine, type Quarantine } from "./quarantine.ts";
import type { EndReason } from "./thread-process.ts";

/** A thread that runs clusters. */
export type PooledThread = {
  /** With the error that its calls fail with. */
  close(error: Error): void;
};

export type Place<Thread extends PooledThread> = {
  readonly thread: Thread;
  /** Of the cluster in this thread. */
  readonly slot: number;
};

export type ThreadPoolDeps<Thread extends PooledThread> = {
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
};

/** A thread that ends sooner is started again after as long. */
const SHORT_LIFE_MS = 1_000;

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
  const restarts = new Set<Disposable>();

  function begin(name: string, isAlone: boolean): Entry<Thread> {
    const clusters = new Map<number, string>();
    const entry: Entry<Thread> = {
      name,
      isAlone,
      startedAt: clock.elapsed(),
      clusters,
      thread: start(name, isAlone, (reason, slot) => ended(entry, reason, slot)),
    };
    return entry;
  }

  const all = (): readonly Entry<Thread>[] => [...shared, ...alone];

  function ended(entry: Entry<Thread>, reason: EndReason, slot: number): void {
    const list = entry.isAlone ? alone : shared;
    const index = list.indexOf(entry);
    if (index >= 0) list.splice(index, 1);
    const uids = [...entry.clusters.values()];
    const culprit = reason === "stopped" ? undefined : entry.clusters.get(slot);
    entry.clusters.clear();
    if (culprit !== undefined) quarantine.add(culprit, reason);
    const why = reason === "stopped" ? "it was stopped" : "it ran in a thread that had to be ended";
    entry.thread.close(serviceUnavailableError(`the virtual cluster starts again: ${why}`));
    if (reason === "stopped" || isOver) return;
    for (const listener of listeners) listener(reason);
    if (!entry.isAlone) restart(entry);
    onLost(uids, culprit, reason);
  }

  /** At once, unless it does not even live for a moment. */
  function restart({ name, startedAt }: Entry<Thread>): void {
    if (clock.elapsed() - startedAt >= SHORT_LIFE_MS) return void shared.push(begin(name, false));
    const later = scheduler.schedule(SHORT_LIFE_MS, () => {
      restarts.delete(later);
      if (!isOver) shared.push(begin(name, false));
    });
    restarts.add(later);
  }

  const used = ({ clusters }: Entry<Thread>): number =>
    [...clusters.values()].reduce((sum, uid) => sum + needOf(uid), 0);

  const roomiestThread = (): { readonly entry: Entry<Thread>; readonly room: number } | undefined =>
    shared
      .map((entry) => ({ entry, room: roomBytes.shared - used(entry) }))
      .sort((one, other) => other.room - one.room)[0];

  /** The one with the most room. */
  function sharedThread(uid: string): Entry<Thread> {
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
    if (alone.length >= ALONE_THREADS) {
      // Those that stopped a thread hold up each other alone.
      const [emptiest] = [...alone].sort((one, other) => one.clusters.size - other.clusters.size);
      if (emptiest !== undefined) return emptiest;
    }
    const names = new Set(alone.map(({ name }) => name));
    let number = 1;
    while (names.has(`alone-${number}`)) number++;
    const entry = begin(`alone-${number}`, true);
    alone.push(entry);
    return entry;
  }

  for (let number = 1; number <= size; number++) shared.push(begin(`shared-${number}`, false));

  return {
    place(uid) {
      if (isOver) throw serviceUnavailableError("the server is shutting down");
      const pause = quarantine.pauseOf(uid);
      if (pause !== undefined) throw pausedError(pause);
      const entry = quarantine.has(uid) ? aloneThread() : sharedThread(uid);
      const slot = ++lastSlot;
      entry.clusters.set(slot, uid);
      return { thread: entry.thread, slot };
    },
    crowding(uid) {
      const roomiest = quarantine.has(uid) ? undefined : roomiestThread();
      if (roomiest === undefined) return undefined;
      const missingBytes = Math.min(needOf(uid) - roomiest.room, used(roomiest.entry));
      return missingBytes > 0 ? { uids: [...roomiest.entry.clusters.values()], missingBytes } : undefined;
    },
    leave(slot) {
      const entry = all().find(({ clusters }) => clusters.has(slot));
      if (entry === undefined) return;
      entry.clusters.delete(slot);
      // A thread for one cluster alone is not kept for the next.
      if (!entry.isAlone || entry.clusters.size > 0) return;
      alone.splice(alone.indexOf(entry), 1);
      entry.thread.close(serviceUnavailableError("the virtual cluster has been stopped"));
    },
    quarantine,
    get threads() {
      return all().map(({ name, thread, clusters }) => ({ name, thread, clusters: clusters.size }));
    },
    onThreadEnd: (listener) => void listeners.push(listener),
    [Symbol.dispose]() {
      isOver = true;
      for (const later of restarts) later[Symbol.dispose]();
      for (const { thread } of all()) thread.close(serviceUnavailableError("the server is shutting down"));
    },
  };
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
