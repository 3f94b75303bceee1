// The connection to etcd: one long-lived connection to one endpoint at a time, with deadlines and failover to the next endpoint.

import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import { closedError, hadNoEffect, isTransient, toStorageError } from "./etcd-errors.ts";
import type { Scheduler } from "./etcd-timers.ts";
import { GrpcChannel, type GrpcMethod, type GrpcTls } from "./grpc/grpc-channel.ts";
import { type EtcdMethods, loadEtcdMethods } from "./protocol/etcd-methods.ts";

/** PEM texts: the CA certificates, and this server's certificate and key if etcd requires one. */
export type EtcdTls = GrpcTls;

export type CallOptions = {
  /** Retrying is safe. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** The time that a repeatable call gives each endpoint, and the time that every call gives a connection attempt. */
const SHARE_OF_ONE_ENDPOINT = 0.4;
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 500;

export class EtcdConnection implements Disposable {
  readonly methods: EtcdMethods = loadEtcdMethods();
  #endpoints: readonly GrpcChannel[];
  readonly #timeoutMs: number;
  readonly #scheduler: Scheduler;
  readonly #closing = createSharedAbortController();
  #current = 0;

  constructor(deps: {
    /** Each `host:port`. */
    readonly endpoints: readonly string[];
    readonly tls?: EtcdTls;
    /** The deadline of every call. */
    readonly requestTimeoutMs: number;
    readonly scheduler: Scheduler;
  }) {
    const { endpoints, tls, requestTimeoutMs, scheduler } = deps;
    if (endpoints.length === 0) throw new RangeError("no etcd endpoint is set");
    this.#timeoutMs = requestTimeoutMs;
    this.#scheduler = scheduler;
    this.#endpoints = endpoints.map((address) => openChannel(address, tls));
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The endpoint that calls use now. */
  get endpoint(): GrpcChannel {
    const endpoint = this.#endpoints[this.#current];
    // There is at least one endpoint, and #current is always one of them.
    if (endpoint === undefined) throw new RangeError("no etcd endpoint is set");
    return endpoint;
  }

  /**
   * Switches to new connections with other certificates, once one of them has answered. Calls on the old connections may
   * finish. Rejects, without a change, if no endpoint answers or the certificates are invalid.
   */
  async setTls(tls: EtcdTls): Promise<void> {
    const next = this.#endpoints.map(({ address }) => openChannel(address, tls));
    const answers = next.map((endpoint) => endpoint.call(this.methods.status, {}, this.#timeoutMs));
    try {
      await Promise.any(answers);
    } catch (error) {
      for (const channel of next) channel[Symbol.dispose]();
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
    await Promise.allSettled(answers);
    const old = this.#endpoints;
    const close = (): void => {
      for (const channel of old) channel[Symbol.dispose]();
    };
    if (this.closed) {
      for (const channel of next) channel[Symbol.dispose]();
      return;
    }
    this.#endpoints = next;
    const { signal } = this.#closing;
    const retire = (): void => {
      retirement[Symbol.dispose]();
      signal.removeEventListener("abort", retire);
      close();
    };
    const retirement = this.#scheduler.schedule(this.#timeoutMs, retire);
    signal.addEventListener("abort", retire);
  }

  /** Further calls use the next endpoint, unless they already do. */
  leave(endpoint: GrpcChannel): void {
    if (this.endpoint === endpoint) this.#current = (this.#current + 1) % this.#endpoints.length;
  }

  /** Rejects with the gRPC error of the last attempt, the reason of the signal, or StorageUnavailableError once closed. */
  async call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    { repeatable, signal }: CallOptions,
  ): Promise<Response> {
    const deadline = performance.now() + this.#timeoutMs;
    let retryMs = FIRST_RETRY_MS;
    for (;;) {
      signal?.throwIfAborted();
      if (this.closed) throw closedError();
      const { endpoint } = this;
      const left = deadline - performance.now();
      const share = this.#endpoints.length > 1 ? this.#timeoutMs * SHARE_OF_ONE_ENDPOINT : left;
      const timeoutMs = Math.min(left, repeatable ? share : left);
      try {
        return await endpoint.call(method, request, timeoutMs, { signal, connectMs: share });
      } catch (error) {
        if (this.closed) throw closedError();
        if (!isTransient(error)) throw error;
        this.leave(endpoint);
        const again = repeatable || hadNoEffect(error);
        if (!again || performance.now() + retryMs >= deadline) throw error;
      }
      await this.#pause(retryMs);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** Ends running calls and streams. */
  [Symbol.dispose](): void {
    this.#closing.abort();
    for (const channel of this.#endpoints) channel[Symbol.dispose]();
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        timer[Symbol.dispose]();
        this.#closing.signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = this.#scheduler.schedule(delayMs, wake, { isAwaited: true });
      this.#closing.signal.addEventListener("abort", wake);
    });
  }
}

/** Converts the rejection of a call into an error of the storage port. */
export async function asStorageCall<Response>(call: Promise<Response>): Promise<Response> {
  try {
    return await call;
  } catch (error) {
    throw toStorageError(error);
  }
}

// A member that has lost the others must refuse at once instead of keeping the caller waiting, so that the next endpoint is tried.
const REQUIRE_LEADER = { hasleader: "true" };

function openChannel(address: string, tls: EtcdTls | undefined): GrpcChannel {
  return new GrpcChannel({ address, tls, metadata: REQUIRE_LEADER });
}
