// Reads one object, as fresh as the client asks for.

import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { GetOptions } from "../resource-storage.ts";
import { keyOfRequest } from "./key-of-request.ts";
import { awaitFreshness, isFreshNow, parseListResourceVersion } from "./resource-version.ts";
import type { StoreContext } from "./store-context.ts";

export function getObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  { resourceVersion }: GetOptions,
): Awaitable<CachedObject> {
  const key = keyOfRequest(store, namespace, name);
  const bound = resourceVersion === "" ? "" : parseListResourceVersion(resourceVersion);
  if (isFreshNow(store.cache, bound)) return cachedObject(store, key, name);
  return awaitFreshness(store.cache, bound, context.signal).then(() => cachedObject(store, key, name));
}

function cachedObject({ view, definition }: StoreContext, key: string, name: string): CachedObject {
  const object = view.get(key);
  if (object === undefined) throw notFoundError(groupResourceOf(definition), name);
  return object;
}
