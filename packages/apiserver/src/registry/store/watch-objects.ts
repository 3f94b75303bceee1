// Watches objects: turns what happens in the store into what a selection sees of it.
// Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go

import { type ApiError, expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { CacheEvent } from "../../cache/watch-cache.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { Revision } from "../../storage/storage.ts";
import { RevisionCompactedError } from "../../storage/storage-errors.ts";
import type { WatchEventObserver, WatchQuery } from "../resource-storage.ts";
import { awaitFreshness, parseListResourceVersion } from "./get-object.ts";
import { compileSelection, type ObjectPredicate, selectedKey } from "./selection.ts";
import type { StoreContext } from "./store-context.ts";

export async function watchObjects(
  store: StoreContext,
  context: RequestContext,
  query: WatchQuery,
  observer: WatchEventObserver,
): Promise<Disposable> {
  const matches = compileSelection(query, store.definition, store.keys);
  // Events of all others would be looked at by each of many watches of one object.
  const prefix = selectedKey(query, store.definition, store.keys) ?? store.keys.inNamespace(query.namespace);
  const bound = parseListResourceVersion(query.resourceVersion);
  const sendsInitialState = query.sendInitialEvents ?? bound === 0;

  if (query.sendInitialEvents === true || bound === 0) {
    await awaitFreshness(store.cache, query.resourceVersion === "" ? "" : bound, context.signal);
  }
  const from = sendsInitialState || bound === 0 ? store.view.revision : bound;
  if (sendsInitialState) {
    for (const object of store.view.list(prefix)) {
      if (matches === undefined || matches(object)) observer.event("ADDED", object);
    }
    observer.initialEventsEnd(String(from));
  }
  return store.view.subscribe(prefix, from, {
    events: (events) => deliver(events, matches, observer),
    // Where the watch begins its client knows.
    progress: (revision: Revision) => revision > from && observer.progress(String(revision)),
    error: (error) => observer.error(error instanceof RevisionCompactedError ? tooOldError(from, error) : error),
  });
}

/** @see k8s.io/apiserver/pkg/storage/cacher/watch_cache.go */
const tooOldError = (from: Revision, { oldest }: RevisionCompactedError): ApiError =>
  expiredError(`too old resource version: ${from} (${oldest})`);

function deliver(
  events: readonly CacheEvent[],
  matches: ObjectPredicate | undefined,
  observer: WatchEventObserver,
): void {
  for (const event of events) {
    const was = event.previous !== undefined && selects(matches, event.previous);
    const is = event.type === "put" && selects(matches, event.object);
    if (is) observer.event(was ? "MODIFIED" : "ADDED", event.object);
    else if (was) observer.event("DELETED", lastSeen(event));
  }
}

const selects = (matches: ObjectPredicate | undefined, object: CachedObject): boolean =>
  matches === undefined || matches(object);

/** What leaves a selection is shown as it was when it was in it, under the revision of the change that took it out. */
const lastSeen = (event: CacheEvent): CachedObject =>
  event.type === "delete" || event.previous === undefined
    ? event.object
    : event.previous.atRevision(event.object.revision);
