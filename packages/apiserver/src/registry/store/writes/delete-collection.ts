// Deletes everything that a list selects, one object after the other, each by the rules of a single delete.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "../../../context/request-context.ts";
import type { DeleteOptions, ListPage, ListQuery } from "../../resource-storage.ts";
import { listObjects } from "../reads/list-objects.ts";
import type { StoreContext } from "../store-context.ts";
import { deleteObject } from "./delete-object.ts";

/** Deletions in flight at once: enough to share commits, few enough to leave room for others. */
const CONCURRENCY = 32;

/** Resolves with the objects as they were when they were selected. Preconditions hold for each of them. */
export async function deleteCollection(
  store: StoreContext,
  context: RequestContext,
  query: ListQuery,
  options: DeleteOptions,
): Promise<ListPage> {
  const page = await listObjects(store, context, query);
  const pending = [...page.items];
  const worker = async (): Promise<void> => {
    for (let object = pending.shift(); object !== undefined; object = pending.shift()) {
      const { namespace, name } = store.keys.parse(object.key);
      await deleteObject(store, context, namespace, name, options).catch(ignoreAbsent);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, pending.length) }, worker));
  return page;
}

/** Another client deleted it first, which is the requested result. */
function ignoreAbsent(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}
