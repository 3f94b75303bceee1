// A store as one replica sees it over a bad network: calls take their time and overtake each other, requests and answers get lost,
// watches lag and break, and at times nothing comes through at all.

import type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StorageEvent,
  StoredEntry,
  WatchObserver,
} from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { SimulatedTime } from "./virtual-time.ts";

export type Network = {
  readonly time: SimulatedTime;
  readonly next: (bound: number) => number;
  /** One message in so many gets lost; 0 means none. */
  lossRate: number;
  /** No message takes longer, in milliseconds. */
  maxDelayMs: number;
};

/** A call without an answer fails after this. */
const CALL_TIMEOUT_MS = 5_000;

type OpenWatch = { readonly observer: WatchObserver; readonly source: Disposable; over: boolean };

export class UnreliableStorage implements Storage {
  readonly #store: Storage;
  readonly #network: Network;
  readonly #watches = new Set<OpenWatch>();
  #cutOff = false;

  constructor(store: Storage, network: Network) {
    this.#store = store;
    this.#network = network;
  }

  get(key: string): Promise<StoredEntry | undefined> {
    return this.#call(() => this.#store.get(key));
  }

  list(prefix: string, options?: ListOptions): Promise<ListResult> {
    return this.#call(() => this.#store.list(prefix, options));
  }

  create(key: string, value: Uint8Array): Promise<Revision> {
    return this.#call(() => this.#store.create(key, value));
  }

  update(key: string, value: Uint8Array, expected: Revision): Promise<Revision> {
    return this.#call(() => this.#store.update(key, value, expected));
  }

  delete(key: string, expected: Revision): Promise<Revision> {
    return this.#call(() => this.#store.delete(key, expected));
  }

  checkRoom(key: string, value: Uint8Array, kind: "create" | "update"): Promise<void> {
    return this.#call(() => this.#store.checkRoom(key, value, kind));
  }

  currentRevision(): Promise<Revision> {
    return this.#call(() => this.#store.currentRevision());
  }

  compact(revision: Revision): Promise<void> {
    return this.#call(() => this.#store.compact(revision));
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    const { time } = this.#network;
    let arrival = time.elapsed();
    const deliver = (run: () => void) => {
      if (watch.over || this.#cutOff) return;
      // One after the other, as on one connection.
      arrival = Math.max(arrival, time.elapsed() + this.#delay());
      time.schedule(arrival - time.elapsed(), () => {
        if (!watch.over) run();
      });
    };
    const watch: OpenWatch = {
      over: false,
      observer,
      source: this.#store.watch(prefix, fromRevision, {
        events: (events: readonly StorageEvent[], revision) => deliver(() => observer.events(events, revision)),
        error: (error) => deliver(() => this.#break(watch, error)),
      }),
    };
    this.#watches.add(watch);
    if (this.#cutOff) time.schedule(CALL_TIMEOUT_MS, () => this.#break(watch, unavailable()));
    return { [Symbol.dispose]: () => this.#end(watch) };
  }

  /** All watches break; what was on its way is lost. */
  breakWatches(): void {
    for (const watch of [...this.#watches]) this.#break(watch, unavailable());
  }

  /** Nothing comes through until `reconnect`; watches notice late. */
  cutOff(): void {
    this.#cutOff = true;
    this.#network.time.schedule(CALL_TIMEOUT_MS, () => this.breakWatches());
  }

  reconnect(): void {
    // Events lost meanwhile cannot be delivered on the old watches.
    this.breakWatches();
    this.#cutOff = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakWatches();
  }

  /** Reaches what stands where the store does in the same way. */
  call<Result>(perform: () => Promise<Result>): Promise<Result> {
    return this.#call(perform);
  }

  async #call<Result>(perform: () => Promise<Result>): Promise<Result> {
    await this.#travel();
    const result = perform();
    // The answer may be lost although the work was done.
    result.catch(() => {});
    await this.#travel();
    return result;
  }

  async #travel(): Promise<void> {
    const { time, next, lossRate } = this.#network;
    if (this.#cutOff || (lossRate > 0 && next(lossRate) === 0)) {
      await time.pause(CALL_TIMEOUT_MS);
      throw unavailable();
    }
    await time.pause(this.#delay());
  }

  #delay(): number {
    const { next, maxDelayMs } = this.#network;
    // Mostly short, sometimes long.
    return next(next(maxDelayMs) + 1);
  }

  #break(watch: OpenWatch, error: Error): void {
    if (watch.over) return;
    this.#end(watch);
    watch.observer.error(error);
  }

  #end(watch: OpenWatch): void {
    watch.over = true;
    watch.source[Symbol.dispose]();
    this.#watches.delete(watch);
  }
}

function unavailable(): StorageUnavailableError {
  return new StorageUnavailableError("nobody answers");
}
