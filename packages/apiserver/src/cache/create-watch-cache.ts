// The watch cache: one watch of the whole store keeps every object in memory and feeds the views.
// Source of the idea: k8s.io/apiserver/pkg/storage/cacher/cacher.go

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Scheduler } from "../runtime/clock.ts";
import { OrderedEntries } from "../storage/ordered-entries.ts";
import type { Revision, Storage, StorageEvent, StoredEntry } from "../storage/storage.ts";
import { RevisionCompactedError } from "../storage/storage-errors.ts";
import { keyOf } from "../storage/watcher-set.ts";
import { CachedObject, type EntryReader } from "./cached-object.ts";
import { type CountedViews, ViewCounts } from "./counted-views.ts";
import { HistoryBudget } from "./event-ring.ts";
import { viewPrefixOf } from "./resource-keys.ts";
import { closedError, ResourceView, type ViewDeps } from "./resource-view.ts";
import { RevisionWaiters } from "./revision-waiters.ts";
import { type StoredAmount, StoredUsage } from "./stored-usage.ts";
import type { CacheView, WaitOptions, WatchCache } from "./watch-cache.ts";

export type WatchCacheOptions = {
  readonly storage: Storage;
  /** Only keys under it are kept, such as `/registry/`. */
  readonly prefix: string;
  readonly scheduler: Scheduler;
  /** How many recent events each view keeps in memory at most, within 16 MiB; 4096 when absent. */
  readonly historyLimit?: number;
  /** Memory for the history of the views with the prefix. Absent: each view has 16 MiB. */
  readonly history?: (viewPrefix: string) => HistoryBudget;
  /** Counts the objects and bytes. Absent: those of API surfaces, but not of their namespaces. */
  readonly usage?: StoredUsage;
  /** Absent: all objects are kept. */
  readonly counted?: CountedViews | undefined;
  /** Called with the reason when the store cannot be followed; the cache retries. */
  readonly onError?: (error: unknown) => void;
};

const DEFAULT_HISTORY_LIMIT = 4096;
const WAIT_TIMEOUT_MS = 3_000;
const PROGRESS_INTERVAL_MS = 1_000;
const VIEWS_PER_TURN = 200;
const PAGE_SIZE = 10_000;
const ENTRIES_PER_TURN = 500;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;

/** Starts to load immediately; `ready()` resolves when that is done. Closing the cache leaves the store open. */
export function createWatchCache(options: WatchCacheOptions): WatchCache {
  const cache = new StoreWatchCache(options);
  void cache.run();
  return cache;
}

type Contents = {
  /** The amounts of counted views, by prefix. */
  readonly amounts: Map<string, StoredAmount>;
  readonly views: Map<string, OrderedEntries<CachedObject>>;
  readonly read: EntryReader;
};

class StoreWatchCache implements WatchCache {
  readonly #storage: Storage;
  readonly #prefix: string;
  readonly #scheduler: Scheduler;
  readonly #views = new Map<string, ResourceView>();
  /** In order: with hundreds of clusters there are tens of thousands, and those of one that goes are found without a look at all. */
  readonly #viewPrefixes = new OrderedEntries<{ readonly key: string }>();
  readonly #viewDeps: ViewDeps;
  readonly #waiters: RevisionWaiters;
  readonly #onError: (error: unknown) => void;
  readonly #ready: Promise<void>;
  readonly #closing = new AbortController();
  #settleReady: { resolve(): void; reject(error: Error): void } | undefined;
  #revision: Revision = 0;
  /** False when what the views hold cannot be brought up to date by watching. */
  #loaded = false;
  #watch: Disposable | undefined;
  #retry: Disposable | undefined;
  #progress: Disposable | undefined;
  #retryMs = FIRST_RETRY_MS;

  readonly #counted: CountedViews | undefined;
  readonly #counts: ViewCounts;
  readonly usage: StoredUsage;

  constructor(options: WatchCacheOptions) {
    const { storage, prefix, scheduler, historyLimit = DEFAULT_HISTORY_LIMIT, onError } = options;
    const { history = () => new HistoryBudget(Number.POSITIVE_INFINITY), usage = new StoredUsage() } = options;
    this.usage = usage;
    this.#counted = options.counted;
    this.#counts = new ViewCounts(usage);
    this.#storage = storage;
    this.#prefix = prefix;
    this.#scheduler = scheduler;
    this.#waiters = new RevisionWaiters(scheduler);
    this.#onError = onError ?? (() => {});
    this.#viewDeps = {
      storage,
      historyLimit,
      history,
      usage,
      revision: () => this.#revision,
      closed: () => this.#closed,
      onError: this.#onError,
    };
    this.#ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    // Closing before the first load must not become an unhandled rejection.
    this.#ready.catch(() => {});
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  get healthy(): boolean {
    return this.#watch !== undefined;
  }

