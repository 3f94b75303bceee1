// A delay that can be cancelled.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** Resolves after so many milliseconds. Rejects with the reason of the signal when that aborts before. */
export function pause(scheduler: Scheduler, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer[Symbol.dispose]();
      reject(signal.reason);
    };
    const timer = scheduler.schedule(milliseconds, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** A signal that aborts with `reason` after so many milliseconds, or with `outer`. To be disposed of. */
export function deadline(
  scheduler: Scheduler,
  milliseconds: number,
  reason: () => unknown,
  outer?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const timer = scheduler.schedule(milliseconds, () => controller.abort(reason()));
  const onAbort = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) onAbort();
  else outer?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      outer?.removeEventListener("abort", onAbort);
    },
  };
}

/** As `work`, but rejects with the reason of the signal when that aborts before; `work` goes on for others then. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
