// The store with a span around each operation that a request waits for.

import type { Storage } from "@postern/apiserver/storage/storage";
import { inSpan, type Tracing } from "@postern/apiserver/tracing/tracing";

/** `kind` such as `etcd`. The keys are not told: names of objects are in them. */
export function tracedStorage(storage: Storage, kind: string, tracing: Tracing | undefined): Storage {
  if (tracing === undefined) return storage;
  const traced = <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    if (!tracing.isActive()) return work();
    const attributes = { "db.system.name": kind, "db.operation.name": operation };
    return inSpan(tracing, { name: `store ${operation}`, kind: "client", attributes }, work);
  };
  return {
    get: (key, options) => traced("get", () => storage.get(key, options)),
    list: (prefix, options) => traced("list", () => storage.list(prefix, options)),
    create: (key, value, content) => traced("create", () => storage.create(key, value, content)),
    update: (key, value, expected) => traced("update", () => storage.update(key, value, expected)),
    delete: (key, expected) => traced("delete", () => storage.delete(key, expected)),
    currentRevision: () => traced("currentRevision", () => storage.currentRevision()),
    compact: (revision) => storage.compact(revision),
    checkRoom: (key, value, kind) => storage.checkRoom(key, value, kind),
    watch: (prefix, fromRevision, observer) => storage.watch(prefix, fromRevision, observer),
    get oldestRevision() {
      return storage.oldestRevision ?? 0;
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}
