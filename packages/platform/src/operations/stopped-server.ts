// Makes the decisions of a server that is not running, over its store.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import type { Storage } from "@postern/apiserver/storage/storage";
import { openAccessKeys } from "../features/access-keys/feature.ts";
import { openAccessGrants } from "../features/access-requests/access-grants.ts";
import { credentialPrefixes, openCertificates } from "../features/certificates/feature.ts";
import { openDirectory } from "../features/directory/feature.ts";
import { openIdentityProviders, unionGrants } from "../features/sign-in/providers/identity-provider-index.ts";
import { openTrustRules } from "../features/trust/trust-rule-index.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";
import { createSealedStorage } from "../foundation/encryption/sealed-storage.ts";
import { readKeyRing } from "../foundation/encryption/stored-key-ring.ts";
import { unreadableSecret } from "../foundation/encryption/unreadable-value.ts";
import { createFoundation, type Foundation } from "../foundation/foundation.ts";
import { exists } from "../foundation/pki/private-file.ts";
import { isFirstStart } from "../foundation/store/first-start-mark.ts";
import { assertComplete } from "../foundation/store/incomplete-store.ts";
import { withRemedy } from "../foundation/store/open-sealed-store.ts";
import { openStore } from "../foundation/store/open-store.ts";
import {
  deriveServerKeys,
  readPreviousServerSecrets,
  readServerSecret,
  type ServerKeys,
  serverKeyPath,
} from "../foundation/store/server-keys.ts";
import { assertSameNames } from "../foundation/store/stored-names.ts";
import type { CredentialsInForce } from "./list-valid-keys.ts";

export type StoppedServer = AsyncDisposable & {
  /** The store as it is on disk. */
  readonly disk: Storage;
  readonly inForce: CredentialsInForce;
  readonly base: Foundation;
  readonly serverKeys: ServerKeys;
};

/** Changes nothing. Rejects with ConfigurationError, also where a server runs on the store; `flags` are those that name it. */
export async function openStoppedServer(
  configuration: Configuration,
  flags = "--data-dir or --store",
): Promise<StoppedServer> {
  const teardown = createTeardown();
  try {
    const serverSecrets = await requireServerSecrets(configuration);
    const { store } = configuration;
    if (store.kind === "sqlite" && !(await exists(store.path))) {
      throw new ConfigurationError(`${store.path} does not exist: correct ${flags}`);
    }
    const { storage: disk, isShared } = await openStore(configuration, { isReadOnly: true });
    teardown.use(disk);
    await assertComplete(disk);
    if (await isFirstStart(disk)) {
      throw new ConfigurationError(`the store is empty; no server has started on it: correct ${flags}`);
    }
    await assertSameNames(disk, configuration);
    const { clock, scheduler, random } = systemRuntime;
    const ignore = (): void => undefined;
    const keyRing = await withRemedy(
      readKeyRing({
        storage: disk,
        serverSecrets,
        isShared,
        clock,
        random,
        onError: ignore,
      }),
      configuration,
    );
    const storage = createSealedStorage({
      storage: disk,
      ring: keyRing,
      random,
      placeholder: (key, fault) => unreadableSecret(configuration.platform.domain, key, fault),
      onUnreadable: ignore,
    });
    const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler }));
    await cache.ready();
    const lifetime = new AbortController();
    teardown.defer(() => lifetime.abort());
    const base = createFoundation(
      {
        configuration,
        storage,
        cache,
        runtime: systemRuntime,
        keyRing,
        metrics: createServerMetrics({ withProcessMetrics: false }),
        onError: ignore,
        signal: lifetime.signal,
      },
      () => {
        throw new Error("no server runs on the store");
      },
    );
    const directory = teardown.use(openDirectory(base));
    const rules = teardown.use(openTrustRules(base));
    const providers = teardown.use(openIdentityProviders(base, { directory }));
    const granted = teardown.use(openAccessGrants(base));
    const keys = teardown.use(openAccessKeys(base, { directory, grants: unionGrants(rules, providers, granted) }));
    const certificates = teardown.use(openCertificates(base, { keys, directory, granted }));
    const inForce = { keys: keys.index, certificates, granted, prefixes: credentialPrefixes(base), cache };
    const serverKeys = deriveServerKeys(serverSecrets[0]);
    return { disk, base, inForce, serverKeys, [Symbol.asyncDispose]: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

/** The server key that the configuration names, and the one before where it names that. Rejects with ConfigurationError where one is missing. */
export async function requireServerSecrets(
  configuration: Configuration,
): Promise<readonly [Uint8Array, ...Uint8Array[]]> {
  return [await requireServerSecret(configuration), ...(await readPreviousServerSecrets(configuration))];
}

async function requireServerSecret(configuration: Configuration): Promise<Uint8Array> {
  const secret = await readServerSecret(configuration);
  if (secret !== undefined) return secret;
  throw new ConfigurationError(
    `${serverKeyPath(configuration)} is missing: put the server key there, or name it with --server-key-file; it is in no backup`,
  );
}
