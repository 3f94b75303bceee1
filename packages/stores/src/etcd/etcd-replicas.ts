// The servers on one etcd: each keeps a key on a lease and lets nobody in without it. Whoever has written something that must hold
// everywhere asks all of them, and waits until each has answered or its key is gone.

import type { Replicas, ReplicasDeps } from "@postern/apiserver/storage/replicas";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import { EtcdLease } from "./etcd-lease.ts";
import type { EtcdEvent } from "./etcd-messages.ts";
import type { EtcdStorage } from "./etcd-storage.ts";
import { type Scheduler, systemScheduler } from "./etcd-timers.ts";

export type EtcdReplicasDeps = ReplicasDeps & {
  readonly storage: Pick<EtcdStorage, "connection" | "keys" | "followOwnKeys">;
  /** No other server has the same. */
  readonly id: string;
  readonly scheduler?: Scheduler;
};

/** A lease is relied upon for four fifths of it: as long as a server may be without news. */
const TTL_SECONDS = 13;
const RETRY_MS = 500;
/** An answer that was not seen is looked for again after this. */
const LOOK_AGAIN_MS = 250;

export const createEtcdReplicas = (deps: EtcdReplicasDeps): Replicas => new EtcdReplicas(deps);

class EtcdReplicas implements Replicas {
  readonly entered: Promise<void>;
  readonly #deps: EtcdReplicasDeps;
  readonly #scheduler: Scheduler;
  readonly #key: Buffer;
  readonly #stopping = createSharedAbortController();
  readonly #following: Disposable;
  readonly #ended: Promise<void>;
  readonly #listeners = new Set<() => void>();
  /** What the others have answered since this server started, by their keys. */
  readonly #answers = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #lease: EtcdLease | undefined;
  #settleEntered = (): void => {};
  /** Many who wait at the same moment ask and read together. */
  readonly #ask: () => Promise<number>;
  readonly #readOthers: () => Promise<ReadonlyMap<string, number>>;
  #asked = 0;
  #answering = false;

  constructor(deps: EtcdReplicasDeps) {
    this.#deps = deps;
    this.#scheduler = deps.scheduler ?? systemScheduler;
    this.#key = Buffer.from(deps.storage.keys.replica(deps.id));
    this.#ask = sharedRuns(() => this.#put(deps.storage.keys.ask, NOTHING));
    this.#readOthers = sharedRuns(() => this.#readReplicas());
    this.entered = new Promise((resolve) => {
      this.#settleEntered = resolve;
    });
    this.#following = deps.storage.followOwnKeys((events) => this.#see(events));
    this.#ended = this.#stay();
  }

  isFresh(): boolean {
    return this.#lease?.isHeld() === true;
  }

  onStale(listener: () => void): Disposable {
    const own = (): void => {
      this.#listeners.delete(own);
      listener();
    };
    this.#listeners.add(own);
    if (!this.isFresh()) queueMicrotask(() => this.#listeners.has(own) && own());
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  async allKnow(): Promise<void> {
    const end = new AbortController();
    // Whoever has not seen the write by then has had no news for as long, and lets nobody in.
    using _ = this.#scheduler.schedule(this.#deps.boundMs, () => end.abort(), { isAwaited: true });
    let asked: number | undefined;
    while (!end.signal.aborted && !this.#stopping.signal.aborted) {
      const changed = this.#untilChange(end.signal);
      try {
        // Read after the write: a server that enters later loads it.
        const others = await this.#readOthers();
        if (others.size === 0) return;
        // The revision that each of the others must have reached.
        asked ??= await this.#ask();
        const missing = [...others].filter(
          ([key, answer]) => Math.max(answer, this.#answers.get(key) ?? 0) < (asked ?? 0),
        );
        if (missing.length === 0) return;
      } catch {
        // A store that is out of reach: the time that passes is what can be relied upon.
      }
      await changed;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#following[Symbol.dispose]();
    await this.#ended;
    this.#listeners.clear();
  }

  /** Until a server has answered or has gone; at the latest a moment later. */
  #untilChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer[Symbol.dispose]();
        this.#waiting.delete(end);
        signal.removeEventListener("abort", end);
        this.#stopping.signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#scheduler.schedule(LOOK_AGAIN_MS, end, { isAwaited: true });
      this.#waiting.add(end);
      signal.addEventListener("abort", end);
      this.#stopping.signal.addEventListener("abort", end);
    });
  }

  async #readReplicas(): Promise<ReadonlyMap<string, number>> {
    const { connection, keys } = this.#deps.storage;
    const { kvs = [] } = await connection.call(connection.methods.range, keys.replicas, { repeatable: true });
    const others = new Map<string, number>();
    for (const { key = NOTHING, value = NOTHING } of kvs) {
      if (!this.#key.equals(key)) others.set(textOf(key), Number(textOf(value)));
    }
    return others;
  }

  async #put(key: Uint8Array, value: Uint8Array, lease?: number): Promise<number> {
    const { connection } = this.#deps.storage;
    const put = { key, value, ...(lease === undefined ? {} : { lease }) };
    const { header } = await connection.call(
      connection.methods.txn,
      { compare: [], success: [{ request_put: put }] },
      { repeatable: true },
    );
    return header?.revision ?? 0;
  }

