// The requests on one connection of the platform, in which the agent replaces the credential: where each head begins and ends. Everything else passes as it is.

/** The head of a request, without the blank line behind it. */
export type RequestHead = {
  /** Method, path and version. */
  readonly line: string;
  readonly headers: readonly RequestHeader[];
  /** Whether the bytes behind it are no other request, whatever they are. */
  readonly isLast: boolean;
};

export type RequestHeader = { readonly name: string; readonly line: string };

/** Bytes that are no request which the agent forwards. */
export class RequestFault extends Error {
  override readonly name = "RequestFault";
}

/** As kube-apiserver takes them. */
const MAX_HEAD_BYTES = 1 << 20;
const HEAD_END = "\r\n\r\n";
/** A path: an authority would make it a request for a proxy. */
const REQUEST_LINE = /^(?!CONNECT )[A-Z]+ \/[\x21-\x7e\x80-\xff]* HTTP\/1\.1$/;
/** RFC 9110, section 5. */
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t\x20-\x7e\x80-\xff]*$/;
const LENGTH = /^[ \t]*([0-9]{1,15})[ \t]*$/;

export class RequestReader {
  /** Bytes of a head that is not complete. */
  #held: Buffer | undefined;
  /** Bytes left of the body that is being read. */
  #left = 0;

  /** Returns heads and pieces of bodies in their order. Throws RequestFault. */
  *read(chunk: Buffer): Generator<RequestHead | Buffer> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const body = rest.subarray(0, this.#left);
        this.#left -= body.length;
        rest = rest.subarray(body.length);
        yield body;
        continue;
      }
      const searched = this.#held?.length ?? 0;
      const begun = this.#held === undefined ? rest : Buffer.concat([this.#held, rest]);
      // The end may have come in two parts.
      const end = begun.indexOf(HEAD_END, Math.max(0, searched - HEAD_END.length), "latin1");
      if ((end < 0 ? begun.length : end) > MAX_HEAD_BYTES) throw new RequestFault("the head of a request is too long");
      this.#held = end < 0 ? begun : undefined;
      if (end < 0) return;
      const { length, ...head } = readHead(begun.toString("latin1", 0, end));
      this.#left = length;
      rest = begun.subarray(end + HEAD_END.length);
      yield head;
    }
  }
}

/** `length`: bytes of the body; Infinity where the request is the last one. */
function readHead(text: string): RequestHead & { readonly length: number } {
  const [line = "", ...lines] = text.split("\r\n");
  if (!REQUEST_LINE.test(line)) throw new RequestFault("a request line is not one for the API server");
  let length: number | undefined;
  let isChunked = false;
  let isUpgrade = false;
  const headers = lines.map((header) => {
    const name = HEADER_LINE.exec(header)?.[1]?.toLowerCase();
    if (name === undefined) throw new RequestFault("a header is malformed");
    if (name === "content-length") {
      const digits = LENGTH.exec(header.slice(name.length + 1))?.[1];
      if (digits === undefined || length !== undefined) throw new RequestFault("the length of a body is not clear");
      length = Number(digits);
    } else if (name === "transfer-encoding") isChunked = true;
    else if (name === "upgrade") isUpgrade = true;
    return { name, line: header };
  });
  if (isChunked && length !== undefined) throw new RequestFault("the length of a body is not clear");
  const isLast = isChunked || isUpgrade;
  return { line, headers, isLast, length: isLast ? Number.POSITIVE_INFINITY : (length ?? 0) };
}
