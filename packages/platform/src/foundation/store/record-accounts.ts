// Counts records that no resource serves, by the account that they belong to, and refuses more than an account may have (ADR 157).

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { NOTHING_STORED, type StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

export class RecordAccounts {
  readonly #stored = new Map<string, StoredAmount>();
  /** Writes in progress, so that concurrent ones do not all take the last place. */
  readonly #pending = new Map<string, Set<() => boolean>>();

  /** `sign` is 1 for a record that came, -1 for one that went. */
  add(account: string, bytes: number, sign: 1 | -1): void {
    const { objects, bytes: before } = this.of(account);
    if (objects + sign <= 0) this.#stored.delete(account);
    else this.#stored.set(account, { objects: objects + sign, bytes: before + sign * bytes });
  }

  of(account: string): StoredAmount {
    return this.#stored.get(account) ?? NOTHING_STORED;
  }

  clear(): void {
    this.#stored.clear();
  }

  /** Whether one more would exceed the limit; writes in progress count. */
  isFull(account: string, limit: StoredAmount): boolean {
    const { objects, bytes } = this.of(account);
    let pending = 0;
    for (const isVisible of this.#pending.get(account) ?? []) if (!isVisible()) pending++;
    return objects + pending >= limit.objects || bytes >= limit.bytes;
  }

  /** Counts one more until `write` is done, or `isVisible` says that it is counted already. */
  async during<T>(account: string, isVisible: () => boolean, write: () => Promise<T>): Promise<T> {
    const pending = this.#pending.get(account) ?? new Set();
    this.#pending.set(account, pending.add(isVisible));
    try {
      return await write();
    } finally {
      pending.delete(isVisible);
      if (pending.size === 0 && this.#pending.get(account) === pending) this.#pending.delete(account);
    }
  }
}

export type FollowedAccounts = RecordAccounts & Disposable & { has(key: string): boolean };

/** Counts the records of one view; those without an account are left out. */
export function followAccounts(
  records: ViewPrefix,
  scheduler: Scheduler,
  accountOf: (record: CachedObject) => string | undefined,
): FollowedAccounts {
  const accounts = new RecordAccounts();
  const count = (record: CachedObject, sign: 1 | -1): void => {
    const account = accountOf(record);
    if (account !== undefined) accounts.add(account, record.storedBytes, sign);
  };
  const following = followView(records, scheduler, {
    replace(all) {
      accounts.clear();
      for (const record of all) count(record, 1);
    },
    put(record, previous) {
      if (previous !== undefined) count(previous, -1);
      count(record, 1);
    },
    delete: (record) => count(record, -1),
  });
  return Object.assign(accounts, {
    has: (key: string) => records.view.get(key) !== undefined,
    [Symbol.dispose]: () => following[Symbol.dispose](),
  });
}

export const fullAccountError = (message: string): ApiError =>
  new ApiError({ code: 403, reason: "Forbidden", message });
