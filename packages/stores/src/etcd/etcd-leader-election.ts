// Leader election over etcd: the leader is the server that created the key. The key is attached to the leader's lease.

import type { LeaderElection, Leadership } from "@postern/apiserver/storage/leader-election";
import { asStorageCall } from "./etcd-connection.ts";
import { EtcdLease } from "./etcd-lease.ts";
import type { EtcdStorage } from "./etcd-storage.ts";
import { type Scheduler, systemScheduler } from "./etcd-timers.ts";
import { EtcdWatchStream, FROM_NOW } from "./watch/etcd-watch-stream.ts";

export type EtcdLeaderElectionDeps = {
  readonly storage: Pick<EtcdStorage, "connection" | "keys">;
  /** If a leader ends without resigning, the next one waits this many seconds. Default: 10. */
  readonly ttlSeconds?: number;
  readonly scheduler?: Scheduler;
};

const DEFAULT_TTL_SECONDS = 10;
const RETRY_MS = 500;

export function createEtcdLeaderElection(deps: EtcdLeaderElectionDeps): LeaderElection {
  const { storage, ttlSeconds = DEFAULT_TTL_SECONDS, scheduler = systemScheduler } = deps;
  return new EtcdLeaderElection(storage, ttlSeconds, scheduler);
}

class EtcdLeaderElection implements LeaderElection {
  readonly #storage: EtcdLeaderElectionDeps["storage"];
  readonly #ttlSeconds: number;
  readonly #scheduler: Scheduler;

  constructor(storage: EtcdLeaderElectionDeps["storage"], ttlSeconds: number, scheduler: Scheduler) {
    this.#storage = storage;
    this.#ttlSeconds = ttlSeconds;
    this.#scheduler = scheduler;
  }

  async campaign(name: string, identity: string, signal: AbortSignal): Promise<Leadership> {
    const key = this.#storage.keys.leader(name);
    for (;;) {
      signal.throwIfAborted();
      if (this.#storage.connection.closed) await asStorageCall(this.#read(key));
      // After any failure, the store may be back a little later.
      const lease = await this.#tryOnce(key, identity).catch(() => undefined);
      if (lease !== undefined) {
        if (!signal.aborted) return lease;
        await lease[Symbol.asyncDispose]();
      } else await this.#untilVacant(key, signal);
    }
  }

  async leader(name: string): Promise<string | undefined> {
    const { kvs } = await asStorageCall(this.#read(this.#storage.keys.leader(name)));
    return kvs?.[0] && Buffer.from(kvs[0].value ?? []).toString();
  }

  #read(key: Uint8Array) {
    const { connection } = this.#storage;
    return connection.call(connection.methods.range, { key }, { repeatable: true });
  }

  /** The lease of the key; undefined while another server is the leader. */
  async #tryOnce(key: Uint8Array, identity: string): Promise<EtcdLease | undefined> {
    const { connection } = this.#storage;
    const { kvs } = await this.#read(key);
    if (kvs?.[0] !== undefined) return undefined;
    const lease = await EtcdLease.grant({ connection, scheduler: this.#scheduler, ttlSeconds: this.#ttlSeconds });
    try {
      const { succeeded } = await connection.call(
        connection.methods.txn,
        {
          compare: [{ target: "MOD", key, mod_revision: 0 }],
          success: [{ request_put: { key, value: Buffer.from(identity), lease: lease.id } }],
        },
        { repeatable: false },
      );
      if (succeeded === true) return lease;
    } catch (error) {
      // The key may exist nevertheless: it is deleted with the lease.
      await lease[Symbol.asyncDispose]();
      throw error;
    }
    await lease[Symbol.asyncDispose]();
    return undefined;
  }

  /** Waits until the key is deleted, or for a little while: the caller checks again afterwards. */
  async #untilVacant(key: Uint8Array, signal: AbortSignal): Promise<void> {
    const { connection } = this.#storage;
    await new Promise<void>((resolve) => {
      const end = () => {
        watch[Symbol.dispose]();
        timer[Symbol.dispose]();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const watch = new EtcdWatchStream(connection, {
        range: { key, range_end: Buffer.concat([key, Buffer.of(0)]) },
        startRevision: FROM_NOW,
        receive: ({ events }) => {
          if (events?.some(({ type }) => type === "DELETE")) end();
        },
        // The timer ends the wait.
        lost: () => {},
      });
      const timer = this.#scheduler.schedule(RETRY_MS, end);
      signal.addEventListener("abort", end);
    });
  }
}
