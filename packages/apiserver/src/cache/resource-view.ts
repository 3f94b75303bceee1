// The view of one resource in the watch cache: objects in order, recent events, and subscriptions.

import { asError, caught } from "@postern/apimachinery/steps/caught";
import { OrderedEntries } from "../storage/ordered-entries.ts";
import type { Revision, Storage, StorageEvent } from "../storage/storage.ts";
import { StorageUnavailableError } from "../storage/storage-errors.ts";
import { revisionOf } from "../storage/watcher-set.ts";
import { CachedObject } from "./cached-object.ts";
import { EventRing, type HistoryBudget } from "./event-ring.ts";
import { LabelIndex, type LabelledObjects } from "./label-index.ts";
import { ObjectArena } from "./object-arena.ts";
import type { StoredUsage, UsageCounter } from "./stored-usage.ts";
import { Subscription } from "./subscription.ts";
import { SubscriptionSet } from "./subscription-set.ts";
import type { CacheEvent, CacheListOptions, CacheObserver, CacheView, StoredContent } from "./watch-cache.ts";

export type ViewDeps = {
  readonly storage: Storage;
  readonly historyLimit: number;
  /** The revision of the whole cache. */
  readonly revision: () => Revision;
  readonly closed: () => boolean;
  /** Memory for the history of all views of the same kind of API surface. */
  readonly history: (viewPrefix: string) => HistoryBudget;
  readonly usage: StoredUsage;
  /** Takes the errors of observers. */
  readonly onError: (error: unknown) => void;
};

/** Objects that each change inspects while memory is held for nothing. */
const PACKED_AT_ONCE = 16;

export class ResourceView implements CacheView {
  readonly #deps: ViewDeps;
  readonly #history: EventRing;
  readonly #subscriptions = new SubscriptionSet();
  /** Created with the first request for a label: most views are small, or get none. */
  #labels: LabelIndex | undefined;
  readonly #memory = new ObjectArena();
  readonly #counter: UsageCounter;
  /** Objects up to this key have been packed. */
  #packedTo = "";
  #objects = new OrderedEntries<CachedObject>();
  #changedRevision: Revision;
  #isRetired = false;
  /** Applied, but not yet reported to the subscriptions. */
  #batch: CacheEvent[] = [];

  constructor(deps: ViewDeps, prefix: string) {
    this.#deps = deps;
    this.#counter = deps.usage.counterOf(prefix);
    this.#changedRevision = deps.revision();
    this.#history = new EventRing(deps.historyLimit, this.#changedRevision, { budget: deps.history(prefix) });
  }

  get revision(): Revision {
    return this.#deps.revision();
  }

