// Reads a request body into memory, with limits on its size and on pauses.

import type { Readable } from "node:stream";
import { ApiError, requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import { caught } from "@postern/apimachinery/steps/caught";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import type { BodyReadThrottle } from "../backpressure/body-read-throttle.ts";
import { clientGoneError } from "../client-gone-error.ts";
import { Pieces } from "./pieces.ts";

export type ReadBodyOptions = {
  readonly limitBytes: number;
  /** As the client declared it. */
  readonly contentLength: number | undefined;
  readonly stallTimeoutMs: number;
  readonly scheduler: Scheduler;
  /** The end of a body that is taken at once stays unread: the exchange reads it when it is over. */
  readonly leavesEnd?: boolean;
  /** Shared by all bodies of a listener. */
  readonly throttle: BodyReadThrottle;
  /** Is called with the length of each part. An error it throws ends the reading. */
  readonly onBytes?: (count: number) => void;
};

const EMPTY = new Uint8Array(0);
/** A longer body is read in parts, for which bodies take turns. */
const MAX_AT_ONCE = 16 * 1024;

/**
 * At once where the body has arrived. Fails with ApiError 413 past the limit, 408 when the client stalls, 499 when it leaves. Bytes past the
 * limit stay unread.
 */
export function readBody(stream: Readable, options: ReadBodyOptions): Awaitable<Uint8Array> {
  const { limitBytes, contentLength } = options;
  if (contentLength === 0) return EMPTY;
  if (contentLength !== undefined && contentLength > limitBytes) throw tooLarge(limitBytes);
  return readAtHand(stream, options) ?? readArriving(stream, options);
}

function readArriving(stream: Readable, options: ReadBodyOptions): Promise<Uint8Array> {
  const { limitBytes, stallTimeoutMs, scheduler, throttle, onBytes } = options;
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    let size = 0;
    let progressed = false;
    const reading = throttle.join(stream);
    const fail = (error: unknown): void => {
      release();
      stream.pause();
      reject(error);
    };
    const onData = caught(fail, (chunk: Buffer) => {
      progressed = true;
      size += chunk.length;
      if (size > limitBytes) {
        fail(tooLarge(limitBytes));
        return;
      }
      onBytes?.(chunk.length);
      pieces.add(chunk);
      reading.came(chunk.length);
    });
    const onEnd = caught(fail, () => {
      release();
      resolve(pieces.take());
    });
    const onGone = (): void => fail(clientGoneError());
    const onTimer = caught(fail, () => {
      if (progressed) {
        progressed = false;
        timer = scheduler.schedule(stallTimeoutMs, onTimer);
      } else fail(stalled());
    });
    let timer = scheduler.schedule(stallTimeoutMs, onTimer);
    const release = (): void => {
      timer[Symbol.dispose]();
      reading[Symbol.dispose]();
      stream.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
    };
    if (stream.destroyed) fail(clientGoneError());
    else stream.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

/** A short body that has arrived as a whole, as most have when it is their request's turn: there is nothing to wait for, and no timer is needed. */
function readAtHand(stream: Readable, { contentLength, leavesEnd, onBytes }: ReadBodyOptions): Buffer | undefined {
  const { readableLength, destroyed } = stream;
  if (readableLength !== contentLength || readableLength > MAX_AT_ONCE || destroyed) return undefined;
  onBytes?.(readableLength);
  const bytes: Buffer | null = stream.read(readableLength);
  // Only its end is left, which has to be read.
  if (leavesEnd !== true) stream.resume();
  return bytes ?? undefined;
}

/** Drops the rest of an unwanted body; resolves at its end, at `maxBytes`, or when the client stalls. */
export function discardBody(
  stream: Readable,
  maxBytes: number,
  { stallTimeoutMs, scheduler, throttle }: Pick<ReadBodyOptions, "stallTimeoutMs" | "scheduler" | "throttle">,
): Promise<void> {
  return new Promise((resolve) => {
    let left = maxBytes;
    const reading = throttle.join(stream);
    const done = (): void => {
      timer[Symbol.dispose]();
      reading[Symbol.dispose]();
      stream.off("data", onData).off("end", done).off("error", done).off("close", done);
      stream.pause();
      resolve();
    };
    const onData = caught(done, (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) done();
      else reading.came(chunk.length);
    });
    const timer = scheduler.schedule(stallTimeoutMs, done);
    if (stream.destroyed || stream.readableEnded) {
      done();
      return;
    }
    stream.on("data", onData).on("end", done).on("error", done).on("close", done);
    stream.resume();
  });
}

const tooLarge = (limitBytes: number): ApiError => requestEntityTooLargeError(`limit is ${limitBytes}`);

const stalled = (): ApiError =>
  new ApiError({
    code: 408,
    reason: "Timeout",
    message: "Timeout: the request body did not arrive in time",
    details: {},
  });
