// A server that may crash at any time: a watch cache over a bad network, and the checks on what it shows.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { CacheView, WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import { expect } from "vitest";
import { type TrueHistory, TrueState } from "./true-history.ts";
import { type Network, UnreliableStorage } from "./unreliable-storage.ts";

export type SimulatedReplicaOptions = {
  readonly store: Storage;
  readonly network: Network;
  readonly history: TrueHistory;
  readonly prefix: string;
};

type Life = { readonly cache: WatchCache; readonly state: TrueState; ready: boolean; revision: Revision };

/** So few that watches often have to be served from the history of the store. */
const HISTORY_LIMIT = 16;

export class SimulatedReplica {
  readonly #options: SimulatedReplicaOptions;
  readonly storage: UnreliableStorage;
  #life: Life;

  constructor(options: SimulatedReplicaOptions) {
    this.#options = options;
    this.storage = new UnreliableStorage(options.store, options.network);
    this.#life = this.#begin();
  }

  get cache(): WatchCache {
    return this.#life.cache;
  }

  /** Undefined while nothing is loaded yet. */
  get view(): CacheView | undefined {
    return this.#life.ready ? this.cache.view(this.#options.prefix) : undefined;
  }

  /** Forgets everything, and starts anew. */
  async crash(): Promise<void> {
    const { cache } = this.#life;
    this.#life = this.#begin();
    await cache[Symbol.asyncDispose]();
  }

  /** The view is the state of the store at the revision it says, which never goes back. */
  check(): void {
    const { view } = this;
    if (view === undefined) return;
    const { state } = this.#life;
    expect(view.revision).toBeGreaterThanOrEqual(this.#life.revision);
    this.#life.revision = view.revision;
    state.moveTo(view.revision);
    const shown = view.list(this.#options.prefix).map(({ key, revision }) => [key, revision] as const);
    expect(new Map(shown)).toEqual(state.revisions);
    expect(shown.map(([key]) => key)).toEqual(shown.map(([key]) => key).toSorted());
  }

  #begin(): Life {
    const { network, history, prefix } = this.#options;
    const life: Life = {
      cache: createWatchCache({
        storage: this.storage,
        prefix: "/registry/",
        scheduler: network.time,
        historyLimit: HISTORY_LIMIT,
      }),
      state: new TrueState(history, prefix),
      ready: false,
      revision: 0,
    };
    life.cache.ready().then(
      () => {
        life.ready = true;
      },
      () => {},
    );
    return life;
  }
}
