// Waits: the one place of the client that sets timers, so that tests can put another in its place.

/** Resolves after so many milliseconds. Rejects with the signal's reason when it aborts before. */
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
