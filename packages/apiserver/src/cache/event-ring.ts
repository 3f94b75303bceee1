// The recent events of one view, limited in number and bytes. Older ones come from the store.

import type { Revision } from "../storage/storage.ts";
import type { CacheEvent } from "./watch-cache.ts";

/** Objects may have a megabyte each, and an event keeps two of them. */
const DEFAULT_MAX_BYTES = 16 << 20;

/**
 * Memory that the rings of many views share. A ring may hold as much as is free, so that the sum stays within the budget, and no ring takes
 * everything.
 */
export class HistoryBudget {
  readonly maxBytes: number;
  usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get freeBytes(): number {
    return this.maxBytes - this.usedBytes;
  }
}

export type EventRingOptions = {
  readonly maxBytes?: number;
  /** Absent: the ring shares with no other. */
  readonly budget?: HistoryBudget;
};

export class EventRing {
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #budget: HistoryBudget | undefined;
  /** The oldest is at `#start`; before it is nothing any more. */
  #events: (CacheEvent | undefined)[] = [];
  #start = 0;
  #bytes = 0;
  #floor: Revision;

  constructor(limit: number, floor: Revision, { maxBytes = DEFAULT_MAX_BYTES, budget }: EventRingOptions = {}) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#floor = floor;
  }

  /** Every event after this revision is here. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Bytes of the objects in it; an object that two events share counts twice. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#grow(bytesOf(event));
    while (this.#events.length > this.#start && this.#isFull) this.#dropOldest();
  }

  /** The events under `prefix` after `revision`, which must not lie below the floor. */
  after(prefix: string, revision: Revision): CacheEvent[] {
    const found: CacheEvent[] = [];
    for (let index = this.#firstAfter(revision); index < this.#events.length; index++) {
      const event = this.#events[index];
      if (event?.object.key.startsWith(prefix)) found.push(event);
    }
    return found;
  }

  /** Forgets everything; what follows begins after `floor`. */
  reset(floor: Revision): void {
    this.#events = [];
    this.#start = 0;
    this.#grow(-this.#bytes);
    this.#floor = floor;
  }

  get #isFull(): boolean {
    const isLong = this.#events.length - this.#start > this.#limit || this.#bytes > this.#maxBytes;
    return isLong || (this.#budget !== undefined && this.#bytes > this.#budget.freeBytes);
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#budget !== undefined) this.#budget.usedBytes += bytes;
  }

  #dropOldest(): void {
    const oldest = this.#events[this.#start];
    if (oldest === undefined) return;
    this.#events[this.#start++] = undefined;
    this.#floor = oldest.object.revision;
    this.#grow(-bytesOf(oldest));
    // Seldom, so that each event is moved once at most.
    if (this.#start <= this.#limit && this.#start < this.#events.length) return;
    this.#events = this.#events.slice(this.#start);
    this.#start = 0;
  }

  #firstAfter(revision: Revision): number {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = this.#events[middle];
      if (event !== undefined && event.object.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

const bytesOf = ({ object, previous }: CacheEvent): number => object.byteLength + (previous?.byteLength ?? 0);
