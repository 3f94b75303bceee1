// The recent events of one view, so many and no more.

import type { Revision } from "../storage/storage.ts";
import type { CacheEvent } from "./watch-cache.ts";

export class EventRing {
  readonly #limit: number;
  /** A ring once it has grown to the limit: the oldest event is then at `#start`. */
  #events: CacheEvent[] = [];
  #start = 0;
  #floor: Revision;

  constructor(limit: number, floor: Revision) {
    this.#limit = limit;
    this.#floor = floor;
  }

  /** Every event after this revision is here. */
  get floor(): Revision {
    return this.#floor;
  }

  push(event: CacheEvent): void {
    if (this.#events.length < this.#limit) {
      this.#events.push(event);
      return;
    }
    const oldest = this.#events[this.#start];
    this.#floor = (oldest ?? event).object.revision;
    if (oldest === undefined) return;
    this.#events[this.#start] = event;
    this.#start = (this.#start + 1) % this.#limit;
  }

  /** The events under `prefix` after `revision`, which must not lie below the floor. */
  after(prefix: string, revision: Revision): CacheEvent[] {
    const found: CacheEvent[] = [];
    for (let index = this.#firstAfter(revision); index < this.#events.length; index++) {
      const event = this.#at(index);
      if (event?.object.key.startsWith(prefix)) found.push(event);
    }
    return found;
  }

  /** Forgets everything; what follows begins after `floor`. */
  reset(floor: Revision): void {
    this.#events = [];
    this.#start = 0;
    this.#floor = floor;
  }

  #at(index: number): CacheEvent | undefined {
    return this.#events[(this.#start + index) % this.#events.length];
  }

  #firstAfter(revision: Revision): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = this.#at(middle);
      if (event !== undefined && event.object.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
