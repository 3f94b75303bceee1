// How much of long bodies is read in a turn of the event loop. All that has arrived on a connection is read in one go, up to two mebibytes, so
// that many long bodies would be read in one turn while all other requests wait. Here a body waits for its next turn once it had its part, and there
// was enough in this turn.

import type { Readable } from "node:stream";
import { createTurnBudget } from "../../limits/turn-budget.ts";

/** A body that is being read. Disposed, its stream is left as it is. */
export type BodyReading = Disposable & {
  /** A piece of so many bytes came. */
  came(bytes: number): void;
};

export type BodyReadThrottle = { join(stream: Readable): BodyReading };

/** All bodies together: some hundreds of microseconds. */
const BYTES_IN_A_TURN = 512 * 1024;
/** One body: the bytes that one read of a connection gives. Shorter bodies never wait. */
const PART_BYTES = 64 * 1024;
/** A piece takes about as long as these, and a client may send a byte at a time. */
const PIECE_BYTES = 256;

export function createBodyReadThrottle(): BodyReadThrottle {
  const budget = createTurnBudget(BYTES_IN_A_TURN);
  return {
    join(stream) {
      /** Bytes since the stream was resumed. */
      let bytes = 0;
      let held: Disposable | undefined;
      const resume = (): void => {
        held = undefined;
        bytes = 0;
        stream.resume();
      };
      return {
        came(count) {
          budget.spend(count + PIECE_BYTES);
          bytes += count + PIECE_BYTES;
          if (held !== undefined || bytes < PART_BYTES || !budget.isOver()) return;
          held = budget.later(resume, () => PART_BYTES);
          stream.pause();
        },
        [Symbol.dispose]: () => held?.[Symbol.dispose](),
      };
    },
  };
}
