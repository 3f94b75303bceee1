// The store of a server that runs: opened, looked after for as long as the server runs, and with its secrets opened.

import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import { startCompactionSchedule } from "@postern/apiserver/storage/compaction-schedule";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { ServerTable } from "@postern/stores/sqlite/server-table";
import type { Configuration } from "../config/configuration.ts";
import type { StoredKeyRing } from "../encryption/stored-key-ring.ts";
import { tracedStorage } from "../tracing/traced-storage.ts";
import { fileSystemRisk } from "./file-system-risk.ts";
import { isFirstStart } from "./first-start-mark.ts";
import { assertComplete } from "./incomplete-store.ts";
import { measuredStorage } from "./measured-storage.ts";
import { openSealedStore } from "./open-sealed-store.ts";
import { type OpenedStore, openStore, type StoreWaiting } from "./open-store.ts";
import { repeat } from "./repeat.ts";
import { reportStoreCheck } from "./report-store-check.ts";
import { createServerSecret, deriveServerKeys, type ServerKeys, type ServerSecrets } from "./server-keys.ts";
import { keepNames } from "./stored-names.ts";

/** How often files with credentials of the store are looked at. */
const RELOAD_MS = 60_000;
/** The members of etcd may start together with the server. */
const LEADER_PATIENCE_MS = 60_000;

export type ServerStore = Pick<OpenedStore, "election" | "isShared" | "checks" | "enter" | "forget" | "connect"> & {
  /** The store as it is on disk: for backups and re-encryption. */
  readonly disk: Storage;
  /** As everything else sees it. */
  readonly storage: Storage;
  readonly keyRing: StoredKeyRing;
  readonly serverKeys: ServerKeys;
  /** The server key that it is open with, and those before. */
  readonly secrets: ServerSecrets;
  /** Whether no start has completed over it. */
  readonly isFirst: boolean;
};

/** Rejects with ConfigurationError: for a store that cannot be opened, and for a server key that is missing or does not open it, and for one of another platform. */
export async function openServerStore(deps: {
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
  readonly stopping?: AbortSignal | undefined;
  /** Servers in further threads of this process. Absent: none. */
  readonly table?: ServerTable | undefined;
  /** For a server in such a thread: opens its place in the store. Another one looks after the store. */
  readonly join?: () => Promise<OpenedStore>;
}): Promise<ServerStore> {
  const { configuration, secrets, runtime, logger, metrics, tracing, teardown, stopping, table, join } = deps;
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
  const store = await (join?.() ?? openStore(configuration, { isServer: true, onChecked, onFailure, waiting, table }));
  const { storage: opened, election, isShared, enter, forget, connect, reloadCredentials, checks } = store;
  teardown.use(opened);
  const risk = join === undefined ? await fileSystemRisk(configuration) : undefined;
  if (risk !== undefined) logger.warn({ component: "store" }, `${risk.message}: ${risk.remedy}`);
  const { clock } = runtime;
  const { kind } = configuration.store;
  const disk = measuredStorage({ storage: tracedStorage(opened, kind, tracing), kind, clock, metrics });
  if (reloadCredentials !== undefined) {
    const onError = (error: unknown) => logger.error({ error, component: "etcd" }, "new credentials do not work");
    teardown.use(repeat({ scheduler, everyMs: RELOAD_MS, work: reloadCredentials, onError }));
  }
  await assertComplete(disk);
  if (join === undefined) {
    teardown.use(
      startCompactionSchedule({
        storage: disk,
        scheduler,
        keepMs: configuration.history.maxAgeSeconds * 1000,
        keepBytes: configuration.history.maxMiB * (1 << 20),
        onError: (error) => logger.error({ error }, "compaction failed"),
      }),
    );
  }
  const isFirst = await isFirstStart(disk);
  // The names of a first start that has not completed may still be corrected.
  if (!isFirst) await keepNames(disk, configuration);
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
    ...(forget === undefined ? {} : { forget }),
    ...(connect === undefined ? {} : { connect }),
    serverKeys: deriveServerKeys(secret),
    secrets: { present: secret, previous: secrets.previous },
    isFirst,
  };
}
