// Watches objects: converts store events into events for a selection.
// Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go

import { type ApiError, expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { CacheEvent, CacheView } from "../../../cache/watch-cache.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { compareKeys } from "../../../storage/key-order.ts";
import type { Revision } from "../../../storage/storage.ts";
import { RevisionCompactedError } from "../../../storage/storage-errors.ts";
import type { WatchEventObserver, WatchQuery } from "../../resource-storage.ts";
import type { StoreContext } from "../store-context.ts";
import { awaitFreshness, parseListResourceVersion } from "./resource-version.ts";
import { compileSelection, type ObjectPredicate, selectedKey } from "./selection.ts";

export async function watchObjects(
  store: StoreContext,
  context: RequestContext,
  query: WatchQuery,
  observer: WatchEventObserver,
): Promise<Disposable> {
  const matches = compileSelection(query, store);
  return await watchRecords(store, context, query, matches, {
    initialState(read) {
      observer.initialState((bytes) => {
        const objects = read(bytes);
        if (objects === undefined) observer.initialEventsEnd(String(store.view.revision));
        return objects;
      });
    },
    events: (events) => deliver(events, matches, observer),
    progress: (resourceVersion) => observer.progress(resourceVersion),
    error: (error) => observer.error(error),
  });
}

/** Observes the records of a store before the selection is applied. */
export type RecordObserver = {
  /** Called first, if at all. `read` returns about as many bytes as it is asked for, and undefined after the last record. */
  initialState(read: (bytes: number) => readonly CachedObject[] | undefined): void;
  /** Events of records that have been read. */
  events(events: readonly CacheEvent[]): void;
  progress(resourceVersion: string): void;
  error(error: Error): void;
};

/** `matches` selects among the records that the watch begins with; undefined: all. */
export async function watchRecords(
  store: StoreContext,
  context: RequestContext,
  query: WatchQuery,
  matches: ObjectPredicate | undefined,
  observer: RecordObserver,
): Promise<Disposable> {
  // Events of all others would be looked at by each of many watches of one object.
  const prefix = selectedKey(query, store.definition, store.keys) ?? store.keys.inNamespace(query.namespace);
  const bound = parseListResourceVersion(query.resourceVersion);
  const sendsInitialState = query.sendInitialEvents ?? bound === 0;

  if (query.sendInitialEvents === true || bound === 0) {
    await awaitFreshness(store.cache, query.resourceVersion === "" ? "" : bound, context);
  }
  const from = sendsInitialState || bound === 0 ? store.view.revision : bound;
  const state = sendsInitialState ? new InitialState(store.view, prefix, matches) : undefined;
  if (state !== undefined) observer.initialState((bytes) => state.read(bytes));
  return store.view.subscribe(prefix, from, {
    events(events) {
      const known = state === undefined ? events : events.filter(({ object }) => state.hasRead(object));
      if (known.length > 0) observer.events(known);
    },
    // Where the watch begins its client knows.
    progress: (revision: Revision) => revision > from && observer.progress(String(revision)),
    error: (error) => observer.error(error instanceof RevisionCompactedError ? tooOldError(from, error) : error),
  });
}

/** @see k8s.io/apiserver/pkg/storage/cacher/watch_cache.go */
const tooOldError = (from: Revision, { oldest }: RevisionCompactedError): ApiError =>
  expiredError(`too old resource version: ${from} (${oldest})`);

/** So many objects are read at a time, and looked at in a turn at most. */
const PAGE = 128;
const LOOKED_AT = 1_024;
/** Where a selection looks into objects: these may be as much as labels. */
const LOOKED_AT_BYTES = 256 * 1024;

/** The state that a watch begins with, read in the order of the keys. */
class InitialState {
  readonly #view: CacheView;
  readonly #prefix: string;
  readonly #matches: ObjectPredicate | undefined;
  /** The last key that was read. */
  #readTo = "";
  #isRead = false;

  constructor(view: CacheView, prefix: string, matches: ObjectPredicate | undefined) {
    this.#view = view;
    this.#prefix = prefix;
    this.#matches = matches;
  }

  read(bytes: number): readonly CachedObject[] | undefined {
    if (this.#isRead) return undefined;
    const found: CachedObject[] = [];
    let size = 0;
    let left = this.#matches === undefined ? Number.POSITIVE_INFINITY : LOOKED_AT_BYTES;
    for (let looked = 0; looked < LOOKED_AT; looked += PAGE) {
      const page = this.#view.list(this.#prefix, { startAfter: this.#readTo, limit: PAGE });
      for (const object of page) {
        if (size >= bytes || left <= 0) return found;
        this.#readTo = object.key;
        left -= object.byteLength;
        if (!selects(this.#matches, object)) continue;
        found.push(object);
        size += object.byteLength;
      }
      if (page.length === PAGE) continue;
      this.#isRead = true;
      return found.length > 0 ? found : undefined;
    }
    return found;
  }

  /** Whether the client has been sent the object, if it is one for it: of others it gets to know when they are read. */
  hasRead({ key }: CachedObject): boolean {
    return this.#isRead || compareKeys(key, this.#readTo) <= 0;
  }
}

/** Tells the observer what the events are for a selection. */
export function deliver(
  events: readonly CacheEvent[],
  matches: ObjectPredicate | undefined,
  observer: Pick<WatchEventObserver, "event">,
): void {
  for (const event of events) {
    const was = event.previous !== undefined && selects(matches, event.previous);
    const is = event.type === "put" && selects(matches, event.object);
    if (is) observer.event(was ? "MODIFIED" : "ADDED", event.object);
    else if (was) observer.event("DELETED", lastSeen(event));
  }
}

export const selects = (matches: ObjectPredicate | undefined, object: CachedObject): boolean =>
  matches === undefined || matches(object);

/** An object that leaves a selection is shown as it was when it was in it, under the revision of the change that took it out. */
const lastSeen = (event: CacheEvent): CachedObject =>
  event.type === "delete" || event.previous === undefined
    ? event.object
    : event.previous.atRevision(event.object.revision);
