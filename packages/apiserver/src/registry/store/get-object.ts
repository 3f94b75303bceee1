// Reads one object, as fresh as the client asks for.

import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../chain/handler.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { GetOptions } from "../resource-storage.ts";
import { awaitFreshness, parseListResourceVersion } from "./resource-version.ts";
import type { StoreContext } from "./store-context.ts";

export async function getObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  { resourceVersion }: GetOptions,
): Promise<CachedObject> {
  const bound = resourceVersion === "" ? "" : parseListResourceVersion(resourceVersion);
  await awaitFreshness(store.cache, bound, context.signal);
  const object = store.view.get(store.keys.of(namespace, name));
  if (object === undefined) throw notFoundError(groupResourceOf(store.definition), name);
  return object;
}
