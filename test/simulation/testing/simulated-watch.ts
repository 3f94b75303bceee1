// A client that watches through a replica, moves to another one when its watch breaks, and checks that it misses and repeats nothing.

import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { expect } from "vitest";
import type { TrueHistory } from "./true-history.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type SimulatedWatchOptions = {
  readonly time: VirtualTime;
  readonly history: TrueHistory;
  readonly prefix: string;
  /** That of some replica that serves; undefined when none does. */
  readonly chooseView: () => CacheView | undefined;
  /** How long it stays away after its watch has ended, in milliseconds. */
  readonly absence: () => number;
};

export class SimulatedWatch {
  readonly #options: SimulatedWatchOptions;
  /** Everything up to here is known; undefined before the first list and after the history has been forgotten. */
  #known: Revision | undefined;
  /** The newest that was ever known: a list must not show anything older once the client asks for "at least this". */
  #newest: Revision = 0;
  #subscription: Disposable | undefined;
  received = 0;

  constructor(options: SimulatedWatchOptions) {
    this.#options = options;
    this.#start();
  }

  get known(): Revision {
    return this.#known ?? 0;
  }

  /** Stops watching, to come back later. */
  leave(): void {
    if (this.#subscription === undefined) return;
    this.#subscription[Symbol.dispose]();
    this.#later();
  }

  #start(): void {
    const { chooseView, prefix, history } = this.#options;
    const view = chooseView();
    // A replica that is behind is asked again later, as a server does with a revision it has not seen yet.
    if (view === undefined || view.revision < this.#newest) {
      this.#later();
      return;
    }
    if (this.#known === undefined) {
      this.#moveTo(view.revision);
    }
    this.#subscription = view.subscribe(prefix, this.known, {
      events: (events) => {
        const last = events.at(-1)?.object.revision ?? 0;
        const seen = events.map(({ type, object }) => ({ type, key: object.key, revision: object.revision }));
        expect(seen).toEqual(history.between(this.known, last, prefix));
        this.received += events.length;
        this.#moveTo(last);
      },
      progress: (revision) => {
        expect(history.between(this.known, revision, prefix)).toEqual([]);
        if (revision > this.known) this.#moveTo(revision);
      },
      error: (error) => {
        if (error instanceof RevisionCompactedError) this.#known = undefined;
        this.#later();
      },
    });
  }

  #moveTo(revision: Revision): void {
    expect(revision).toBeGreaterThanOrEqual(this.#newest);
    this.#known = revision;
    this.#newest = revision;
  }

  #later(): void {
    this.#subscription = undefined;
    this.#options.time.schedule(this.#options.absence(), () => this.#start());
  }
}