  #see(events: readonly EtcdEvent[]): void {
    const { ask, replicas } = this.#deps.storage.keys;
    let isChanged = false;
    for (const { type, kv } of events) {
      const key = kv?.key ?? NOTHING;
      if (Buffer.compare(key, ask) === 0) {
        this.#asked = Math.max(this.#asked, kv?.mod_revision ?? 0);
        void this.#answer();
      } else if (Buffer.compare(key, replicas.key) >= 0 && Buffer.compare(key, replicas.range_end) < 0) {
        isChanged = true;
        if (type === "DELETE") this.#answers.delete(textOf(key));
        else this.#answers.set(textOf(key), Number(textOf(kv?.value ?? NOTHING)));
      }
    }
    if (isChanged) for (const end of [...this.#waiting]) end();
  }

  /** Says how far this server is; one answer serves all who have asked meanwhile. */
  async #answer(): Promise<void> {
    if (this.#answering) return;
    this.#answering = true;
    try {
      for (let answered = 0; answered < this.#asked; ) {
        const lease = this.#lease;
        // Without a lease, this server refuses all credentials.
        if (lease === undefined) return;
        const asked = this.#asked;
        await this.#deps.waitFor(asked);
        await this.#put(this.#key, Buffer.from(String(asked)), lease.id);
        answered = asked;
      }
    } catch {
      // Those who wait do so until this server is known to have had no news.
    } finally {
      this.#answering = false;
    }
  }

  /** Enters, and enters again whenever the lease is lost. */
  async #stay(): Promise<void> {
    const { connection } = this.#deps.storage;
    const stopped = untilAborted(this.#stopping.signal);
    while (!this.#stopping.signal.aborted) {
      let lease: EtcdLease | undefined;
      try {
        lease = await EtcdLease.grant({ connection, scheduler: this.#scheduler, ttlSeconds: TTL_SECONDS });
        await this.#put(this.#key, Buffer.from("0"), lease.id);
        // What was written while nobody waited for this server.
        await this.#deps.refresh();
        this.#lease = lease;
        this.#settleEntered();
        // Someone may have asked between the key and the lease.
        void this.#answer();
        await Promise.race([untilAborted(lease.signal), stopped]);
      } catch {
        // The store is out of reach, which shows by the lease that is not there.
      }
      this.#lease = undefined;
      for (const listener of [...this.#listeners]) listener();
      await lease?.[Symbol.asyncDispose]();
      if (!this.#stopping.signal.aborted) await Promise.race([this.#pause(), stopped]);
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#scheduler.schedule(RETRY_MS, resolve));
  }
}

const NOTHING = new Uint8Array();

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

// Lets callers that come together share one run of a task.

/**
 * Each call resolves with what a run gave that began after the call, and rejects as that run does. At most one is under way; all who call
 * meanwhile share the next.
 */
export function sharedRuns<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    const begun = run();
    current = begun;
    const end = (): void => {
      if (current === begun) current = undefined;
    };
    begun.then(end, end);
    return begun;
  };
  const startNext = (): Promise<Result> => {
    next = undefined;
    // A call between the runs may have begun it.
    return current ?? start();
  };
  return () => {
    if (current === undefined) return start();
    next ??= current.then(startNext, startNext);
    return next;
  };
}
