// Writers that wait until the watches have been notified of their writes.

import type { Revision } from "@postern/apiserver/storage/storage";

type Waiter = { readonly revision: Revision; readonly settle: (error?: Error) => void; old: boolean };

export class ObservedRevisions {
  readonly #waiters = new Set<Waiter>();

  wait(revision: Revision): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        this.#waiters.delete(waiter);
        if (error === undefined) resolve();
        else reject(error);
      };
      const waiter: Waiter = { revision, settle, old: false };
      this.#waiters.add(waiter);
    });
  }

  reached(revision: Revision): void {
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.settle();
  }

  /** Releases waiters older than the last call: the order of response and watch event is a courtesy, and not worth a stall. */
  releaseOld(): void {
    for (const waiter of this.#waiters) {
      if (waiter.old) waiter.settle();
      else waiter.old = true;
    }
  }

  releaseAll(): void {
    for (const waiter of this.#waiters) waiter.settle();
  }

  failAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}
