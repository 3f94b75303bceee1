// Views whose objects a watch cache counts, but does not keep: another cache has them.

import type { StorageEvent, StoredEntry } from "../storage/storage.ts";
import { CachedObject } from "./cached-object.ts";
import { NOTHING_STORED, type StoredAmount, type StoredUsage, sumOf } from "./stored-usage.ts";

export type CountedViews = {
  isCounted(viewPrefix: string): boolean;
  /** Called after a change of one of their objects, and after everything was loaded again. */
  changed(viewPrefix: string): void;
};

/** The amounts of each view, so that a state that is loaded again replaces them. */
export class ViewCounts {
  readonly #usage: StoredUsage;
  #amounts = new Map<string, StoredAmount>();

  constructor(usage: StoredUsage) {
    this.#usage = usage;
  }

  apply(viewPrefix: string, event: StorageEvent): void {
    if (event.type === "put") this.#add(viewPrefix, event.entry, 1);
    if (event.previous !== undefined) this.#add(viewPrefix, event.previous, -1);
  }

  /** Gives the prefixes of the views that have changed. */
  replace(loaded: ReadonlyMap<string, StoredAmount>): readonly string[] {
    const before = this.#amounts;
    this.#amounts = new Map(loaded);
    for (const [viewPrefix, amount] of before) this.#usage.change(viewPrefix, amount, -1);
    for (const [viewPrefix, amount] of loaded) this.#usage.change(viewPrefix, amount, 1);
    return [...new Set([...before.keys(), ...loaded.keys()])];
  }

  /** The amount with one object more. */
  with(viewPrefix: string, amount: StoredAmount | undefined, entry: StoredEntry): StoredAmount {
    return sumOf(amount ?? NOTHING_STORED, this.#usage.amountOf(viewPrefix, CachedObject.fromEntry(entry)));
  }

  #add(viewPrefix: string, entry: StoredEntry, sign: 1 | -1): void {
    const added = this.#usage.amountOf(viewPrefix, CachedObject.fromEntry(entry));
    const amount = sumOf(this.#amounts.get(viewPrefix) ?? NOTHING_STORED, added, sign);
    if (amount.objects <= 0) this.#amounts.delete(viewPrefix);
    else this.#amounts.set(viewPrefix, amount);
    this.#usage.change(viewPrefix, added, sign);
  }
}
