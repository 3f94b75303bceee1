// Leases as etcd keeps them, reached over a bad network, and who holds them really.

import type { LeaderElection, Leadership } from "@postern/apiserver/storage/leader-election";
import type { SimulatedTime, VirtualTime } from "./virtual-time.ts";

const TTL_MS = 10_000;
/** As the lease of etcd has it: ours ends first. */
const MARGIN = 0.8;
const RENEWAL_MS = TTL_MS / 4;
const RETRY_MS = 500;

/** The lease as the store knows it. */
export class LeaseTable {
  readonly #world: VirtualTime;
  #holder: string | undefined;
  #until = 0;

  constructor(world: VirtualTime) {
    this.#world = world;
  }

  get holder(): string | undefined {
    return this.#world.now() < this.#until ? this.#holder : undefined;
  }

  /** Takes or keeps the lease; false when another one has it, or when it ran out before it was kept. */
  hold(identity: string, isNew: boolean): boolean {
    const { holder } = this;
    if (isNew ? holder !== undefined : holder !== identity) return false;
    this.#holder = identity;
    this.#until = this.#world.now() + TTL_MS;
    return true;
  }

  release(identity: string): void {
    if (this.#holder === identity) this.#until = 0;
  }
}

export type SimulatedElectionOptions = {
  readonly table: LeaseTable;
  readonly time: SimulatedTime;
  /** Rejects when the call, or its answer, is lost. */
  readonly call: <Result>(perform: () => Promise<Result>) => Promise<Result>;
  /** Told of each lease that is won. */
  readonly onWon: (lease: string) => void;
};

export function createSimulatedElection({ table, time, call, onWon }: SimulatedElectionOptions): LeaderElection {
  let campaigns = 0;

  const lead = (identity: string, firstAskedAt: number): Leadership => {
    const over = new AbortController();
    let askedAt = firstAskedAt;
    const isHeld = (): boolean => {
      if (time.elapsed() > askedAt + TTL_MS * MARGIN) over.abort();
      return !over.signal.aborted;
    };
    const watchEnd = (): void => {
      const left = Math.max(askedAt + TTL_MS * MARGIN - time.elapsed(), 0) + 1;
      time.schedule(left, () => {
        if (isHeld()) watchEnd();
      });
    };
    const renewLater = (): void => {
      time.schedule(RENEWAL_MS, () => {
        if (!isHeld()) return;
        const at = time.elapsed();
        call(async () => table.hold(identity, false)).then(
          (isKept) => {
            if (isKept) askedAt = Math.max(askedAt, at);
            else over.abort();
          },
          () => undefined,
        );
        renewLater();
      });
    };
    watchEnd();
    renewLater();
    return {
      signal: over.signal,
      isHeld,
      async [Symbol.asyncDispose]() {
        over.abort();
        await call(async () => table.release(identity)).catch(() => undefined);
      },
    };
  };
  return {
    async campaign(_name, identity, signal) {
      for (;;) {
        signal.throwIfAborted();
        // Each one has a lease of its own.
        const own = `${identity}/${++campaigns}`;
        const askedAt = time.elapsed();
        const isWon = await call(async () => table.hold(own, true)).catch(() => false);
        if (isWon) {
          onWon(own);
          return lead(own, askedAt);
        }
        await time.pause(RETRY_MS);
      }
    },
    leader: async () => table.holder,
  };
}
