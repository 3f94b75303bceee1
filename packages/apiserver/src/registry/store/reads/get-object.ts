// Reads one object with the requested freshness.

import { badRequestError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import type { Awaitable } from "../../../runtime/awaitable.ts";
import { groupResourceOf } from "../../resource-definition.ts";
import type { GetOptions } from "../../resource-storage.ts";
import type { StoreContext } from "../store-context.ts";
import { awaitFreshness, isFreshNow, parseListResourceVersion } from "./resource-version.ts";

export function getObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  { resourceVersion }: GetOptions,
): Awaitable<CachedObject> {
  if (resourceVersion === "" && store.cache.isNewest()) {
    // Existing objects have valid names.
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

/**
 * The key of the object that a path names. Throws 400 for a name that no object can have.
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (NamespaceKeyFunc)
 */
export function keyOfRequest({ keys }: StoreContext, namespace: string, name: string): string {
  const faults = isValidPathSegmentName(name);
  if (faults.length > 0) throw badRequestError(`Name parameter invalid: ${quoteGo(name)}: ${faults.join(";")}`);
  return keys.of(namespace, name);
}
