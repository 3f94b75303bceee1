// gRPC to one endpoint over one HTTP/2 connection, as far as etcd needs it: unary calls and bidirectional streams.
// A channel connects on its first call, and again after it lost its connection.
// Protocol: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

import { connect as connectSocket, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
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
import { encodeHeaders } from "./hpack.ts";
import { Http2Connection, type Http2Stream, type StreamEnd, type StreamObserver } from "./http2-connection.ts";
import { http2Error } from "./http2-frames.ts";

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
  readonly metadata?: { readonly [name: string]: string };
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
export class GrpcChannel implements Disposable {
  readonly address: string;
  readonly #options: GrpcChannelOptions;
  /** The encoded header of each method. */
  readonly #headers = new Map<string, Buffer>();
  #connection: Http2Connection | undefined;
  #connecting: Promise<Http2Connection> | undefined;
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
    const connection =
      this.#connection ?? (await withDeadline(this.#connect(), Math.min(connectMs, timeoutMs), signal));
    return await this.#exchange(connection, method, request, deadline - performance.now(), signal);
  }

  stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    observer: GrpcObserver<Response>,
  ): GrpcStream<Request> {
    const waiting: Request[] = [];
    let stream: Http2Stream | undefined;
    let isOver = false;
    const end = (error: GrpcError): void => {
      if (isOver) return;
      isOver = true;
      observer.end(error);
    };
    const open = (connection: Http2Connection): void => {
      if (isOver) return;
      const reader = new MessageReader();
      const opened = this.#open(connection, method.path, {
        data(chunk) {
          let messages: Response[] = [];
          try {
            messages = reader.take(chunk).map(method.deserialize);
          } catch (error) {
            opened.cancel();
            end(toGrpcError(error));
          }
          for (const message of messages) if (!isOver) observer.message(message);
        },
        closed: (ended) =>
          end(errorOf(opened, ended) ?? new GrpcError(grpcStatus.ok, "the server has ended the stream")),
      });
      stream = opened;
      for (const request of waiting.splice(0)) opened.write(frameOf(method.serialize(request)), false);
    };
    const begin = async (): Promise<void> => {
      try {
        open(this.#connection ?? (await this.#connect()));
      } catch (error) {
        end(toGrpcError(error));
      }
    };
    void begin();
    return {
      write(request) {
        if (isOver) return;
        if (stream === undefined) waiting.push(request);
        else stream.write(frameOf(method.serialize(request)), false);
      },
      cancel() {
        isOver = true;
        stream?.cancel();
      },
    };
  }

  /** Ends running calls and streams. */
  [Symbol.dispose](): void {
    if (this.#closed !== undefined) return;
    this.#closed = new GrpcError(grpcStatus.unavailable, "the channel is closed", { isUnsent: true });
    this.#giveUp(this.#closed);
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  #exchange<Request, Response>(
    connection: Http2Connection,
    { path, serialize, deserialize }: GrpcMethod<Request, Response>,
    request: Request,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const frame = frameOf(serialize(request));
      let first: Buffer | undefined;
      let others: Buffer[] | undefined;
      const stream = this.#open(connection, path, {
        data(chunk) {
          if (first === undefined) first = chunk;
          else if (others === undefined) others = [first, chunk];
          else others.push(chunk);
        },
        closed(ended) {
          const error = errorOf(stream, ended);
          if (error !== undefined) return fail(error);
          try {
            const answer = deserialize(onlyMessageIn(others === undefined ? first : Buffer.concat(others)));
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
            resolve(answer);
          } catch (cause) {
            fail(toGrpcError(cause));
          }
        },
      });
      const fail = (reason: unknown): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        reject(reason);
      };
      const giveUp = (reason: unknown): void => {
        stream.cancel();
        fail(reason);
      };
      const abort = (): void => giveUp(signal?.reason);
      const timer = setTimeout(
        () => giveUp(new GrpcError(grpcStatus.deadlineExceeded, "no answer in time")),
        Math.max(timeoutMs, 0),
      );
      signal?.addEventListener("abort", abort);
      stream.write(frame, true);
    });
  }

  #open(connection: Http2Connection, path: string, observer: StreamObserver): Http2Stream {
    if (connection.isLeaving) throw unsent("the connection is closing");
    let headers = this.#headers.get(path);
    if (headers === undefined) {
      const { address, tls, metadata = {} } = this.#options;
      headers = encodeHeaders([
        [":method", "POST"],
        [":scheme", tls === undefined ? "http" : "https"],
        [":path", path],
        [":authority", address],
        ["content-type", "application/grpc"],
        ["te", "trailers"],
        ...Object.entries(metadata),
      ]);
      this.#headers.set(path, headers);
    }
    return connection.open(headers, observer);
  }

  #connect(): Promise<Http2Connection> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.#refusal !== undefined && performance.now() < this.#refusal.until) {
      return Promise.reject(this.#refusal.error);
    }
    this.#connecting ??= this.#dial().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  #dial(): Promise<Http2Connection> {
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
      let socket: Socket | undefined;
      let connection: Http2Connection | undefined;
      const timer = setTimeout(() => connection?.destroy(new Error("no answer in time")), CONNECT_TIMEOUT_MS);
      try {
        socket = openSocket(this.#options);
      } catch (cause) {
        // For example with an invalid certificate.
        failed(unsent(messageOf(cause), cause));
        return;
      }
      const opening = new Http2Connection(socket, {
        // With TLS, a server may still refuse the client's certificate after the handshake. Its settings show that it has not.
        accepted: () => {
          if (!settle()) return;
          this.#refusal = undefined;
          this.#backoffMs = FIRST_BACKOFF_MS;
          this.#connection = opening;
          this.#keepAlive(opening);
          resolve(opening);
        },
        leaving: () => this.#leave(opening),
        closed: (error) => {
          this.#leave(opening);
          failed(unsent(error === undefined ? "the connection was closed" : messageOf(error), error));
        },
      });
      connection = opening;
      this.#giveUp = (error) => {
        failed(error);
        opening.destroy();
      };
    });
  }

  /** The next call opens another connection. */
  #leave(connection: Http2Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
  }

  /** Detects a dead connection. Only while streams are open: etcd treats other pings as abuse. */
  #keepAlive(connection: Http2Connection): void {
    const interval = setInterval(() => {
      if (connection.isClosed) clearInterval(interval);
      if (connection.isClosed || connection.streams === 0) return;
      const overdue = setTimeout(() => connection.destroy(new Error("a ping was not answered")), PING_TIMEOUT_MS);
      overdue.unref();
      connection.ping(() => clearTimeout(overdue));
    }, PING_INTERVAL_MS);
    interval.unref();
  }
}

