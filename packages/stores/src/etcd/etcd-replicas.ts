// The servers on one etcd. Each has a key on a lease, and accepts no credential without it. After a write that must apply everywhere, a
// server asks all others and waits until each has answered or its key is gone.

import type { Replicas, ReplicasDeps } from "@postern/apiserver/storage/replicas";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import { EtcdLease } from "./etcd-lease.ts";
import type { EtcdStorage } from "./etcd-storage.ts";
import { type Scheduler, systemScheduler } from "./etcd-timers.ts";
import type { EtcdEvent } from "./protocol/etcd-messages.ts";
import { sharedRuns } from "./shared-runs.ts";

export type EtcdReplicasDeps = ReplicasDeps & {
  readonly storage: Pick<EtcdStorage, "connection" | "keys" | "followOwnKeys">;
  /** Unique among the servers. */
  readonly id: string;
  readonly scheduler?: Scheduler;
};

/** A lease counts as held for four fifths of its TTL: the longest time that a server may miss changes. */
const TTL_SECONDS = 13;
const RETRY_MS = 500;
/** Reads the answers again after this time, in case an event was missed. */
const LOOK_AGAIN_MS = 250;

export const createEtcdReplicas = (deps: EtcdReplicasDeps): Replicas => new EtcdReplicas(deps);

/** Takes the key of a server that has certainly ended, for which others would wait until its lease expires. */
export async function forgetReplica(
  { connection, keys }: Pick<EtcdStorage, "connection" | "keys">,
  id: string,
): Promise<void> {
  const success = [{ request_delete_range: { key: keys.replica(id) } }];
  await connection.call(connection.methods.txn, { compare: [], success }, { repeatable: true });
}

class EtcdReplicas implements Replicas {
  readonly entered: Promise<void>;
  readonly #deps: EtcdReplicasDeps;
  readonly #scheduler: Scheduler;
  readonly #key: Buffer;
  readonly #stopping = createSharedAbortController();
  readonly #following: Disposable;
  readonly #ended: Promise<void>;
  readonly #listeners = new Set<() => void>();
  /** The answers of the other servers since this server started, by their keys. */
  readonly #answers = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #lease: EtcdLease | undefined;
  #settleEntered = (): void => {};
  /** Concurrent waits share one question and one read. */
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
    const begun = performance.now();
    // Read after the write: a server that starts later loads the write itself.
    let others = await this.#readOthers().catch(() => undefined);
    // The usual case of a single server needs no timers.
    if (others?.size === 0) return;
    const end = new AbortController();
    const leftMs = Math.max(this.#deps.boundMs - (performance.now() - begun), 0);
    // A server that has not seen the write by then has received no changes for as long, and accepts no credentials.
    using _ = this.#scheduler.schedule(leftMs, () => end.abort(), { isAwaited: true });
    let asked: number | undefined;
    while (!end.signal.aborted && !this.#stopping.signal.aborted) {
      const changed = this.#untilChange(end.signal);
      try {
        others ??= await this.#readOthers();
        if (others.size === 0) return;
        // The revision that each of the others must have reached.
        asked ??= await this.#ask();
        const missing = [...others].filter(
          ([key, answer]) => Math.max(answer, this.#answers.get(key) ?? 0) < (asked ?? 0),
        );
        if (missing.length === 0) return;
      } catch {
        // The store is unreachable: only waiting for the time limit is safe.
      }
      others = undefined;
      await changed;
    }
  }

  async count(): Promise<number> {
    return (await this.#readOthers()).size + 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#following[Symbol.dispose]();
    await this.#ended;
    this.#listeners.clear();
  }

  /** Until a server has confirmed or is gone, but no longer than LOOK_AGAIN_MS. */
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

  /** Reports the revision that this server has reached. One answer serves all questions so far. */
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
      // The others wait until this server's lease has expired.
    } finally {
      this.#answering = false;
    }
  }

  /** Registers this server, and again whenever the lease is lost. */
  async #stay(): Promise<void> {
    const { connection } = this.#deps.storage;
    const stopped = untilAborted(this.#stopping.signal);
    while (!this.#stopping.signal.aborted) {
      let lease: EtcdLease | undefined;
      try {
        lease = await EtcdLease.grant({ connection, scheduler: this.#scheduler, ttlSeconds: TTL_SECONDS });
        await this.#put(this.#key, Buffer.from("0"), lease.id);
        // Reads what was written while no other server waited for this one.
        await this.#deps.refresh();
        this.#lease = lease;
        this.#settleEntered();
        // Another server may have asked between the key and the lease.
        void this.#answer();
        await Promise.race([untilAborted(lease.signal), stopped]);
      } catch {
        // The store is unreachable; the missing lease shows that.
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
