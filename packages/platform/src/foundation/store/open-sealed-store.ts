// The key ring of the store, and the store as everything but backups sees it: with its secrets opened.

import type { HealthCheck } from "@postern/apiserver/health/health-check";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";
import { KeyRingError } from "../encryption/key-ring-record.ts";
import { createSealedStorage } from "../encryption/sealed-storage.ts";
import { openKeyRing, type StoredKeyRing } from "../encryption/stored-key-ring.ts";
import { unreadableSecret } from "../encryption/unreadable-value.ts";
import type { OpenedStore } from "./open-store.ts";

const SETTLE_MS = 10 * 60_000;
/** Threads of this process that stand still for ten seconds are ended. */
const SETTLE_OF_THREADS_MS = 30_000;

/** This long after a rotation no server writes under the old key any more, in milliseconds. */
export function settleMsOf({ isShared, connect }: Pick<OpenedStore, "isShared" | "connect">): number {
  if (!isShared) return 0;
  return connect === undefined ? SETTLE_MS : SETTLE_OF_THREADS_MS;
}

/** Rejects with ConfigurationError where the server key does not open the store. */
export async function openSealedStore(deps: {
  /** As it is on disk. */
  readonly disk: Storage;
  readonly isShared: boolean;
  /** The present server key, and the one before where there is one. */
  readonly serverSecrets: readonly [Uint8Array, ...Uint8Array[]];
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: Pick<ServerMetrics, "registry">;
}): Promise<{ readonly keyRing: StoredKeyRing; readonly storage: Storage }> {
  const { disk, isShared, serverSecrets, configuration, runtime, logger, metrics } = deps;
  const { clock, random } = runtime;
  const keyRing = await withRemedy(
    openKeyRing({
      storage: disk,
      serverSecrets,
      isShared,
      clock,
      random,
      onError: (error) => logger.error({ error, component: "key-ring" }, "the key ring cannot be read"),
    }),
    configuration,
  );
  const unreadable = createSeriesCounter({
    name: "postern_store_unreadable_values_total",
    help: "Encrypted values of the store that could not be decrypted",
    labelNames: [],
    registers: [metrics.registry],
  }).series({});
  const storage = createSealedStorage({
    storage: disk,
    ring: keyRing,
    random,
    placeholder: (key, fault) => unreadableSecret(configuration.platform.domain, key, fault),
    onUnreadable(key, fault) {
      unreadable.inc();
      const error = new Error(`${key} cannot be opened: ${fault}`);
      logger.error({ error, component: "key-ring" }, "a value in the store cannot be decrypted: restore a backup");
    },
  });
  return { keyRing, storage };
}

/** Names the key, and how to mend it. */
export async function withRemedy<Ring>(opening: Promise<Ring>, configuration: Configuration): Promise<Ring> {
  try {
    return await opening;
  } catch (error) {
    if (!(error instanceof KeyRingError)) throw error;
    const from =
      configuration.serverKeyCommand === "" ? configuration.serverKeyFile : "the command of --server-key-command";
    throw new ConfigurationError(
      `${error.message}; the server key came from ${from}: use the one that belongs to this store, or pass the previous one with --previous-server-key-file; nothing was changed`,
      { cause: error },
    );
  }
}

/** A server whose server key no longer opens the ring keeps its state, but accepts no new requests. */
export const keyRingCheck = (ring: Pick<StoredKeyRing, "fault">): HealthCheck => ({
  name: "key-ring",
  check() {
    if (ring.fault !== undefined) throw ring.fault;
  },
});