function openSocket({ address, tls }: GrpcChannelOptions): Socket {
  const { hostname, port } = new URL(`tcp://${address}`);
  const place = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port), noDelay: true };
  if (tls === undefined) return connectSocket(place);
  const socket = connectTls({
    ...place,
    ...toBuffers(tls),
    ALPNProtocols: ["h2"],
    ...(isIP(place.host) === 0 && { servername: place.host }),
  });
  socket.once("secureConnect", () => {
    if (socket.alpnProtocol !== "h2") socket.destroy(new Error("the server does not speak HTTP/2"));
  });
  return socket;
}

/** The error of a closed stream; undefined on success. */
function errorOf({ headers, trailers }: Http2Stream, end: StreamEnd): GrpcError | undefined {
  // A call that is refused at once has its status in the header.
  const fields = trailers?.has("grpc-status") === true ? trailers : headers;
  const code = fields?.get("grpc-status");
  if (code === "0") return undefined;
  if (code !== undefined) return new GrpcError(Number(code), decodeMessage(fields?.get("grpc-message")));
  const status = headers?.get(":status");
  if (status !== undefined && status !== "200") return errorOfHttpStatus(Number(status));
  return errorOfReset(end);
}

function errorOfReset({ code, cause }: StreamEnd): GrpcError {
  switch (code) {
    case http2Error.refusedStream:
      return unsent("the server has refused the stream", cause);
    case http2Error.enhanceYourCalm:
      return new GrpcError(grpcStatus.resourceExhausted, "the server asks for fewer requests", { cause });
    case http2Error.inadequateSecurity:
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

function toBuffers(tls: GrpcTls = {}): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { ca, cert, key } = tls;
  return {
    ...(ca && { ca: Buffer.from(ca) }),
    ...(cert && { cert: Buffer.from(cert) }),
    ...(key && { key: Buffer.from(key) }),
  };
}
