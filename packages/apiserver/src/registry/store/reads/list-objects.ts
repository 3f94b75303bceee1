// Lists objects from memory if the newest state suffices, and from the history of the store for a snapshot.
// Source: k8s.io/apiserver/pkg/storage/etcd3/store.go (GetList), pkg/storage/cacher/delegator.go

import { badRequestError, expiredError, tooLargeResourceVersionError } from "@postern/apimachinery/meta/api-error";
import type { LabelOperator } from "@postern/apimachinery/selectors/label-requirement";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { LabelledObjects } from "../../../cache/label-index.ts";
import type { CacheView } from "../../../cache/watch-cache.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import type { Revision } from "../../../storage/storage.ts";
import { FutureRevisionError, RevisionCompactedError } from "../../../storage/storage-errors.ts";
import type { ListPage, ListQuery } from "../../resource-storage.ts";
import { type ContinuePosition, INCONSISTENT } from "../continue-token.ts";
import { throwStorageFailure } from "../storage-failure.ts";
import type { StoreContext } from "../store-context.ts";
import { awaitFreshness, isFreshNow, parseListResourceVersion } from "./resource-version.ts";
import { compileSelection, isSelective, type ObjectPredicate, selectedKey } from "./selection.ts";

const CONTINUE_TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the " +
  "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with " +
  "the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the " +
  "first chunk was returned and now may show up in the list.";

/** Entries read at once from the store when a selector may drop most of them. */
const SELECTIVE_CHUNK = 1000;

/** To ask for the time after each object would take as long as to look at it. */
const LOOKED_AT_ONCE = 8;

/** To count more than this takes a store longer than to read a page. */
const MAX_COUNTED = 10_000;

type Page = {
  readonly items: readonly CachedObject[];
  readonly revision: Revision;
  readonly remaining: number;
  /** Key of the last object looked at, when there is more behind it. */
  readonly lastKey: string | undefined;
};

export function listObjects(store: StoreContext, context: RequestContext, query: ListQuery): Awaitable<ListPage> {
  const matches = compileSelection(query, store);
  const prefix = store.keys.inNamespace(query.namespace);
  // There is nothing to page through where it is one.
  const only = query.continue === "" ? selectedKey(query, store.definition, store.keys) : undefined;
  const limit = only !== undefined || ignoresLimit(query) ? 0 : Math.max(query.limit, 0);
  const range: Range = { prefix, limit, matches, exists: query.visible, only, query };
  return whenDone(readPage(store, context, query, range), ({ items, revision, lastKey, remaining }) => {
    const page = { items, resourceVersion: String(revision) };
    if (lastKey === undefined) return page;
    const token = store.continueTokens.encode({ revision, startAfter: lastKey.slice(prefix.length) });
    return { ...page, continue: token, ...(isSelective(query) ? {} : { remainingItemCount: remaining }) };
  });
}

/**
 * Any version will do for version 0, so it is answered from memory, and whole: what informers begin with.
 * Source: k8s.io/apiserver/pkg/storage/cacher/delegator.go (shouldDelegateList)
 */
const ignoresLimit = ({ resourceVersion, continue: token }: ListQuery): boolean =>
  resourceVersion === "0" && token === "";

type Range = {
  readonly prefix: string;
  readonly limit: number;
  readonly matches: ObjectPredicate | undefined;
  /** Whether an object is there at all for who lists. Undefined when all are. */
  readonly exists: ObjectPredicate | undefined;
  readonly only: string | undefined;
  readonly query: Pick<ListQuery, "labelSelector">;
};

/** At once where memory answers it. */
function readPage(store: StoreContext, context: RequestContext, query: ListQuery, range: Range): Awaitable<Page> {
  if (query.continue !== "") {
    const position = store.continueTokens.decode(query.continue);
    if (query.resourceVersion !== "" && query.resourceVersion !== "0") {
      throw badRequestError("specifying resource version is not allowed when using continue");
    }
    if (position.revision > INCONSISTENT && isCurrent(store, position.revision)) {
      return readCached(store, context, range, range.prefix + position.startAfter, position.revision);
    }
    return readContinued(store, context, position, range);
  }
  const { resourceVersion, resourceVersionMatch } = query;
  const bound = resourceVersion === "" ? "" : readBound(resourceVersion);
  const isExact =
    resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && range.limit > 0 && bound !== "" && bound !== 0);
  const read = (): Awaitable<Page> => {
    if (!isExact || bound === "") return readCached(store, context, range, "");
    if (isCurrent(store, bound)) return readCached(store, context, range, "", bound);
    return readSnapshot(store, range, bound, "", context).catch(throwStorageFailure);
  };
  return isFreshNow(store.cache, bound) ? read() : awaitFreshness(store.cache, bound, context).then(read);
}

/** A watch refuses a version that is no number as a fault of the server, a list as one of the client. */
function readBound(resourceVersion: string): Revision {
  try {
    return parseListResourceVersion(resourceVersion);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw badRequestError(`invalid resource version: ${error.message}`, error);
  }
}

async function readContinued(
  store: StoreContext,
  context: RequestContext,
  { revision, startAfter }: ContinuePosition,
  range: Range,
): Promise<Page> {
  const after = range.prefix + startAfter;
  if (revision <= INCONSISTENT) {
    await awaitFreshness(store.cache, "", context);
    return readCached(store, context, range, after);
  }
  try {
    return await readSnapshot(store, range, revision, after, context);
  } catch (error) {
    if (error instanceof FutureRevisionError) throw tooLargeResourceVersionError(revision, error.current);
    if (!(error instanceof RevisionCompactedError)) throw error;
    throw expiredError(CONTINUE_TOO_OLD, store.continueTokens.encode({ revision: INCONSISTENT, startAfter }));
  }
}

