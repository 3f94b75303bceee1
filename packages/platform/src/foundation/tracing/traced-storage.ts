// The store with a span around each operation that a request waits for.

import type { Storage } from "@postern/apiserver/storage/storage";
import { inSpan, type Tracing } from "@postern/apiserver/tracing/tracing";

/** `kind` such as `etcd`. Traces have no keys: names of objects are in them. */
export function tracedStorage(storage: Storage, kind: string, tracing: Tracing | undefined): Storage {
  if (tracing === undefined) return storage;
  const traced = <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    if (!tracing.isActive()) return work();
    const attributes = { "db.system.name": kind, "db.operation.name": operation };
    return inSpan(tracing, { name: `store ${operation}`, kind: "client", attributes }, work);
  };
  return {
    get: (...call) => traced("get", () => storage.get(...call)),
    list: (...call) => traced("list", () => storage.list(...call)),
    create: (...call) => traced("create", () => storage.create(...call)),
    update: (...call) => traced("update", () => storage.update(...call)),
    delete: (...call) => traced("delete", () => storage.delete(...call)),
    currentRevision: () => traced("currentRevision", () => storage.currentRevision()),
    // This needs no question to the store.
    known: storage.known,
    compact: (...call) => storage.compact(...call),
    checkRoom: (...call) => storage.checkRoom(...call),
    watch: (...call) => storage.watch(...call),
    get oldestRevision() {
      return storage.oldestRevision ?? 0;
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}
