// gRPC to one endpoint over one HTTP/2 connection, as far as etcd needs it: unary calls and bidirectional streams.
// A channel connects on its first call, and again after it lost its connection.
// Protocol: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from "node:http2";
import { asError, caught } from "@postern/apimachinery/steps/caught";
import {
  decodeMessage,
  errorOfHttpStatus,
  GrpcError,
  grpcStatus,
  messageOf,
  toGrpcError,
  unsent,
} from "./grpc-error.ts";
import { frameOf, MessageReader, onlyMessageIn } from "./grpc-frames.ts";

/** How the messages of one method are encoded and decoded. */
export type GrpcMethod<Request, Response> = {
  readonly path: string;
  readonly serialize: (request: Request) => Uint8Array;
  readonly deserialize: (bytes: Buffer) => Response;
};

/** PEM texts. */
export type GrpcTls = {
  /** CA certificates; default: those of Node. */
  readonly ca?: Uint8Array;
  /** The client's certificate and key, if the server requires one. */
  readonly cert?: Uint8Array;
  readonly key?: Uint8Array;
};

export type GrpcChannelOptions = {
  /** `host:port`. */
  readonly address: string;
  /** Absent: the connection is not encrypted. */
  readonly tls?: GrpcTls | undefined;
  /** Sent with every call. */
  readonly metadata?: OutgoingHttpHeaders;
};

export type GrpcObserver<Response> = {
  message(response: Response): void;
  /** Called once, whichever side ended the stream, but not after `cancel`. */
  end(error: GrpcError): void;
};

/** A bidirectional stream. Messages written before there is a connection are sent once there is one. */
export type GrpcStream<Request> = { write(request: Request): void; cancel(): void };

const CONNECT_TIMEOUT_MS = 20_000;
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 2_000;
/** At least 5 s, or etcd closes the connection (its flag --grpc-keepalive-min-time). */
const PING_INTERVAL_MS = 10_000;
const PING_TIMEOUT_MS = 3_000;
/** The receive window: large lists must not wait for an acknowledgement of every 64 kB. */
const STREAM_WINDOW_BYTES = 4 << 20;
const CONNECTION_WINDOW_BYTES = 16 << 20;
export class GrpcChannel implements Disposable {
  readonly address: string;
  readonly #options: GrpcChannelOptions;
  readonly #headers = new Map<string, OutgoingHttpHeaders>();
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  #streams = 0;
  #backoffMs = FIRST_BACKOFF_MS;
  /** Calls fail with it until then. */
  #refusal: { readonly until: number; readonly error: GrpcError } | undefined;
  #closed: GrpcError | undefined;
  /** Ends calls that wait for a connection. */
  #giveUp = (_error: GrpcError): void => {};

  constructor(options: GrpcChannelOptions) {
    this.#options = options;
    this.address = options.address;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Waits up to `connectMs` for a connection if there is none. Rejects with GrpcError, or the reason of the signal. */
  async call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number,
    { signal, connectMs = timeoutMs }: { readonly signal?: AbortSignal | undefined; readonly connectMs?: number } = {},
  ): Promise<Response> {
    const deadline = performance.now() + timeoutMs;
    const session = this.#session ?? (await withDeadline(this.#connect(), Math.min(connectMs, timeoutMs), signal));
    return await this.#exchange(session, method, request, deadline - performance.now(), signal);
  }

  stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    observer: GrpcObserver<Response>,
  ): GrpcStream<Request> {
    const waiting: Request[] = [];
    let stream: ClientHttp2Stream | undefined;
    let isOver = false;
    const end = (error: GrpcError): void => {
      if (isOver) return;
      isOver = true;
      observer.end(error);
    };
    const open = (session: ClientHttp2Session): void => {
      if (isOver) return;
      const opened = this.#request(session, method.path);
      const reader = new MessageReader();
      stream = opened;
      const ending = followEnd(opened);
      /** Errors of the observer count as well: the next stream sends again what it missed. */
      const fail = (error: unknown): void => {
        opened.close(constants.NGHTTP2_CANCEL);
        end(toGrpcError(error));
      };
      const onData = (chunk: Buffer): void => {
        for (const message of reader.take(chunk).map(method.deserialize)) if (!isOver) observer.message(message);
      };
      const onClose = (): void =>
        end(ending.error() ?? new GrpcError(grpcStatus.ok, "the server has ended the stream"));
      const onEnd = (): void => void opened.end();
      // Node closes a stream when both sides have ended it.
      opened.on("data", caught(fail, onData)).on("end", caught(fail, onEnd)).on("close", caught(fail, onClose));
      for (const request of waiting.splice(0)) opened.write(frameOf(method.serialize(request)));
    };
    const begin = async (): Promise<void> => {
      try {
        open(this.#session ?? (await this.#connect()));
      } catch (error) {
        end(toGrpcError(error));
      }
    };
    void begin();
    return {
      write(request) {
        if (isOver) return;
        if (stream === undefined) waiting.push(request);
        else stream.write(frameOf(method.serialize(request)));
      },
      cancel() {
        isOver = true;
        stream?.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  /** Ends running calls and streams. */
  [Symbol.dispose](): void {
    if (this.#closed !== undefined) return;
    this.#closed = new GrpcError(grpcStatus.unavailable, "the channel is closed", { isUnsent: true });
    this.#giveUp(this.#closed);
    this.#session?.destroy();
    this.#session = undefined;
  }

  #exchange<Request, Response>(
    session: ClientHttp2Session,
    { path, serialize, deserialize }: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stream = this.#request(session, path);
      const ending = followEnd(stream);
      let first: Buffer | undefined;
      let others: Buffer[] | undefined;
      const fail = (reason: unknown): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        reject(reason);
      };
      const giveUp = (reason: unknown): void => {
        stream.close(constants.NGHTTP2_CANCEL);
        fail(reason);
      };
      const abort = (): void => giveUp(signal?.reason);
      const timer = setTimeout(
        () => giveUp(new GrpcError(grpcStatus.deadlineExceeded, "no answer in time")),
        Math.max(timeoutMs, 0),
      );
      signal?.addEventListener("abort", abort);
      const failed = (error: unknown): void => giveUp(toGrpcError(error));
      const onData = (chunk: Buffer): void => {
        if (first === undefined) first = chunk;
        else if (others === undefined) others = [first, chunk];
        else others.push(chunk);
      };
      const onClose = (): void => {
        const error = ending.error();
        if (error !== undefined) throw error;
        const answer = deserialize(onlyMessageIn(others === undefined ? first : Buffer.concat(others)));
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        resolve(answer);
      };
      stream.on("data", caught(failed, onData)).on("close", caught(failed, onClose));
      stream.end(frameOf(serialize(request)));
    });
  }

  #request(session: ClientHttp2Session, path: string): ClientHttp2Stream {
    if (session.closed || session.destroyed) throw unsent("the connection is closing");
    let headers = this.#headers.get(path);
    if (headers === undefined) {
      headers = {
        ...{ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" },
        ...this.#options.metadata,
      };
      this.#headers.set(path, headers);
    }
    const stream = session.request(headers);
    this.#streams++;
    stream.on("close", () => {
      this.#streams--;
    });
    return stream;
  }

  #connect(): Promise<ClientHttp2Session> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.#refusal !== undefined && performance.now() < this.#refusal.until) {
      return Promise.reject(this.#refusal.error);
    }
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  #open(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (): boolean => {
        if (isSettled) return false;
        isSettled = true;
        clearTimeout(timer);
        this.#giveUp = () => {};
        return true;
      };
      const failed = (error: GrpcError): void => {
        if (!settle()) return;
        this.#refusal = { until: performance.now() + this.#backoffMs, error };
        this.#backoffMs = Math.min(this.#backoffMs * 2, LAST_BACKOFF_MS);
        reject(error);
      };
      let session: ClientHttp2Session | undefined;
      const timer = setTimeout(() => session?.destroy(new Error("no answer in time")), CONNECT_TIMEOUT_MS);
      let lost: unknown;
      try {
        const { tls, address } = this.#options;
        session = connect(`${tls === undefined ? "http" : "https"}://${address}`, {
          ...toBuffers(tls),
          settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
          // In MB. The connection is trusted, and its streams are limited by their callers.
          maxSessionMemory: 1 << 20,
        });
      } catch (cause) {
        // For example with an invalid certificate.
        failed(unsent(messageOf(cause), cause));
        return;
      }
      const opening = session;
      this.#giveUp = (error) => {
        failed(error);
        opening.destroy();
      };
      const fail = (error: unknown): void => void opening.destroy(asError(error));
      const leave = (): void => this.#leave(opening);
      const onClose = (): void => {
        leave();
        failed(unsent(lost === undefined ? "the connection was closed" : messageOf(lost), lost));
      };
      opening.on("error", (error) => {
        lost = error;
      });
      opening.on("goaway", caught(fail, leave)).on("close", caught(fail, onClose));
      // With TLS, a server may still refuse the client's certificate after the handshake. Its settings frame shows that it has not.
      const onSettings = (): void => {
        // A failure here has to reject the calls that wait for the connection.
        opening.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
        if (!settle()) return;
        this.#refusal = undefined;
        this.#backoffMs = FIRST_BACKOFF_MS;
        this.#session = opening;
        this.#keepAlive(opening);
        resolve(opening);
      };
      opening.once("remoteSettings", caught(fail, onSettings));
    });
  }

  /** The next call opens another connection. */
  #leave(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
  }

  /** Detects a dead connection. Only while streams are open: etcd treats other pings as abuse. */
  #keepAlive(session: ClientHttp2Session): void {
    let overdue: NodeJS.Timeout | undefined;
    const interval = setInterval(() => {
      if (this.#streams === 0 || session.closed || session.destroyed) return;
      overdue = setTimeout(() => session.destroy(new Error("a ping was not answered")), PING_TIMEOUT_MS);
      session.ping(() => clearTimeout(overdue));
    }, PING_INTERVAL_MS);
    interval.unref();
    session.on("close", () => {
      clearInterval(interval);
      clearTimeout(overdue);
    });
  }
}

