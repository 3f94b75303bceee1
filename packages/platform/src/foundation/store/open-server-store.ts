// The store of a server that runs: opened, looked after for as long as the server runs, and with its secrets opened.

import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter, SeriesHistogram } from "@postern/apiserver/metrics/series";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Clock, Runtime, Scheduler } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import { startCompactionSchedule } from "@postern/apiserver/storage/compaction-schedule";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { Configuration } from "../config/configuration.ts";
import type { StoredKeyRing } from "../encryption/stored-key-ring.ts";
import { tracedStorage } from "../tracing/traced-storage.ts";
import { isFirstStart } from "./first-start-mark.ts";
import { assertComplete } from "./incomplete-store.ts";
import { openSealedStore } from "./open-sealed-store.ts";
import { type OpenedStore, openStore, type StoreCheckListener, type StoreWaiting } from "./open-store.ts";
import { createServerSecret, deriveServerKeys, type ServerKeys, type ServerSecrets } from "./server-keys.ts";

/** How often files with credentials of the store are looked at. */
const RELOAD_MS = 60_000;
/** The members of etcd may start together with the server. */
const LEADER_PATIENCE_MS = 60_000;

export type ServerStore = Pick<OpenedStore, "election" | "isShared" | "checks" | "enter"> & {
  /** As it is on disk: for backups, and for what brings it under another key. */
  readonly disk: Storage;
  /** As everything else sees it. */
  readonly storage: Storage;
  readonly keyRing: StoredKeyRing;
  readonly serverKeys: ServerKeys;
  /** Whether no start has completed over it. */
  readonly isFirst: boolean;
};

export type ServerStoreDeps = {
  readonly configuration: Configuration;
  readonly secrets: ServerSecrets;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  /** Is given what must be closed. */
  readonly teardown: Teardown;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** Aborted when the server is to stop: it waits for its store no longer. */
  readonly stopping: AbortSignal | undefined;
};

/** Rejects with ConfigurationError: for a store that cannot be opened, and for a server key that is missing or does not open it. */
export async function openServerStore(deps: ServerStoreDeps): Promise<ServerStore> {
  const { configuration, secrets, runtime, logger, metrics, tracing, teardown, stopping } = deps;
  const { scheduler, random } = runtime;
  const waiting: StoreWaiting = {
    patienceMs: LEADER_PATIENCE_MS,
    signal: stopping,
    onWaiting: (error) =>
      logger.warn(
        { component: "etcd", error },
        `etcd accepts connections, but does not answer, as before a leader is elected: trying again for ${LEADER_PATIENCE_MS / 1000} s`,
      ),
  };
  const onChecked = reportStoreCheck(logger, metrics);
  const onFailure = (error: Error): void => logger.error({ error, component: "store" }, "the database failed");
  const store = await openStore(configuration, { isServer: true, onChecked, onFailure, waiting });
  const { storage: opened, election, isShared, enter, reloadCredentials, checks } = store;
  teardown.use(opened);
  const { clock } = runtime;
  const { kind } = configuration.store;
  const disk = measuredStorage({ storage: tracedStorage(opened, kind, tracing), kind, clock, metrics });
  if (reloadCredentials !== undefined) {
    const onError = (error: unknown) => logger.error({ error, component: "etcd" }, "new credentials do not work");
    teardown.use(repeat({ scheduler, everyMs: RELOAD_MS, work: reloadCredentials, onError }));
  }
  await assertComplete(disk);
  teardown.use(
    startCompactionSchedule({
      storage: disk,
      scheduler,
      keepMs: configuration.history.maxAgeSeconds * 1000,
      keepBytes: configuration.history.maxMiB * (1 << 20),
      onError: (error) => logger.error({ error }, "compaction failed"),
    }),
  );
  const isFirst = await isFirstStart(disk);
  const secret = secrets.present ?? (await createServerSecret(configuration, random, isFirst));
  const serverSecrets = [secret, ...secrets.previous] as const;
  const sealed = await openSealedStore({ disk, isShared, serverSecrets, configuration, runtime, logger, metrics });
  return {
    ...sealed,
    disk,
    election,
    isShared,
    checks,
    ...(enter === undefined ? {} : { enter }),
    serverKeys: deriveServerKeys(secret),
    isFirst,
  };
}

// Does something again and again, one after the other, until it is disposed.

type RepeatOptions = {
  readonly scheduler: Scheduler;
  readonly everyMs: number;
  readonly work: () => Promise<void>;
  readonly onError: (error: unknown) => void;
};

function repeat({ scheduler, everyMs, work, onError }: RepeatOptions): Disposable {
  let over = false;
  let timer: Disposable | undefined;
  const plan = (): void => {
    if (over) return;
    timer = scheduler.schedule(everyMs, () => void work().catch(onError).finally(plan));
  };
  plan();
  return {
    [Symbol.dispose]() {
      over = true;
      timer?.[Symbol.dispose]();
    },
  };
}

// Reports the result of the check of a large database, which runs while the server serves.

function reportStoreCheck(logger: Logger, { registry }: Pick<ServerMetrics, "registry">): StoreCheckListener {
  const checks = createSeriesCounter({
    name: "postern_store_integrity_checks_total",
    help: "Checks of the whole database, by result",
    labelNames: ["result"],
    registers: [registry],
  });
  const [whole, damaged] = [checks.series({ result: "whole" }), checks.series({ result: "damaged" })];
  return (fault) => {
    (fault === undefined ? whole : damaged).inc();
    if (fault === undefined) logger.info({ component: "store" }, "the database passed the integrity check");
    else logger.error({ error: new Error(fault), component: "store" }, "the database failed the integrity check");
  };
}

// The store with a clock beside it: how long each operation took, as the server waited for it. With etcd that is what etcd took.

type MeasuredStorageDeps = {
  /** Stays the one that is closed. */
  readonly storage: Storage;
  /** Such as `etcd`. */
  readonly kind: string;
  readonly clock: Clock;
  readonly metrics: Pick<ServerMetrics, "registry">;
};

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

function measuredStorage({ storage, kind, clock, metrics }: MeasuredStorageDeps): Storage {
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
    get: (key, options) => getting(() => storage.get(key, options)),
    list: (prefix, options) => listing(() => storage.list(prefix, options)),
    create: (key, value) => creating(() => storage.create(key, value)),
    update: (key, value, expected) => updating(() => storage.update(key, value, expected)),
    delete: (key, expected) => deleting(() => storage.delete(key, expected)),
    currentRevision: () => asking(() => storage.currentRevision()),
    // This needs no question to the store.
    known: storage.known,
    compact: (revision) => compacting(() => storage.compact(revision)),
    checkRoom: (key, value, kind) => storage.checkRoom(key, value, kind),
    watch: (prefix, fromRevision, observer) => storage.watch(prefix, fromRevision, observer),
    get oldestRevision() {
      return storage.oldestRevision ?? 0;
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}
