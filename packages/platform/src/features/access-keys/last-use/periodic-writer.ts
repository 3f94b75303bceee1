// Writes collected data into the store: once a minute and when it is asked for, in batches, without delaying requests.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

export type PeriodicWriter = AsyncDisposable & {
  /** Writes what is still unwritten of these. Default: everything. */
  flush(uids?: readonly string[]): Promise<void>;
};

/** Resolves once memory shows what other threads of this server have noted of the use of these keys and certificates, by uid and serial. Default: of all. */
export type GatherUses = (uids?: readonly string[]) => Promise<void>;

export const INTERVAL_MS = 60_000;
/** Writes at once, which go into one commit of the store. */
const BATCH = 64;

/** Writes once a minute until it is disposed, and once more then. `write` never rejects, and never runs twice at once. */
export function createPeriodicWriter(
  scheduler: Scheduler,
  write: (uids: readonly string[] | undefined) => Promise<void>,
): PeriodicWriter {
  let running = Promise.resolve();
  let timer: Disposable | undefined;
  let disposed = false;

  const flush = (uids?: readonly string[]): Promise<void> => {
    const written = running.then(() => write(uids));
    // The next one is written all the same.
    running = written.catch(() => undefined);
    return written;
  };
  const schedule = (): void => {
    if (disposed) return;
    timer = scheduler.schedule(INTERVAL_MS, () => flush().finally(schedule));
  };
  schedule();

  return {
    flush,
    async [Symbol.asyncDispose]() {
      disposed = true;
      timer?.[Symbol.dispose]();
      await flush();
    },
  };
}

type EachWrite = {
  write(uid: string): Promise<void>;
  /** Called for one that could not be written: it is to come again with the next batch. */
  putBack(uid: string): void;
  onError(error: unknown): void;
};

/** Never rejects. */
export async function inBatches(uids: readonly string[], { write, putBack, onError }: EachWrite): Promise<void> {
  const attempt = async (uid: string): Promise<void> => {
    try {
      await write(uid);
    } catch (error) {
      putBack(uid);
      onError(error);
    }
  };
  for (let at = 0; at < uids.length; at += BATCH) await Promise.all(uids.slice(at, at + BATCH).map(attempt));
}