  get changedRevision(): Revision {
    return this.#changedRevision;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): CachedObject | undefined {
    const { byKey, unmapped } = this.#objects;
    return byKey.get(key) ?? (unmapped === 0 ? undefined : this.#objects.get(key));
  }

  list(prefix: string, options?: CacheListOptions): readonly CachedObject[] {
    return this.#objects.list(prefix, options);
  }

  labelled(label: string, value: string): LabelledObjects | undefined {
    this.#labels ??= new LabelIndex();
    return this.#labels.find(label, value, this.#objects);
  }

  count(prefix: string, startAfter?: string): number {
    return this.#objects.count(prefix, startAfter);
  }

  subscribe(prefix: string, fromRevision: Revision, observer: CacheObserver): Disposable {
    const subscription = new Subscription(prefix, fromRevision, observer, this.#deps.onError);
    let replay: Disposable | undefined;
    if (this.#isRetired || this.#deps.closed()) queueMicrotask(() => subscription.fail(closedError()));
    else if (fromRevision >= this.#history.floor) this.#replayFromMemory(subscription);
    else replay = this.#replayFromStorage(subscription, fromRevision);
    return {
      [Symbol.dispose]: () => {
        subscription.end();
        this.#subscriptions.remove(subscription);
        replay?.[Symbol.dispose]();
      },
    };
  }

  /** Applies a change. `dispatch` reports it, after the whole commit has been applied. */
  apply(event: StorageEvent): void {
    const applied = event.type === "put" ? this.#put(event) : this.#delete(event);
    if (applied === undefined) return;
    this.#changedRevision = applied.object.revision;
    this.#history.push(applied);
    this.#batch.push(withContent(applied, event));
    if (this.#memory.isSparse) this.#pack();
  }

  dispatch(): void {
    const batch = this.#batch;
    this.#batch = [];
    try {
      this.#subscriptions.dispatch(batch);
    } finally {
      for (const { object } of batch) object.letGoOfDecoded();
    }
  }

  progress(revision: Revision): void {
    this.#subscriptions.progress(revision);
  }

  /** Replaces everything by the state at `revision`; how it came about is not known, so that every subscription has to `fail`. */
  replace(objects: OrderedEntries<CachedObject>, revision: Revision): void {
    for (const object of this.#objects.list("")) this.#counter.add(object, -1);
    this.#objects = objects;
    this.#memory.clear();
    for (const object of objects.list("")) {
      this.#memory.keep(object);
      this.#counter.add(object, 1);
    }
    this.#labels = undefined;
    this.#changedRevision = revision;
    this.#history.reset(revision);
  }

  /** Ends every subscription. */
  fail(error: Error): void {
    this.#subscriptions.failAll(error);
  }

  /** Removes an unused view: false if it contains objects, or has subscriptions. */
  retire(): boolean {
    this.#isRetired ||= this.#objects.size === 0 && this.#subscriptions.isEmpty;
    if (this.#isRetired) this.#history.reset(this.#changedRevision);
    return this.#isRetired;
  }

  /** Without a subscription, memory keeps no past events: the store still has them. */
  forgetHistory(): void {
    if (this.#subscriptions.isEmpty) this.#history.reset(this.#changedRevision);
  }

  #put(event: StorageEvent & { type: "put" }): CacheEvent {
    const object = this.#memory.add(event.entry);
    // Counters and followers read it. `dispatch` lets go of it.
    object.keepDecoded(contentOf(event)?.object);
    const previous = this.#objects.set(object);
    this.#counter.add(object, 1);
    if (previous !== undefined) this.#remove(previous);
    this.#labels?.change(previous, object);
    return { type: "put", object, previous };
  }

  #delete({ key, revision }: StorageEvent & { type: "delete" }): CacheEvent | undefined {
    const previous = this.#objects.delete(key);
    if (previous !== undefined) this.#remove(previous);
    this.#labels?.change(previous, undefined);
    if (previous === undefined) return undefined;
    const object = previous.atRevision(revision);
    // As above.
    object.keepDecoded();
    return { type: "delete", object, previous };
  }

  #remove(previous: CachedObject): void {
    this.#memory.remove(previous);
    this.#counter.add(previous, -1);
  }

  /** A little with each change, so that no request waits for it. */
  #pack(): void {
    const next = this.#objects.list("", { startAfter: this.#packedTo, limit: PACKED_AT_ONCE });
    this.#memory.pack(next);
    this.#packedTo = next.length < PACKED_AT_ONCE ? "" : (next.at(-1)?.key ?? "");
  }

  #replayFromMemory(subscription: Subscription): void {
    subscription.offer(this.#history.after(subscription.prefix, subscription.covered));
    this.#subscriptions.add(subscription);
    const release = (): void => subscription.release(this.revision);
    const fail = (error: unknown): void => {
      this.#deps.onError(error);
      subscription.fail(asError(error));
    };
    queueMicrotask(caught(fail, release));
  }

  /** New events are held back until the store has reported everything up to the present state of the view. */
  #replayFromStorage(subscription: Subscription, fromRevision: Revision): Disposable {
    const handOver = this.revision;
    subscription.coverUpTo(handOver);
    this.#subscriptions.add(subscription);
    const watch = this.#deps.storage.watch(subscription.prefix, fromRevision, {
      events: (events, revision) => {
        subscription.replay(events.filter((event) => revisionOf(event) <= handOver).map(toCacheEvent));
        if (revision < handOver) return;
        watch[Symbol.dispose]();
        subscription.release(this.revision);
      },
      error: (error) => {
        this.#subscriptions.remove(subscription);
        subscription.fail(error);
      },
    });
    return watch;
  }
}

/** The event for subscribers. History keeps the one without the content. */
function withContent(applied: CacheEvent, event: StorageEvent): CacheEvent {
  if (applied.type !== "put" || event.type !== "put" || event.content === undefined) return applied;
  const { object, previous } = applied;
  return { type: "put", object, previous, content: contentOf(event) };
}

/** Code that creates objects of a view attaches only content of this type. */
const contentOf = ({ content }: StorageEvent & { type: "put" }) => content as StoredContent | undefined;

function toCacheEvent(event: StorageEvent): CacheEvent {
  if (event.type === "delete") {
    const previous = CachedObject.fromEntry(event.previous);
    return { type: "delete", object: previous.atRevision(event.revision), previous };
  }
  const { entry, previous } = event;
  return { type: "put", object: CachedObject.fromEntry(entry), previous: previous && CachedObject.fromEntry(previous) };
}

export const closedError = (): StorageUnavailableError => new StorageUnavailableError("the watch cache is closed");