/** From memory, which holds the state of `revision`: the newest, or an older one since which nothing changed. */
function readCached(
  { view }: StoreContext,
  context: RequestContext,
  range: Range,
  startAfter: string,
  revision: Revision = view.revision,
): Awaitable<Page> {
  const { prefix, limit, matches, only } = range;
  if (only !== undefined) {
    const object = view.get(only);
    const items = object === undefined || matches?.(object) === false ? [] : [object];
    return { items, revision, remaining: 0, lastKey: undefined };
  }
  const after = startAfter === "" ? {} : { startAfter };
  if (matches === undefined) {
    const items = view.list(prefix, { ...after, ...(limit === 0 ? {} : { limit }) });
    const last = items.at(-1)?.key;
    const isFull = limit > 0 && items.length === limit && last !== undefined;
    const remaining = isFull ? remainingIn(view, prefix, startAfter, items) : 0;
    return { items, revision, remaining, lastKey: remaining === 0 ? undefined : last };
  }
  const items: CachedObject[] = [];
  const labelled = labelledObjects(view, range);
  const objects = (labelled ?? view).list(prefix, after);
  return whenDone(context.inParts(select(objects, range, items)), (isFollowedHere) => {
    const isFull = isFollowedHere || (labelled !== undefined && isFollowed(view, range, items));
    return { items, revision, remaining: 0, lastKey: isFull ? items.at(-1)?.key : undefined };
  });
}

/** Counts all where it can: to find the place of the last item takes longer. */
function remainingIn(view: CacheView, prefix: string, startAfter: string, items: readonly CachedObject[]): number {
  return startAfter === "" ? view.count(prefix) - items.length : view.count(prefix, items.at(-1)?.key);
}

/** The fewest of those that one of the requirements selects. All of them may be there for nothing: they are looked at as any. */
function labelledObjects(view: CacheView, { query: { labelSelector } }: Range): LabelledObjects | undefined {
  let fewest: LabelledObjects | undefined;
  for (const { key, operator, values } of labelSelector?.requirements ?? []) {
    const [value, second] = values;
    if (value === undefined || second !== undefined || !EQUALITY.includes(operator)) continue;
    const found = view.labelled?.(key, value);
    if (found !== undefined && (fewest === undefined || found.size < fewest.size)) fewest = found;
  }
  return fewest;
}

const EQUALITY: readonly LabelOperator[] = ["=", "==", "in"];

/** Whether a page is full and any object comes behind it, as `select` tells of all objects. */
function isFollowed(view: CacheView, { prefix, limit, exists }: Range, items: readonly CachedObject[]): boolean {
  const last = items.at(-1)?.key;
  if (limit === 0 || items.length < limit || last === undefined) return false;
  return exists === undefined ? view.count(prefix, last) > 0 : view.list(prefix, { startAfter: last }).some(exists);
}

/**
 * Adds what is selected to `items`. True when they are as many as may be while there is more to look at, selected or not: whether
 * anything of it is selected the next page tells. In steps: objects and their labels, and the requirements on them, may be very many.
 */
function* select(
  objects: readonly CachedObject[],
  { limit, matches, exists }: Range,
  items: CachedObject[],
): Steps<boolean> {
  let looked = 0;
  for (const object of objects) {
    if (++looked % LOOKED_AT_ONCE === 0) yield;
    if (limit > 0 && items.length === limit) {
      if (exists === undefined || exists(object)) return true;
    } else if (matches === undefined || matches(object)) items.push(object);
  }
  return false;
}

/** Whether memory still shows the state of a past revision that may be read at all. */
const isCurrent = ({ view, storage: { oldestRevision = 0 } }: StoreContext, revision: Revision): boolean =>
  revision >= view.changedRevision && revision >= oldestRevision && revision <= view.revision;

async function readSnapshot(
  store: StoreContext,
  range: Range,
  revision: Revision,
  startAfter: string,
  context: RequestContext,
): Promise<Page> {
  const { signal } = context;
  const { prefix, limit, matches } = range;
  const counting = store.view.count(prefix, startAfter) > MAX_COUNTED ? "any" : "exact";
  const items: CachedObject[] = [];
  let after = startAfter;
  for (;;) {
    const wanted = limit === 0 ? undefined : matches === undefined ? limit : SELECTIVE_CHUNK;
    const { entries, remaining } = await store.storage
      .list(prefix, {
        revision,
        remaining: counting,
        signal,
        ...(after === "" ? {} : { startAfter: after }),
        ...(wanted === undefined ? {} : { limit: wanted }),
      })
      .catch(keepHistoryErrors);
    if (await context.inParts(select(await store.codec.decode(entries, context), range, items))) {
      return { items, revision, remaining: 0, lastKey: items.at(-1)?.key };
    }
    after = entries.at(-1)?.key ?? after;
    if (remaining === 0 || entries.length === 0) return { items, revision, remaining: 0, lastKey: undefined };
    if (matches === undefined) {
      // As many as there are now: clients are told not to take it for exact.
      const left = counting === "exact" ? remaining : Math.max(1, store.view.count(prefix, after));
      return { items, revision, remaining: left, lastKey: after };
    }
  }
}

/** The caller distinguishes a compacted continue token from a compacted list. */
function keepHistoryErrors(error: unknown): never {
  if (error instanceof RevisionCompactedError || error instanceof FutureRevisionError) throw error;
  return throwStorageFailure(error);
}
