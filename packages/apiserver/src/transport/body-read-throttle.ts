// How much of long bodies is read in a turn of the event loop. All that has arrived on a connection is read in one go, up to two mebibytes, so
// that many long bodies would be read in one turn while everybody else waits. Here a body waits for its next turn once it had its part, and there
// was enough in this turn.

import type { Readable } from "node:stream";

/** A body that is being read. Disposed, its stream is left as it is. */
export type BodyReading = Disposable & {
  /** So many bytes of it came. */
  came(bytes: number): void;
};

export type BodyReadThrottle = { join(stream: Readable): BodyReading };

/** Of all bodies: some hundreds of microseconds. */
const BYTES_IN_A_TURN = 512 * 1024;
/** Of one body, which are what one read of a connection gives. Shorter bodies never wait. */
const PART_BYTES = 64 * 1024;
/** Bodies that go on in a turn. */
const RELEASED_IN_A_TURN = BYTES_IN_A_TURN / PART_BYTES;

export function createBodyReadThrottle(): BodyReadThrottle {
  /** In the order in which they go on. */
  const held = new Set<HeldBody>();
  let bytes = 0;
  let isAttended = false;

  const attend = (): void => {
    if (isAttended) return;
    isAttended = true;
    setImmediate(endTurn);
  };
  const endTurn = (): void => {
    bytes = 0;
    isAttended = false;
    let left = RELEASED_IN_A_TURN;
    for (const body of held) {
      if (left-- === 0) break;
      held.delete(body);
      body.bytes = 0;
      body.stream.resume();
    }
    if (held.size > 0) attend();
  };
  return {
    join(stream) {
      const body: HeldBody = { stream, bytes: 0 };
      return {
        came(count) {
          bytes += count;
          body.bytes += count;
          attend();
          if (bytes <= BYTES_IN_A_TURN || body.bytes < PART_BYTES || held.has(body)) return;
          held.add(body);
          stream.pause();
        },
        [Symbol.dispose]: () => void held.delete(body),
      };
    },
  };
}

type HeldBody = {
  readonly stream: Readable;
  /** That came since it went on. */
  bytes: number;
};