  get revision(): Revision {
    return this.#revision;
  }

  waitFor(revision: Revision, options: WaitOptions = {}): Awaitable<void> {
    if (this.#closed) return Promise.reject(closedError());
    // Revisions mean nothing until the content of the views is known to be of this history.
    if (revision <= this.#revision && this.#loaded) return undefined;
    const { timeoutMs = WAIT_TIMEOUT_MS, signal } = options;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    return this.#waiters.wait(revision, timeoutMs, () => this.#revision, signal);
  }

  waitForKnown(options?: WaitOptions): Awaitable<void> {
    const known = this.healthy ? this.#storage.known?.revision : undefined;
    return known === undefined ? undefined : this.waitFor(known, options);
  }

  isNewest(): boolean {
    const known = this.#storage.known?.revision;
    return known !== undefined && known <= this.#revision && this.#loaded && !this.#closed;
  }

  async refresh(options?: WaitOptions): Promise<Revision> {
    const revision = await this.#storage.currentRevision();
    const waiting = this.waitFor(revision, options);
    if (waiting !== undefined) await waiting;
    return revision;
  }

  view(prefix: string): CacheView {
    if (viewPrefixOf(prefix) !== prefix) throw new RangeError(`not the prefix of a view: ${prefix}`);
    return this.#view(prefix);
  }

  forget(prefix: string): void {
    for (const { key } of this.#viewPrefixes.list(prefix)) {
      const view = this.#views.get(key);
      if (view?.retire() === true) {
        this.#views.delete(key);
        this.#viewPrefixes.delete(key);
      } else view?.forgetHistory();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closing.abort(closedError());
    for (const started of [this.#watch, this.#retry, this.#progress]) started?.[Symbol.dispose]();
    this.#watch = undefined;
    this.#settleReady?.reject(closedError());
    this.#waiters.failAll(closedError());
    for (const view of this.#views.values()) view.fail(closedError());
  }

  /** Loads the missing part, then watches; retries after failures. */
  async run(): Promise<void> {
    try {
      // Another history, such as that of a backup.
      if (this.#loaded && (await this.#storage.currentRevision()) < this.#revision) this.#loaded = false;
      if (!this.#loaded) await this.#load();
      if (!this.#closed) this.#startWatch();
    } catch (error) {
      this.#runLater(error);
    }
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  #startWatch(): void {
    this.#watch = this.#storage.watch(this.#prefix, this.#revision, {
      events: (events, revision) => this.#applyOrReload(events, revision),
      error: (error) => this.#lose(error),
    });
    this.#settleReady?.resolve();
    this.#waiters.reached(this.#revision);
  }

  #lose(error: Error): void {
    this.#watch = undefined;
    // Missed events cannot be recovered: everything is loaded again.
    if (error instanceof RevisionCompactedError) this.#loaded = false;
    this.#runLater(error);
  }

  #runLater(error: unknown): void {
    if (this.#closed) return;
    this.#onError(error);
    this.#retry = this.#scheduler.schedule(this.#retryMs, () => void this.run());
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  /** After a failure it is not known what the views hold: everything is loaded again. */
  #applyOrReload(events: readonly StorageEvent[], revision: Revision): void {
    try {
      this.#apply(events, revision);
    } catch (error) {
      this.#watch?.[Symbol.dispose]();
      this.#watch = undefined;
      this.#loaded = false;
      this.#runLater(error);
    }
  }

  #apply(events: readonly StorageEvent[], revision: Revision): void {
    const touched = new Set<ResourceView>();
    // Most events of one commit belong to one view.
    let prefix: string | undefined;
    let view: ResourceView | undefined;
    const counted = new Set<string>();
    for (const event of events) {
      const key = keyOf(event);
      const countedPrefix = this.#counted === undefined ? undefined : this.#countedPrefixOf(key);
      if (countedPrefix !== undefined) {
        this.#counts.apply(countedPrefix, event);
        counted.add(countedPrefix);
        continue;
      }
      if (prefix === undefined || view === undefined || !key.startsWith(prefix)) {
        prefix = viewPrefixOf(key);
        if (prefix === undefined) continue;
        view = this.#view(prefix);
        touched.add(view);
      }
      view.apply(event);
    }
    this.#revision = revision;
    this.#retryMs = FIRST_RETRY_MS;
    for (const view of touched) view.dispatch();
    for (const countedPrefix of counted) this.#counted?.changed(countedPrefix);
    this.#waiters.reached(revision);
    this.#progress ??= this.#scheduleProgress();
  }

  /** Undefined for a key of a view that is kept, and of none. */
  #countedPrefixOf(key: string): string | undefined {
    const viewPrefix = viewPrefixOf(key);
    return viewPrefix !== undefined && this.#counted?.isCounted(viewPrefix) === true ? viewPrefix : undefined;
  }

  #scheduleProgress(): Disposable {
    return this.#scheduler.schedule(PROGRESS_INTERVAL_MS, () => this.#tellProgress());
  }

  /** Some views in each turn: each cluster has a view of each of its kinds. `begun`: the revision at the first of them. */
  #tellProgress(left: Iterator<ResourceView> = this.#views.values(), begun = this.#revision): void {
    for (let told = 0; told < VIEWS_PER_TURN; told++) {
      const { done, value: view } = left.next();
      if (done === true) {
        this.#progress = this.#revision > begun ? this.#scheduleProgress() : undefined;
        return;
      }
      view.progress(this.#revision);
    }
    this.#progress = this.#scheduler.schedule(0, () => this.#tellProgress(left, begun));
  }

  #view(prefix: string): ResourceView {
    let view = this.#views.get(prefix);
    if (view === undefined) {
      view = new ResourceView(this.#viewDeps, prefix);
      this.#views.set(prefix, view);
      this.#viewPrefixes.set({ key: prefix });
    }
    return view;
  }

  async #load(): Promise<void> {
    const contents: Contents = { amounts: new Map(), views: new Map(), read: CachedObject.entryReader() };
    const signal = this.#closing.signal;
    let page = await this.#storage.list(this.#prefix, { limit: PAGE_SIZE, remaining: "any", signal });
    const { revision } = page;
    for (;;) {
      const startAfter = page.entries.at(-1)?.key;
      const more = page.remaining > 0 && startAfter !== undefined;
      // Asked for before this page is worked on, so that store and cache work at the same time.
      const next = more
        ? this.#storage.list(this.#prefix, { limit: PAGE_SIZE, startAfter, revision, remaining: "any", signal })
        : undefined;
      // Awaited below; until then a rejection must not be unhandled.
      next?.catch(() => {});
      for (let start = 0; start < page.entries.length; start += ENTRIES_PER_TURN) {
        this.#add(contents, page.entries.slice(start, start + ENTRIES_PER_TURN));
        // Other work runs during a long load, and the request for the next page is sent.
        if (next !== undefined) await nextTurn();
      }
      if (next === undefined) break;
      page = await next;
    }
    this.#replace(contents, revision);
  }

  /** `entries` come in order, after those of the calls before. */
  #add({ amounts, views, read }: Contents, entries: readonly StoredEntry[]): void {
    let prefix: string | undefined;
    let objects = new OrderedEntries<CachedObject>();
    let knownObjects: ResourceView | undefined;
    for (const entry of entries) {
      const countedPrefix = this.#counted === undefined ? undefined : this.#countedPrefixOf(entry.key);
      if (countedPrefix !== undefined) {
        amounts.set(countedPrefix, this.#counts.with(countedPrefix, amounts.get(countedPrefix), entry));
        continue;
      }
      if (prefix === undefined || !entry.key.startsWith(prefix)) {
        prefix = viewPrefixOf(entry.key);
        if (prefix === undefined) continue;
        objects = views.get(prefix) ?? new OrderedEntries();
        views.set(prefix, objects);
        knownObjects = this.#views.get(prefix);
      }
      const known = knownObjects?.get(entry.key);
      objects.append(known?.revision === entry.revision ? known : read(entry));
    }
  }

  #replace({ amounts, views }: Contents, revision: Revision): void {
    this.#revision = revision;
    this.#loaded = true;
    for (const prefix of views.keys()) this.#view(prefix);
    for (const [prefix, view] of this.#views) view.replace(views.get(prefix) ?? new OrderedEntries(), revision);
    // Only now: an observer of one view may read others.
    const error = new RevisionCompactedError(revision, revision);
    for (const view of this.#views.values()) view.fail(error);
    for (const countedPrefix of this.#counts.replace(amounts)) this.#counted?.changed(countedPrefix);
  }
}
