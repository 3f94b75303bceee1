// The way to etcd: one long-lived connection to one endpoint at a time, deadlines, and the move to the next endpoint after a failure.

import { ChannelCredentials, Client, type ClientDuplexStream, Metadata, type ServiceError } from "@grpc/grpc-js";
import { closedError, hadNoEffect, isTransient, toStorageError } from "./etcd-errors.ts";
import { type EtcdMethod, type EtcdMethods, loadEtcdMethods } from "./etcd-methods.ts";
import type { Scheduler } from "./etcd-timers.ts";

/** PEM texts. */
export type EtcdTls = {
  /** Whom to trust; the authorities that Node brings when absent. */
  readonly ca?: Uint8Array;
  /** This server's certificate and key, where etcd wants clients to have one. */
  readonly cert?: Uint8Array;
  readonly key?: Uint8Array;
};

export type EtcdConnectionOptions = {
  /** Each `host:port`. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** No call takes longer. */
  readonly requestTimeoutMs: number;
  readonly scheduler: Scheduler;
};

export type CallOptions = {
  /** A second try does no harm. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** One endpoint and its connection. */
export type EtcdEndpoint = { readonly address: string; readonly client: Client };

/** A repeatable call gives an endpoint so much of its time before it asks the next one. */
const SHARE_OF_ONE_ENDPOINT = 0.4;
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 500;

export class EtcdConnection implements Disposable {
  readonly methods: EtcdMethods = loadEtcdMethods();
  #endpoints: readonly EtcdEndpoint[];
  readonly #timeoutMs: number;
  readonly #scheduler: Scheduler;
  readonly #closing = new AbortController();
  #current = 0;

  constructor({ endpoints, tls, requestTimeoutMs, scheduler }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new RangeError("no endpoint of etcd is given");
    this.#timeoutMs = requestTimeoutMs;
    this.#scheduler = scheduler;
    this.#endpoints = endpoints.map((address) => ({ address, client: createClient(address, tls) }));
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The endpoint that calls go to now. */
  get endpoint(): EtcdEndpoint {
    const endpoint = this.#endpoints[this.#current];
    // There is at least one, and #current is always one of them.
    if (endpoint === undefined) throw new RangeError("no endpoint of etcd is given");
    return endpoint;
  }

  /**
   * Moves to new connections with other certificates, once one of them has been answered on; what is under way on the old ones may
   * finish. Rejects where no endpoint answers, or the certificates are none: then nothing has changed.
   */
  async setTls(tls: EtcdTls): Promise<void> {
    const next = this.#endpoints.map(({ address }) => ({ address, client: createClient(address, tls) }));
    const answers = next.map((endpoint) => this.callOn(endpoint, this.methods.status, {}, this.#timeoutMs));
    try {
      await Promise.any(answers);
    } catch (error) {
      for (const { client } of next) client.close();
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
    await Promise.allSettled(answers);
    const old = this.#endpoints;
    const close = (): void => {
      for (const { client } of old) client.close();
    };
    if (this.closed) {
      for (const { client } of next) client.close();
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

  /** Calls go to the next endpoint from now on, unless they already do. */
  leave(endpoint: EtcdEndpoint): void {
    if (this.endpoint === endpoint) this.#current = (this.#current + 1) % this.#endpoints.length;
  }

  /** Rejects with gRPC's error of the last try, the reason of the signal, or StorageUnavailableError once closed. */
  async call<Request, Response>(
    method: EtcdMethod<Request, Response>,
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
      const limit = repeatable && this.#endpoints.length > 1 ? this.#timeoutMs * SHARE_OF_ONE_ENDPOINT : left;
      try {
        return await this.callOn(endpoint, method, request, Math.min(left, limit), signal);
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

  /** One try, on one endpoint. */
  callOn<Request, Response>(
    { client }: EtcdEndpoint,
    method: EtcdMethod<Request, Response>,
    request: Request,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        call.cancel();
        reject(signal?.reason);
      };
      const settle = (error: ServiceError | null, response: Response | undefined) => {
        signal?.removeEventListener("abort", abort);
        if (error !== null || response === undefined) reject(error ?? closedError());
        else resolve(response);
      };
      // gRPC wants a time of day, and makes a timer of it at once.
      const options = { deadline: Date.now() + timeoutMs };
      const { path, serialize, deserialize } = method;
      const call = client.makeUnaryRequest(path, serialize, deserialize, request, requireLeader(), options, settle);
      signal?.addEventListener("abort", abort);
    });
  }

  /** A stream in both directions, on one endpoint. */
  stream<Request, Response>(
    { client }: EtcdEndpoint,
    { path, serialize, deserialize }: EtcdMethod<Request, Response>,
  ): ClientDuplexStream<Request, Response> {
    return client.makeBidiStreamRequest(path, serialize, deserialize, requireLeader());
  }

  /** Calls and streams under way end. */
  [Symbol.dispose](): void {
    this.#closing.abort();
    for (const { client } of this.#endpoints) client.close();
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

/** What a call of the connection rejects with, as the storage port says it. */
export async function asStorageCall<Response>(call: Promise<Response>): Promise<Response> {
  try {
    return await call;
  } catch (error) {
    throw toStorageError(error);
  }
}

// A member that has lost the others refuses at once, so that the next endpoint is asked, instead of keeping the caller waiting.
function requireLeader(): Metadata {
  const metadata = new Metadata();
  metadata.set("hasleader", "true");
  return metadata;
}

function createClient(address: string, tls: EtcdTls | undefined): Client {
  const credentials =
    tls === undefined
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createSsl(toBuffer(tls.ca), toBuffer(tls.key), toBuffer(tls.cert));
  return new Client(`dns:${address}`, credentials, {
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    // Not below 5 s, or etcd closes the connection (its flag --grpc-keepalive-min-time).
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 3_000,
    "grpc.enable_retries": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    // Two stores of one process have nothing in common, not even a broken connection.
    "grpc.use_local_subchannel_pool": 1,
  });
}

function toBuffer(bytes: Uint8Array | undefined): Buffer | null {
  return bytes === undefined ? null : Buffer.from(bytes);
}
