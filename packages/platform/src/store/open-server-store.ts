// The store of a server that runs: opened, looked after for as long as the server runs, and with its secrets opened.

import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/series";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime, Scheduler } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import { startCompactionSchedule } from "@postern/apiserver/storage/compaction-schedule";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { Configuration } from "../config/configuration.ts";
import type { StoredKeyRing } from "../encryption/stored-key-ring.ts";
import { tracedStorage } from "../tracing/traced-storage.ts";
import { assertFilled } from "./fill-in-progress.ts";
import { isFirstStart } from "./first-start-mark.ts";
import { measuredStorage } from "./measured-storage.ts";
import { openSealedStore } from "./open-sealed-store.ts";
import { type OpenedStore, openStore, type StoreCheckListener } from "./open-store.ts";
import { createServerSecret, deriveServerKeys, type ServerKeys, type ServerSecrets } from "./server-keys.ts";

/** How often files with credentials of the store are looked at. */
const RELOAD_MS = 60_000;

export type ServerStore = Pick<OpenedStore, "election" | "isShared" | "checks" | "enter"> & {
  /** As it is on disk: for backups, and for what brings it under another key. */
  readonly disk: Storage;
  /** As everything else sees it. */
  readonly storage: Storage;
  readonly keyRing: StoredKeyRing;
  readonly serverKeys: ServerKeys;
  /** Whether no start has come to its end over it. */
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
};

/** Rejects with ConfigurationError: for a store that cannot be opened, and for a server key that is missing or does not open it. */
export async function openServerStore(deps: ServerStoreDeps): Promise<ServerStore> {
  const { configuration, secrets, runtime, logger, metrics, tracing, teardown } = deps;
  const { scheduler, random } = runtime;
  const store = await openStore(configuration, { isServer: true, onChecked: reportStoreCheck(logger, metrics) });
  const { storage: opened, election, isShared, enter, reloadCredentials, checks } = store;
  teardown.use(opened);
  const { clock } = runtime;
  const { kind } = configuration.store;
  const disk = measuredStorage({ storage: tracedStorage(opened, kind, tracing), kind, clock, metrics });
  if (reloadCredentials !== undefined) {
    const onError = (error: unknown) => logger.error({ error, component: "etcd" }, "new credentials do not work");
    teardown.use(repeat({ scheduler, everyMs: RELOAD_MS, work: reloadCredentials, onError }));
  }
  await assertFilled(disk);
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

// Says what the check of a large database found, which goes on while the server serves.

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
    if (fault === undefined) logger.info({ component: "store" }, "the database is whole");
    else logger.error({ error: new Error(fault), component: "store" }, "the database is damaged");
  };
}
