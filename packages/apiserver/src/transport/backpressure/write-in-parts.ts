// Writes long bytes in parts, each when the one before has been taken.

import type { Writable } from "node:stream";

/**
 * TLS makes a copy of all that it is given at once, and keeps it until the client has taken it. Node writes about as much as this to a connection in one turn of the event
 * loop, so that less would take a fast reader longer.
 */
export const PART_BYTES = 128 * 1024;

/** Answers up to this length are written at once: a part costs 120 calls of functions, and what clients leave unread of answers is bounded (ADR 357). */
const WHOLE_BYTES = 1024 * 1024;

/** Ends an answer whose body has `length` bytes together. */
export const endInParts = (writable: Writable, pieces: readonly Uint8Array[], length: number): void =>
  writeInParts(writable, pieces, () => writable.end(), length > WHOLE_BYTES ? PART_BYTES : length);

/** `onWritten` is called with the last part, before that is flushed, unless the stream is destroyed before. */
export function writeInParts(
  writable: Writable,
  pieces: readonly Uint8Array[],
  onWritten: () => void,
  partBytes = PART_BYTES,
): void {
  let piece = 0;
  let at = 0;
  const writeNext = (): void => {
    for (let isReady = true; isReady; ) {
      if (writable.destroyed) return;
      writable.cork();
      for (let room = partBytes; room > 0 && piece < pieces.length; ) {
        const whole = pieces[piece] as Uint8Array;
        const part = at === 0 && whole.length <= room ? whole : whole.subarray(at, at + room);
        isReady = writable.write(part);
        room -= part.length;
        at += part.length;
        if (at < whole.length) continue;
        piece += 1;
        at = 0;
      }
      const isLast = piece === pieces.length;
      if (isLast) onWritten();
      writable.uncork();
      if (isLast) return;
    }
    writable.once("drain", writeNext);
  };
  writeNext();
}
