// One connection to a target, over HTTP/1.1: a request at a time.

import type { IncomingHttpHeaders } from "node:http";
import { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { asError, caught } from "@postern/apimachinery/steps/caught";
import { type RequestHead, requestHead } from "./request-head.ts";
import { ResponseReader } from "./response-reader.ts";
import { type Dial, LAST_REQUEST } from "./upstream-dialer.ts";
import { BodyLengthError, InvalidResponseError, LostConnectionError } from "./upstream-failure.ts";
import type { UpstreamRequest } from "./upstream-request.ts";

/** Receives what becomes of a request: `onEnd`, `onUpgraded` or `onFailure` is the last call. */
export type RequestListener = {
  /** From now on the target may have seen it. */
  onSent(): void;
  /** The head of a response, also of an interim one. */
  onHead(statusCode: number, headers: IncomingHttpHeaders): void;
  onData(bytes: Buffer): void;
  onEnd(): void;
  /** The connection has left HTTP, and is the listener's. */
  onUpgraded(headers: IncomingHttpHeaders, socket: Duplex): void;
  /** The connection is closed. */
  onFailure(error: Error): void;
};

export type ConnectionOptions = {
  readonly dial: Dial;
  /** The name of the target, with its port where that is not the default one. */
  readonly host: string;
  /** Whether it may carry more than one request. */
  readonly keeps: boolean;
  /** It carries no request, and may carry another. */
  readonly onFree: (connection: UpstreamConnection) => void;
  /** It carries no request any more. Called once. */
  readonly onClosed: (connection: UpstreamConnection) => void;
};

type Sending = { readonly request: UpstreamRequest; readonly path: string; readonly listener: RequestListener };

/** It is dialled with its first request. */
export class UpstreamConnection {
  readonly #options: ConnectionOptions;
  readonly #reader: ResponseReader;
  #dialled: ReturnType<Dial> | undefined;
  #socket: Duplex | undefined;
  #sending: Sending | undefined;
  /** Whether the whole request has been written. */
  #isWritten = false;
  #isLast: boolean;
  #isReused = false;
  #isResting = false;
  #isClosed = false;
  /** The headers of a 101. */
  #switched: IncomingHttpHeaders | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#isLast = !options.keeps;
    this.#reader = new ResponseReader({
      onHead: (statusCode, headers) => this.#onHead(statusCode, headers),
      onData: (bytes) => this.#sending?.listener.onData(bytes),
      onEnd: () => this.#onEnd(),
    });
  }

  /** Whether it has carried a request to its end, so that the target may have closed it since. */
  get isReused(): boolean {
    return this.#isReused;
  }

  /** How long the target keeps it. */
  get keepAliveSeconds(): number {
    return this.#reader.keepAliveSeconds;
  }

  /** `path` is whole. Nothing is thrown: the listener hears of it. */
  send(request: UpstreamRequest, path: string, listener: RequestListener): void {
    this.#sending = { request, path, listener };
    this.#isWritten = false;
    if (this.#dialled === undefined) this.#dial();
    else if (!this.#isResting) this.#write();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** The request on it fails with the reason. */
  readonly destroy = (reason: Error): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reader.stop();
    this.#dialled?.destroy();
    const sending = this.#sending;
    this.#sending = undefined;
    this.#options.onClosed(this);
    sending?.listener.onFailure(reason);
  };

  #dial(): void {
    try {
      this.#dialled = this.#options.dial((error, socket) => {
        if (socket === null) return this.destroy(error);
        if (this.#isClosed) return void socket.destroy();
        this.#open(socket);
        this.#write();
      });
    } catch (error) {
      this.destroy(asError(error));
    }
  }

  #open(socket: Duplex): void {
    this.#socket = socket;
    // One that is kept for the next request does not keep the process.
    if (socket instanceof Socket) socket.unref();
    socket.on("data", this.#onRead).on("end", this.#onFin).on("error", this.destroy).on("close", this.#onLost);
    socket.once(LAST_REQUEST, () => {
      this.#isLast = true;
      if (this.#sending === undefined) this.destroy(new LostConnectionError());
    });
  }

  #write(): void {
    const { request, path, listener } = this.#sending ?? {};
    const socket = this.#socket;
    if (request === undefined || path === undefined || listener === undefined || socket === undefined) return;
    const { body, method } = request;
    let head: RequestHead;
    try {
      head = requestHead(request, path, this.#options.host);
    } catch (error) {
      this.destroy(asError(error));
      return;
    }
    this.#reader.expect(method);
    listener.onSent();
    if (typeof body === "object") {
      this.#sendBody(socket, head, body).catch((error: unknown) => {
        if (this.#sending?.listener === listener) this.destroy(asError(error));
      });
      return;
    }
    this.#isWritten = true;
    if (body === undefined) socket.write(head.text, "latin1");
    else socket.write(Buffer.concat([Buffer.from(head.text, "latin1"), Buffer.from(body)]));
  }

  /** Ends early where the target takes no more. By the iterator, which leaves the stream as it is: with a request over HTTP/2, its response would end, too. */
  async #sendBody(socket: Duplex, { text, length }: RequestHead, body: Readable): Promise<void> {
    const sending = this.#sending;
    let left = length ?? Number.POSITIVE_INFINITY;
    let head = text;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      if (this.#sending !== sending) return;
      const bytes: Uint8Array = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      if (bytes.length === 0) continue;
      left -= bytes.length;
      if (left < 0) throw new BodyLengthError();
      socket.cork();
      if (head !== "") socket.write(head, "latin1");
      head = "";
      if (length === undefined) socket.write(`${bytes.length.toString(16)}\r\n`, "latin1");
      socket.write(bytes);
      const mayWrite = length === undefined ? socket.write("\r\n", "latin1") : !socket.writableNeedDrain;
      socket.uncork();
      if (!mayWrite) await drained(socket);
    }
    if (this.#sending !== sending) return;
    if (length !== undefined && left > 0) throw new BodyLengthError();
    this.#isWritten = true;
    socket.write(`${head}${length === undefined ? "0\r\n\r\n" : ""}`, "latin1");
  }

  readonly #onFault = (error: unknown): void => this.destroy(asError(error));

  readonly #onRead = caught(this.#onFault, (bytes: Buffer): void => {
    const read = this.#readFrom(bytes);
    if (this.#switched !== undefined) this.#leave(this.#switched, bytes.subarray(read));
    // An answer to no question is no answer to the next one.
    else if (read < bytes.length) this.#onLost();
  });

  #readFrom(bytes: Buffer): number {
    try {
      return this.#reader.read(bytes);
    } catch (error) {
      if (!(error instanceof InvalidResponseError)) throw error;
      this.destroy(error);
      return bytes.length;
    }
  }

  readonly #onFin = caught(this.#onFault, (): void => {
    if (!this.#reader.end()) this.#onLost();
  });

  readonly #onLost = (): void => this.destroy(new LostConnectionError());

  #onHead(statusCode: number, headers: IncomingHttpHeaders): void {
    const { request, listener } = this.#sending ?? {};
    if (statusCode === 101 && request?.upgrade !== undefined) this.#switched = headers;
    else listener?.onHead(statusCode, headers);
  }

  /** `rest` came behind the 101. */
  #leave(headers: IncomingHttpHeaders, rest: Buffer): void {
    const [socket, sending] = [this.#socket, this.#sending];
    if (socket === undefined || sending === undefined) return;
    this.#isClosed = true;
    this.#sending = undefined;
    socket.pause();
    socket.off("data", this.#onRead).off("end", this.#onFin).off("close", this.#onLost);
    if (rest.length > 0) socket.unshift(rest);
    this.#options.onClosed(this);
    sending.listener.onUpgraded(headers, socket);
  }

  #onEnd(): void {
    const sending = this.#sending;
    this.#sending = undefined;
    const isKept = this.#isWritten && !this.#isLast && this.#reader.persists;
    if (isKept) this.#rest();
    else this.destroy(new LostConnectionError());
    sending?.listener.onEnd();
  }

  /** Bytes behind a response come with it, or in the next turn: before that, nothing is asked that they could be an answer to. */
  #rest(): void {
    this.#isReused = true;
    this.#isResting = true;
    this.#socket?.resume();
    this.#options.onFree(this);
    setImmediate(() => {
      setImmediate(() => {
        this.#isResting = false;
        this.#write();
      });
    });
  }
}

function drained(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done).off("close", done);
      resolve();
    };
    socket.on("drain", done).on("close", done);
  });
}
