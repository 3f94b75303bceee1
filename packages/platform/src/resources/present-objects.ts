// Shows every object of a resource as a function makes it: with what follows from other objects, and is stored nowhere.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";

/** For the `decorate` of a resource. `present` is given the stored object, and answers with one of the same key. */
export function presentObjects(
  storage: ResourceStorage,
  present: (object: CachedObject) => CachedObject,
): ResourceStorage {
  const { get, list, watch, create, update, delete: remove, deleteCollection } = storage;
  return {
    ...(get && { get: async (...request) => present(await get(...request)) }),
    ...(list && {
      list: async (...request) => {
        const page = await list(...request);
        return { ...page, items: page.items.map(present) };
      },
    }),
    ...(watch && {
      watch: (context, query, observer) =>
        watch(context, query, {
          event: (type, object) => observer.event(type, present(object)),
          // One by one: what an observer has need not be its own, as spreading it would take for granted.
          initialEventsEnd: (resourceVersion) => observer.initialEventsEnd(resourceVersion),
          progress: (resourceVersion) => observer.progress(resourceVersion),
          error: (error) => observer.error(error),
        }),
    }),
    ...(create && { create: async (...request) => present(await create(...request)) }),
    ...(update && {
      update: async (...request) => {
        const { object, created } = await update(...request);
        return { object: present(object), created };
      },
    }),
    ...(remove && { delete: remove }),
    ...(deleteCollection && { deleteCollection }),
  };
}
