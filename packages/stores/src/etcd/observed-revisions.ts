// Writers that wait until the watches have been notified of what they wrote.

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

  /** Lets those go that have waited since before the last call: being told first is a courtesy, not worth a stall. */
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
