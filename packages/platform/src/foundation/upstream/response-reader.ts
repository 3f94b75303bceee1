// Reads the responses on a connection to a target. Strictly: a target chooses every byte, and all that it could mean in two ways ends the connection.
// Source: RFC 9112, sections 4 to 7

import type { IncomingHttpHeaders } from "node:http";
import { InvalidResponseError } from "./upstream-failure.ts";

export type ResponseListener = {
  /** The head of a response, also of an interim one, whose status is below 200. Repeated headers are one, as Node makes them. */
  onHead(statusCode: number, headers: IncomingHttpHeaders): void;
  /** All of the body that came with one read. */
  onData(bytes: Buffer): void;
  onEnd(): void;
};

/** As Node's own client: no honest head is longer. */
const MAX_HEAD_BYTES = 16 << 10;
/** A size, and extensions that nobody uses. */
const MAX_SIZE_LINE = 256;
const HEAD_END = "\r\n\r\n";
const CR = 13;
const LF = 10;

const STATUS_LINE = /^HTTP\/1\.([01]) ([0-9]{3})(?: .*)?$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Control characters, and line ends that some programs take for none. */
const FORBIDDEN = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const SIZE_LINE = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const LENGTH = /^[0-9]{1,15}$/;

/** Headers of which Node takes the first value; others are joined, as Node joins them. */
const SINGLE: ReadonlySet<string> = new Set([
  ...["age", "content-type", "etag", "expires", "last-modified", "location", "retry-after", "server"],
]);

/** Names of headers that one connection remembers: a target chooses them. */
const MAX_KNOWN_NAMES = 64;
const MAX_KNOWN_LENGTH = 64;

/** `over`: no byte belongs to a response. */
type State = "over" | "head" | "length" | "size" | "chunk" | "chunkEnd" | "trailers" | "untilClose";

/** One response at a time. */
export class ResponseReader {
  readonly #listener: ResponseListener;
  #state: State = "over";
  #method = "";
  /** The begin of a head or of trailers that have not come whole. */
  #held: Buffer | undefined;
  /** The begin of a line before a chunk. */
  #line = "";
  /** Bytes that are still to come of the body or the chunk. */
  #left = 0;
  #persists = false;
  #keepAliveSeconds = Number.POSITIVE_INFINITY;
  /** In lower case, by how the target writes them. */
  readonly #names = new Map<string, string>();

  constructor(listener: ResponseListener) {
    this.#listener = listener;
  }

  /** Whether the connection may carry another request behind the response. */
  get persists(): boolean {
    return this.#persists;
  }

  /** How long the target keeps an unused connection. */
  get keepAliveSeconds(): number {
    return this.#keepAliveSeconds;
  }

  /** A request of this method goes out. */
  expect(method: string): void {
    this.#state = "head";
    this.#method = method;
  }

  /** Reads nothing more. */
  stop(): void {
    this.#state = "over";
  }

  /** Returns how many of the bytes belong to the response: behind it, and behind a 101, nothing is read. Throws InvalidResponseError. */
  read(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== "over") {
      if (this.#state === "head") at = this.#readHead(bytes, at);
      else if (this.#state === "length" || this.#state === "untilClose") at = this.#readPlain(bytes, at);
      else at = this.#readChunks(bytes, at);
    }
    return at;
  }

  /** The target has ended the connection. Returns whether that was the end of the response as well. */
  end(): boolean {
    if (this.#state !== "untilClose") return false;
    this.#finish();
    return true;
  }

  #finish(): void {
    this.#state = "over";
    this.#listener.onEnd();
  }

  #readHead(bytes: Buffer, from: number): number {
    const head = this.#takeBlock(bytes, from);
    if (head === undefined) return bytes.length;
    const [line = "", ...lines] = head.text.split("\r\n");
    const [, minor, digits] = STATUS_LINE.exec(line) ?? [];
    if (digits === undefined) throw invalid();
    const headers = this.#readHeaders(lines);
    const statusCode = Number(digits);
    if (statusCode === 101) this.#state = "over";
    else if (statusCode >= 200) this.#beginBody(statusCode, headers, minor === "1");
    this.#listener.onHead(statusCode, headers);
    // The listener may have stopped it.
    if (this.#state === "length" && this.#left === 0) this.#finish();
    return head.end;
  }

  #beginBody(statusCode: number, headers: IncomingHttpHeaders, isCurrent: boolean): void {
    const { connection = "", "transfer-encoding": encoding } = headers;
    const length = headers["content-length"];
    if (encoding !== undefined && (length !== undefined || encoding.toLowerCase() !== "chunked")) throw invalid();
    const hasNone = this.#method === "HEAD" || statusCode === 204 || statusCode === 304;
    if (hasNone || length !== undefined) {
      this.#state = "length";
      this.#left = hasNone ? 0 : Number(length);
    } else this.#state = encoding === undefined ? "untilClose" : "size";
    this.#persists = isCurrent && this.#state !== "untilClose" && !/\bclose\b/i.test(connection);
    const hint = headers["keep-alive"];
    const seconds = typeof hint === "string" ? /\btimeout=(-?[0-9]{1,9})/i.exec(hint)?.[1] : undefined;
    this.#keepAliveSeconds = seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds);
  }

