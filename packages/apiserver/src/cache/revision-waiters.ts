// Waits until the watch cache has reached a revision.

import type { Scheduler } from "../runtime/clock.ts";
import type { Revision } from "../storage/storage.ts";
import { FutureRevisionError } from "../storage/storage-errors.ts";

type Waiter = { readonly revision: Revision; readonly settle: (error?: unknown) => void };

export class RevisionWaiters {
  readonly #scheduler: Scheduler;
  readonly #waiters = new Set<Waiter>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Rejects with FutureRevisionError after `timeoutMs`; `current` gives the revision of that moment. */
  wait(revision: Revision, timeoutMs: number, current: () => Revision, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => waiter.settle(signal?.reason);
      const timer = this.#scheduler.schedule(timeoutMs, () => {
        waiter.settle(new FutureRevisionError(revision, current()));
      });
      const waiter: Waiter = {
        revision,
        settle: (error) => {
          this.#waiters.delete(waiter);
          timer[Symbol.dispose]();
          signal?.removeEventListener("abort", abort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", abort);
    });
  }

  /** Everything up to `revision` is visible. */
  reached(revision: Revision): void {
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.settle();
  }

  failAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}
