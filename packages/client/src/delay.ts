// Delays: the only timers of the client, so that tests can replace them.

/** Resolves after this many milliseconds. Rejects with the signal's reason if it aborts before. */
export type Delay = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const systemDelay: Delay = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