  #readPlain(bytes: Buffer, from: number): number {
    const all = bytes.length - from;
    const taken = this.#state === "length" ? Math.min(all, this.#left) : all;
    if (this.#state === "length") this.#left -= taken;
    const end = from + taken;
    this.#pass(bytes, from, end);
    if (this.#state === "length" && this.#left === 0) this.#finish();
    return end;
  }

  /** The parts of a body that came with one read are moved together: a target may send a byte in each, and every piece is an object. */
  #readChunks(bytes: Buffer, from: number): number {
    let at = from;
    let to = from;
    while (at < bytes.length && this.#state !== "over" && this.#state !== "trailers") {
      if (this.#state === "size") at = this.#readSize(bytes, at);
      else if (this.#state === "chunk") {
        const end = Math.min(bytes.length, at + this.#left);
        if (to !== at) bytes.copyWithin(to, at, end);
        to += end - at;
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = "chunkEnd";
      } else at = this.#readChunkEnd(bytes, at);
    }
    this.#pass(bytes, from, to);
    if (this.#state !== "trailers" || at === bytes.length) return at;
    return this.#readTrailers(bytes, at);
  }

  #readSize(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(LF, from);
    this.#line += bytes.toString("latin1", from, end < 0 ? bytes.length : end);
    if (this.#line.length > MAX_SIZE_LINE) throw invalid();
    if (end < 0) return bytes.length;
    const digits = this.#line.endsWith("\r") ? SIZE_LINE.exec(this.#line.slice(0, -1))?.[1] : undefined;
    this.#line = "";
    if (digits === undefined) throw invalid();
    this.#left = Number.parseInt(digits, 16);
    // An empty line ends the trailers, and with the end of this line it ends them as one ends a head.
    this.#held = this.#left === 0 ? Buffer.from("\r\n") : undefined;
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    return end + 1;
  }

  /** `#left` counts down from 0: the line end of a chunk may come in two reads. */
  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== (this.#left === 0 ? CR : LF)) throw invalid();
    this.#left = this.#left === 0 ? -1 : 0;
    if (this.#left === 0) this.#state = "size";
    return at + 1;
  }

  /** They are dropped: nothing that they say was known when the head went on. */
  #readTrailers(bytes: Buffer, from: number): number {
    const trailers = this.#takeBlock(bytes, from);
    if (trailers === undefined) return bytes.length;
    if (trailers.text !== "") this.#readHeaders(trailers.text.slice(2).split("\r\n"));
    this.#finish();
    return trailers.end;
  }

  /** Lines up to an empty one. Undefined where there is more to come. */
  #takeBlock(bytes: Buffer, from: number): { readonly text: string; readonly end: number } | undefined {
    const held = this.#held;
    const block = held === undefined ? bytes : Buffer.concat([held, bytes.subarray(from)]);
    const start = held === undefined ? from : 0;
    // The end may have come in two parts.
    const searched = Math.max(0, (held?.length ?? 0) - HEAD_END.length);
    const end = block.indexOf(HEAD_END, start + searched, "latin1");
    if ((end < 0 ? block.length : end) - start > MAX_HEAD_BYTES) throw invalid();
    this.#held = end < 0 ? block.subarray(start) : undefined;
    if (end < 0) return undefined;
    const behind = end + HEAD_END.length - (held === undefined ? 0 : held.length - from);
    const text = block.toString("latin1", start, end);
    if (FORBIDDEN.test(text)) throw invalid();
    return { text, end: behind };
  }

  #readHeaders(lines: readonly string[]): IncomingHttpHeaders {
    const headers: { [name: string]: string } = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      if (colon < 0) throw invalid();
      const name = this.#nameOf(line.slice(0, colon));
      const value = trimmed(line, colon + 1);
      if (name === "content-length" && !LENGTH.test(value)) throw invalid();
      if (!Object.hasOwn(headers, name)) headers[name] = value;
      else if (name === "content-length") throw invalid();
      else if (!SINGLE.has(name)) headers[name] += `, ${value}`;
    }
    return headers;
  }

  /** One string for all responses: V8 has found its place in objects and sets already. */
  #nameOf(given: string): string {
    const known = this.#names.get(given);
    if (known !== undefined) return known;
    if (!NAME.test(given)) throw invalid();
    const name = given.toLowerCase();
    if (this.#names.size < MAX_KNOWN_NAMES && given.length <= MAX_KNOWN_LENGTH) this.#names.set(given, name);
    return name;
  }

  #pass(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    const body = bytes.subarray(from, to);
    // A piece that waits for its reader is counted by its own length, not by that of the read.
    this.#listener.onData(body.length * 2 < bytes.length ? Buffer.from(body) : body);
  }
}

/** The line from there on, without spaces and tabs around it. */
function trimmed(line: string, start: number): string {
  let [from, to] = [start, line.length];
  while (from < to && isSpace(line.charCodeAt(from))) from++;
  while (from < to && isSpace(line.charCodeAt(to - 1))) to--;
  return line.slice(from, to);
}

const isSpace = (code: number): boolean => code === 32 || code === 9;

const invalid = (): InvalidResponseError => new InvalidResponseError("its response is not valid HTTP");
