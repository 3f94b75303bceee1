// A delay that can be cancelled.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** Resolves after the given milliseconds. Rejects with the reason of the signal if it is aborted before. */
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

/** A signal that is aborted with `reason` after the given milliseconds, or with `outer`. Must be disposed. */
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

/** Like `work`, but rejects with the reason of the signal if it is aborted before; `work` continues for other callers. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
