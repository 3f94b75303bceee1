// Maintains a map of one value for each object of a view.

import type { ViewFollower } from "@postern/apiserver/cache/view-informer";

/** `read` returns key and value; objects without a value are left out. Stored objects have been validated against their schema. */
export function followingValues<T, V>(
  kept: Map<string, V>,
  read: (object: T) => readonly [string, V | undefined],
): ViewFollower {
  const put: ViewFollower["put"] = (object) => {
    const [key, value] = read(object.decode() as T);
    if (value === undefined) kept.delete(key);
    else kept.set(key, value);
  };
  return {
    replace(objects) {
      kept.clear();
      for (const object of objects) put(object, undefined);
    },
    put,
    delete: (object) => void kept.delete(read(object.decode() as T)[0]),
  };
}
