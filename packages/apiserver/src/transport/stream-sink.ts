// Lets a streaming response write to a connection no faster than the client reads.

import type { Writable } from "node:stream";
import type { ByteSink } from "./api-response.ts";

export function createStreamSink(writable: Writable): ByteSink {
  let waiting: Promise<boolean> | undefined;
  const drained = (): Promise<boolean> =>
    new Promise((resolve) => {
      const settle = (): void => {
        writable.off("drain", settle).off("close", settle);
        waiting = undefined;
        resolve(isOpen(writable));
      };
      writable.on("drain", settle).on("close", settle);
    });
  return {
    write(chunk) {
      if (!isOpen(writable)) return false;
      if (writable.write(chunk)) return true;
      // All writers wait for the same event: one listener is enough.
      waiting ??= drained();
      return waiting;
    },
    get bufferedBytes() {
      return writable.writableLength;
    },
  };
}

const isOpen = (writable: Writable): boolean => !writable.destroyed && !writable.writableEnded && !writable.closed;
