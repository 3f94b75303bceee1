// A lease of etcd, kept alive until it is given up or no longer reliable.

import { randomInt } from "node:crypto";
import type { EtcdConnection } from "./etcd-connection.ts";
import type { Scheduler } from "./etcd-timers.ts";
import type { GrpcStream } from "./grpc/grpc-channel.ts";
import type { LeaseKeepAliveRequest } from "./protocol/etcd-messages.ts";

export type EtcdLeaseDeps = {
  readonly connection: EtcdConnection;
  readonly scheduler: Scheduler;
  readonly ttlSeconds: number;
};

/** Etcd counts from the arrival of a renewal, this process from its start: ours ends first, and by this much earlier. */
const MARGIN = 0.8;
const RENEWALS_PER_TTL = 4;

export class EtcdLease implements AsyncDisposable {
  readonly id: number;
  readonly #deps: EtcdLeaseDeps;
  readonly #over = new AbortController();
  #stream: GrpcStream<LeaseKeepAliveRequest> | undefined;
  #renewal: Disposable | undefined;
  #expiry: Disposable | undefined;
  #askedAt: number;

  /** Rejects as the connection does. */
  static async grant(deps: EtcdLeaseDeps): Promise<EtcdLease> {
    const { connection, ttlSeconds } = deps;
    // Chosen here: IDs that etcd chooses are larger than the integers that JavaScript represents exactly.
    const id = randomInt(1, 2 ** 48 - 1);
    const askedAt = performance.now();
    await connection.call(connection.methods.leaseGrant, { ID: id, TTL: ttlSeconds }, { repeatable: false });
    return new EtcdLease(id, askedAt, deps);
  }

  private constructor(id: number, askedAt: number, deps: EtcdLeaseDeps) {
    this.id = id;
    this.#askedAt = askedAt;
    this.#deps = deps;
    this.#extend(askedAt);
    this.#renewLater();
  }

  /** Aborted when etcd may have let the lease expire. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Like the signal, but also false if the time is over and no timer has fired yet. */
  isHeld(): boolean {
    if (performance.now() > this.#askedAt + this.#ttlMs * MARGIN) this.#end();
    return !this.#over.signal.aborted;
  }

  /** Gives the lease back. Its keys are deleted at once, or when it expires if etcd is unreachable. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    const { connection } = this.#deps;
    await connection
      .call(connection.methods.leaseRevoke, { ID: this.id }, { repeatable: true })
      // It expires by itself.
      .catch(() => {});
  }

  #end(): void {
    this.#over.abort();
    this.#renewal?.[Symbol.dispose]();
    this.#expiry?.[Symbol.dispose]();
    this.#stream?.cancel();
    this.#stream = undefined;
  }

  get #ttlMs(): number {
    return this.#deps.ttlSeconds * 1_000;
  }

  #extend(askedAt: number): void {
    this.#expiry?.[Symbol.dispose]();
    const left = askedAt + this.#ttlMs * MARGIN - performance.now();
    this.#expiry = this.#deps.scheduler.schedule(Math.max(left, 0), () => this.#end());
  }

  #renewLater(): void {
    this.#renewal = this.#deps.scheduler.schedule(this.#ttlMs / RENEWALS_PER_TTL, () => this.#renew());
  }

  #renew(): void {
    // A suspended process may get here after its time.
    if (!this.isHeld()) return;
    this.#renewLater();
    // Leaves an endpoint that has not answered since the last renewal.
    if (this.#stream !== undefined) this.#leaveEndpoint();
    if (!this.#deps.connection.closed) this.#open();
  }

  #open(): void {
    const { connection } = this.#deps;
    const askedAt = performance.now();
    const stream = connection.endpoint.stream(connection.methods.leaseKeepAlive, {
      message: ({ TTL = 0 }) => {
        stream.cancel();
        if (this.#over.signal.aborted || this.#stream !== stream) return;
        this.#stream = undefined;
        // Without a TTL the lease is gone.
        if (TTL === 0) return this.#end();
        this.#askedAt = askedAt;
        this.#extend(askedAt);
      },
      end: () => {
        if (this.#stream === stream) this.#leaveEndpoint();
      },
    });
    this.#stream = stream;
    stream.write({ ID: this.id });
  }

  #leaveEndpoint(): void {
    const { connection } = this.#deps;
    this.#stream?.cancel();
    this.#stream = undefined;
    connection.leave(connection.endpoint);
  }
}
