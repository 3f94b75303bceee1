// Records a stream in pieces while it is read, because a watch does not end.

import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import type { RunRecorder } from "./run-record.ts";

/** The minimum length of pieces; each begins with the end of the one before it. */
const PIECE_BYTES = 1 << 20;
const OVERLAP_BYTES = 4096;
/** Documents such as OpenAPI are sent a thousand times; smaller responses are cheap to scan again. */
const REPEATED_BYTES = 4096;

/** Longer than any secret. */
const FILLER_BYTES = 8192;

export type StreamPlace = {
  place(): string;
  isGzip(): boolean;
};

/** Does not read the stream itself. */
export function recordStream(recorder: RunRecorder, stream: Readable, { place, isGzip }: StreamPlace): void {
  let chunks: Buffer[] = [];
  let size = 0;
  const flush = (isLast: boolean): void => {
    const sent = Buffer.concat(chunks);
    chunks = isLast ? [] : [sent.subarray(-OVERLAP_BYTES)];
    size = 0;
    const content = isLast && isGzip() ? unpacked(sent) : sent;
    if (content.length > 0 && !isRepeated(recorder, content)) recorder.write("answer", place(), content);
  };
  const { push } = stream;
  stream.push = function (this: Readable, chunk: unknown, encoding?: BufferEncoding) {
    if (chunk instanceof Uint8Array && !isFiller(chunk)) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > PIECE_BYTES) flush(false);
    }
    // HTTP/2: a response that arrives in one read ends before its headers event, and the headers name its type.
    if (chunk === null) process.nextTick(flush, true);
    return push.call(this, chunk, encoding);
  };
  stream.once("close", () => flush(true));
}

/** Long runs of one byte, as tests send by the hundred megabytes, contain no secret. */
const isFiller = (chunk: Uint8Array): boolean =>
  chunk.length > FILLER_BYTES && Buffer.compare(chunk.subarray(1), chunk.subarray(0, -1)) === 0;

const seen = new WeakMap<RunRecorder, Set<string>>();

function isRepeated(recorder: RunRecorder, content: Buffer): boolean {
  if (content.length <= REPEATED_BYTES) return false;
  const digests = seen.get(recorder) ?? new Set();
  seen.set(recorder, digests);
  const digest = createHash("sha1").update(content).digest("base64");
  if (digests.has(digest)) return true;
  digests.add(digest);
  return false;
}

function unpacked(content: Buffer): Buffer {
  try {
    return gunzipSync(content);
  } catch {
    // The client has disconnected in the middle.
    return content;
  }
}

/** Records only bodies of requests that may contain a secret. */
export const mayBringSecret = (path: string): boolean => /accesskeys|selves|tokenreviews|\/secrets/.test(path);

/** Collects what is written to a stream until it ends. */
export function recordBody(
  recorder: RunRecorder,
  prototype: object,
  placeOf: (stream: object) => string | undefined,
): void {
  const bodies = new WeakMap<object, Buffer[]>();
  for (const name of ["write", "end"] as const) {
    const original = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: object, ...args: unknown[]) {
        const place = placeOf(this);
        if (place === undefined) return original.apply(this, args);
        const [chunk] = args;
        if (typeof chunk === "string" || chunk instanceof Uint8Array) {
          bodies.set(this, [...(bodies.get(this) ?? []), Buffer.from(chunk as string)]);
        }
        const result = original.apply(this, args);
        const body = name === "end" ? bodies.get(this) : undefined;
        if (body !== undefined) {
          bodies.delete(this);
          recorder.write("request", place, Buffer.concat(body));
        }
        return result;
      },
    });
  }
}
