// One subscription to a view: first the past, held back until it is complete, then every batch as it comes.

import type { Revision } from "../storage/storage.ts";
import type { CacheEvent, CacheObserver } from "./watch-cache.ts";

export class Subscription {
  readonly prefix: string;
  readonly #observer: CacheObserver;
  readonly #onError: (error: unknown) => void;
  /** Everything up to here has been sent or lies in `#held`, or was not asked for. */
  #covered: Revision;
  /** Batches that must wait until the past has been sent. */
  #held: CacheEvent[] | undefined = [];
  #over = false;

  constructor(prefix: string, fromRevision: Revision, observer: CacheObserver, onError: (error: unknown) => void) {
    this.prefix = prefix;
    this.#covered = fromRevision;
    this.#observer = observer;
    this.#onError = onError;
  }

  get over(): boolean {
    return this.#over;
  }

  get covered(): Revision {
    return this.#covered;
  }

  /** A batch of new events, all under the prefix; those that are covered are left out. */
  offer(batch: readonly CacheEvent[]): void {
    const last = batch[batch.length - 1];
    if (this.#over || last === undefined || last.object.revision <= this.#covered) return;
    const events = this.#uncovered(batch);
    this.#covered = last.object.revision;
    if (this.#held === undefined) this.#send(events);
    else this.#held.push(...events);
  }

  /** Part of the past, sent at once although new events are held back. */
  replay(events: readonly CacheEvent[]): void {
    if (!this.#over && events.length > 0) this.#send(events);
  }

  /** The events up to `revision` come from elsewhere: from the history of the store. */
  coverUpTo(revision: Revision): void {
    this.#covered = Math.max(this.#covered, revision);
  }

  /** The past is complete; the view is at `revision`. */
  release(revision: Revision): void {
    // Once more for every write that the observer makes meanwhile.
    for (let held = this.#held; !this.#over && held !== undefined && held.length > 0; held = this.#held) {
      this.#held = [];
      this.#send(held);
    }
    this.#held = undefined;
    this.progress(revision);
  }

  progress(revision: Revision): void {
    if (this.#over || this.#held !== undefined || revision < this.#covered) return;
    this.#covered = revision;
    this.#guard(() => this.#observer.progress?.(revision));
  }

  fail(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#observer.error(error);
    } catch (failure) {
      this.#onError(failure);
    }
  }

  end(): void {
    this.#over = true;
    this.#held = undefined;
  }

  #send(events: readonly CacheEvent[]): void {
    this.#guard(() => this.#observer.events(events));
  }

  /** An observer that throws loses its own subscription: the others, and the cache itself, continue. */
  #guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#onError(error);
      this.fail(error instanceof Error ? error : new Error("the observer of a view failed", { cause: error }));
    }
  }

  // Almost always the batch itself, so that all subscriptions of a prefix share one array.
  #uncovered(batch: readonly CacheEvent[]): readonly CacheEvent[] {
    const [first] = batch;
    if (first !== undefined && first.object.revision > this.#covered) return batch;
    return batch.filter((event) => event.object.revision > this.#covered);
  }
}
