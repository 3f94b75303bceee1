// A store that takes no more writes once its user has been stopped: what was under way then cannot come after the removal of everything.

import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";

/** Disposing it leaves the store beneath as it is. */
export function stoppableStorage(storage: Storage, stopped: AbortSignal): Storage {
  const write = <T>(perform: () => Promise<T>): Promise<T> =>
    stopped.aborted ? Promise.reject(new StorageUnavailableError("the virtual cluster has been stopped")) : perform();
  return {
    get: (...call) => storage.get(...call),
    list: (...call) => storage.list(...call),
    create: (...call) => write(() => storage.create(...call)),
    update: (...call) => write(() => storage.update(...call)),
    delete: (...call) => write(() => storage.delete(...call)),
    watch: (...call) => storage.watch(...call),
    currentRevision: () => storage.currentRevision(),
    knownRevision: () => storage.knownRevision?.(),
    compact: (...call) => storage.compact(...call),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
