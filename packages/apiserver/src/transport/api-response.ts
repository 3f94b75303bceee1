// A response as a value: filters can read and change it before the first byte is sent.

/** Where a streaming body writes. */
export type ByteSink = {
  /** Resolves when more can be taken (at once, or after the client has drained); false when the client is gone. */
  write(chunk: Uint8Array | string): boolean | Promise<boolean>;
  /** Bytes accepted but not yet handed to the operating system. */
  readonly bufferedBytes: number;
};

export type ResponseHeaders = { readonly [name: string]: string | readonly string[] };

/** A stream that fails with it is cut because of its client, or of the server behind a proxy: no fault of this server. */
export class PeerFault extends Error {
  override readonly name = "PeerFault";
}

/** A stream that fails with it ends as one that is whole, as in kube-apiserver; its cause is reported. */
export class StreamFault extends Error {
  override readonly name = "StreamFault";
}

export type ResponseBody =
  | { readonly type: "bytes"; readonly bytes: Uint8Array | string }
  | JoinedBody
  | RelayedBody
  /**
   * Headers are flushed at once; the response ends when `run` settles, and is cut when it rejects. `run` is called exactly once,
   * also if the client has gone: then `write` returns false and the signal is aborted.
   */
  | { readonly type: "stream"; readonly run: (sink: ByteSink, signal: AbortSignal) => Promise<void> }
  /** The handler has taken the connection over through `ApiRequest.upgrade`. */
  | { readonly type: "upgraded"; readonly done: Promise<void> };

/** Bytes that lie in several places: they are sent from there, and joined only for code that needs all of them. */
export class JoinedBody {
  readonly type = "bytes";
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  #bytes: Uint8Array | undefined;

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    let length = 0;
    for (const part of parts) length += part.length;
    this.length = length;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= this.copy();
    return this.#bytes;
  }

  /** With a buffer of its own. */
  copy(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}

/** Bytes that another server answered with. They are its own business: the audit log records no part of them. */
export class RelayedBody {
  readonly type = "bytes";
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** The payload of a body of bytes, as it is sent. */
export type SentBytes = Uint8Array | string | JoinedBody;

export const sentBytesOf = (body: Extract<ResponseBody, { type: "bytes" }>): SentBytes =>
  body instanceof JoinedBody ? body : body.bytes;

/** Bytes of a part, or characters of a text. */
export const lengthOfBody = (body: Extract<ResponseBody, { type: "bytes" }>): number =>
  body instanceof JoinedBody ? body.length : body.bytes.length;

export type ApiResponse = {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
};

const NO_CACHE = "no-cache, private";

/** A JSON answer with the headers Kubernetes puts on every resource response. */
export const jsonResponse = (
  status: number,
  bytes: Uint8Array | string,
  headers: ResponseHeaders = {},
): ApiResponse => ({
  status,
  headers: { "cache-control": NO_CACHE, "content-type": "application/json", ...headers },
  body: { type: "bytes", bytes },
});

export const textResponse = (status: number, text: string, headers: ResponseHeaders = {}): ApiResponse => ({
  status,
  headers: {
    "cache-control": NO_CACHE,
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    ...headers,
  },
  body: { type: "bytes", bytes: text },
});

/** The same response with more headers. */
export const withHeaders = (response: ApiResponse, headers: ResponseHeaders): ApiResponse => ({
  ...response,
  headers: { ...response.headers, ...headers },
});

/** Calls `done` once the whole response is written: immediately for bytes, else at the end of the stream or upgraded connection. */
export function afterResponse(response: ApiResponse, done: () => void): ApiResponse {
  const { body } = response;
  if (body.type === "bytes") {
    done();
    return response;
  }
  return { ...response, body: body.type === "stream" ? afterStream(body, done) : afterUpgrade(body, done) };
}

function afterStream({ run }: Extract<ResponseBody, { type: "stream" }>, done: () => void): ResponseBody {
  return {
    type: "stream",
    async run(sink, signal) {
      try {
        await run(sink, signal);
      } finally {
        done();
      }
    },
  };
}

const afterUpgrade = (body: Extract<ResponseBody, { type: "upgraded" }>, done: () => void): ResponseBody => ({
  type: "upgraded",
  done: body.done.finally(done),
});
