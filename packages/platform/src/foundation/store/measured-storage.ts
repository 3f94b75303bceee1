// Measures how long each operation of a store takes, as the server waits for it.

import { SeriesHistogram } from "@postern/apiserver/metrics/series-histogram";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function measuredStorage(deps: {
  /** Stays the one that is closed. */
  readonly storage: Storage;
  /** Such as `etcd`. */
  readonly kind: string;
  readonly clock: Clock;
  readonly metrics: Pick<ServerMetrics, "registry">;
}): Storage {
  const { storage, kind, clock, metrics } = deps;
  const histogram = new SeriesHistogram({
    name: "postern_store_operation_duration_seconds",
    help: "How long operations on the store took, by store and operation; those that failed as well",
    labelNames: ["store", "operation"],
    buckets: BUCKETS,
    registers: [metrics.registry],
  });
  const timed = (operation: string) => {
    const series = histogram.series({ store: kind, operation });
    return <T>(begin: () => Promise<T>): Promise<T> => {
      const startedAt = clock.elapsed();
      const observe = () => series.observe((clock.elapsed() - startedAt) / 1000);
      const done = begin();
      done.then(observe, observe);
      return done;
    };
  };
  const [getting, listing, creating] = [timed("get"), timed("list"), timed("create")];
  const [updating, deleting] = [timed("update"), timed("delete")];
  const [asking, compacting] = [timed("currentRevision"), timed("compact")];
  return {
    get: (...call) => getting(() => storage.get(...call)),
    list: (...call) => listing(() => storage.list(...call)),
    create: (...call) => creating(() => storage.create(...call)),
    update: (...call) => updating(() => storage.update(...call)),
    delete: (...call) => deleting(() => storage.delete(...call)),
    currentRevision: () => asking(() => storage.currentRevision()),
    // This needs no question to the store.
    known: storage.known,
    compact: (...call) => compacting(() => storage.compact(...call)),
    checkRoom: (...call) => storage.checkRoom(...call),
    watch: (...call) => storage.watch(...call),
    get oldestRevision() {
      return storage.oldestRevision ?? 0;
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}