/** The error of a closed stream; undefined on success. */
function followEnd(stream: ClientHttp2Stream): { error(): GrpcError | undefined } {
  let headers: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
  let trailers: IncomingHttpHeaders | undefined;
  let failure: Error | undefined;
  stream.on("response", (received) => {
    headers = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("error", (error) => {
    failure = error;
  });
  return {
    error() {
      // A call that is refused at once has its status in the header.
      const end = trailers?.["grpc-status"] === undefined ? headers : trailers;
      const code = end?.["grpc-status"];
      if (code === "0") return undefined;
      if (code !== undefined) return new GrpcError(Number(code), decodeMessage(end?.["grpc-message"]));
      if (headers?.[":status"] !== undefined && headers[":status"] !== 200)
        return errorOfHttpStatus(headers[":status"]);
      return errorOfReset(stream, failure);
    },
  };
}

function errorOfReset({ rstCode }: ClientHttp2Stream, cause: Error | undefined): GrpcError {
  switch (rstCode) {
    case constants.NGHTTP2_REFUSED_STREAM:
      return unsent("the server has refused the stream", cause);
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new GrpcError(grpcStatus.resourceExhausted, "the server asks for fewer requests", { cause });
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return new GrpcError(grpcStatus.permissionDenied, "the server refuses this TLS configuration", { cause });
    default:
      return new GrpcError(grpcStatus.unavailable, `the connection was lost${cause ? `: ${cause.message}` : ""}`, {
        cause,
      });
  }
}

function withDeadline<Result>(
  connecting: Promise<Result>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => settle(() => reject(signal?.reason));
    const timer = setTimeout(() => settle(() => reject(unsent("not connected in time"))), Math.max(timeoutMs, 0));
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      end();
    };
    if (signal?.aborted === true) return abort();
    signal?.addEventListener("abort", abort);
    connecting.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

function toBuffers(tls: GrpcTls = {}) {
  const { ca, cert, key } = tls;
  return {
    // As for Go, and so for etcdctl: an authority that is named need not be a root.
    ...(ca && { ca: Buffer.from(ca), allowPartialTrustChain: true }),
    ...(cert && { cert: Buffer.from(cert) }),
    ...(key && { key: Buffer.from(key) }),
  };
}
