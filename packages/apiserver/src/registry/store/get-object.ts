// Reads one object with the requested freshness.

import {
  ApiError,
  badRequestError,
  notFoundError,
  tooLargeResourceVersionError,
  untypedError,
} from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { WatchCache } from "../../cache/watch-cache.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Revision } from "../../storage/storage.ts";
import { FutureRevisionError } from "../../storage/storage-errors.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { GetOptions } from "../resource-storage.ts";
import type { StoreContext } from "./store-context.ts";

export function getObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  { resourceVersion }: GetOptions,
): Awaitable<CachedObject> {
  if (resourceVersion === "" && store.cache.isNewest()) {
    // What is there has a name that an object can have.
    const object = store.view.get(store.keys.of(namespace, name));
    if (object !== undefined) return object;
  }
  const key = keyOfRequest(store, namespace, name);
  const bound = resourceVersion === "" ? "" : parseListResourceVersion(resourceVersion);
  if (isFreshNow(store.cache, bound)) return cachedObject(store, key, name);
  return awaitFreshness(store.cache, bound, context).then(() => cachedObject(store, key, name));
}

function cachedObject({ view, definition }: StoreContext, key: string, name: string): CachedObject {
  const object = view.get(key);
  if (object === undefined) throw notFoundError(groupResourceOf(definition), name);
  return object;
}

// The key of the object that a path names.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (NamespaceKeyFunc)

/** Throws 400 for a name that no object can have. */
export function keyOfRequest({ keys }: StoreContext, namespace: string, name: string): string {
  const faults = isValidPathSegmentName(name);
  if (faults.length > 0) throw badRequestError(`Name parameter invalid: ${quoteGo(name)}: ${faults.join(";")}`);
  return keys.of(namespace, name);
}

// Reads resourceVersion texts as the bounds they are.
// Source: k8s.io/apiserver/pkg/storage/api_object_versioner.go

const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT64_DIGITS = 20;

/** "" and "0" read as 0. Throws the reason-less 500 of Kubernetes for anything that is not an unsigned integer. */
export function parseResourceVersion(text: string): Revision {
  if (text === "") return 0;
  if (!/^\d+$/.test(text)) throw untypedError(`strconv.ParseUint: parsing ${quoteGo(text)}: invalid syntax`);
  // BigInt takes more than linear time, and the text may be that of a body.
  const digits = text.replace(/^0+(?=\d)/, "");
  if (digits.length > MAX_UINT64_DIGITS || BigInt(digits) > MAX_UINT64)
    throw untypedError(`strconv.ParseUint: parsing ${quoteGo(text)}: value out of range`);
  const revision = Number(text);
  // No store gets that far: whatever cannot be represented is simply in the future.
  return Number.isSafeInteger(revision) ? revision : Number.MAX_SAFE_INTEGER;
}

/** As parseResourceVersion, with the text that list and watch give. */
export function parseListResourceVersion(text: string): Revision {
  try {
    return parseResourceVersion(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw untypedError(`resourceVersion: Invalid value: ${quoteGo(text)}: ${error.message}`);
  }
}

/** Whether there is nothing to wait for. */
export const isFreshNow = (cache: WatchCache, resourceVersion: Revision | ""): boolean =>
  resourceVersion === "" ? cache.isNewest() : resourceVersion <= cache.revision;

/**
 * Waits until the cache may answer a read bounded by `resourceVersion`: "" means the newest acknowledged state, "0" whatever is
 * there, and N anything not older than N. Rejects with 504 when N is not reached in time.
 */
export async function awaitFreshness(
  cache: WatchCache,
  resourceVersion: Revision | "",
  waiting: { readonly signal: AbortSignal },
): Promise<void> {
  if (resourceVersion === "") {
    await cache.refresh(waiting);
    return;
  }
  if (resourceVersion <= cache.revision) return;
  try {
    await cache.waitFor(resourceVersion, waiting);
  } catch (error) {
    if (error instanceof FutureRevisionError) throw tooLargeResourceVersionError(resourceVersion, error.current);
    throw error;
  }
}
