// The configuration of the server, merged from flags, environment, file and defaults, in this order of precedence.

import { resolve } from "node:path";
import type { ProxyEnvironment } from "@postern/client/transport/http-proxy";
import {
  type CATALOGUE,
  CATALOGUE_ENTRIES,
  type CatalogueEntry,
  CONFIG_ENVIRONMENT_NAME,
  type ValuesOf,
} from "./catalogue.ts";
import { readConfigFile } from "./config-file.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { type Environment, readEnvironment } from "./environment.ts";
import { OptionValueError, type RawValue } from "./option.ts";
import { type StoreAddress, storeAddress } from "./store-address.ts";
import { suggest } from "./suggest.ts";

/** Every option's value by the path it has in the file; file names are absolute, derived defaults are filled in. */
export type Configuration = Omit<ValuesOf<typeof CATALOGUE>, "store"> & {
  readonly store: StoreAddress;
  /** HTTPS_PROXY and NO_PROXY, which may have a password. Empty: connections go through no proxy. */
  readonly proxyEnvironment: ProxyEnvironment;
};

export type ConfigurationDeps = {
  /** Values by flag name, without dashes. */
  readonly flags?: ReadonlyMap<string, RawValue>;
  readonly environment?: Environment;
  /** The file of `--config`; it outweighs the one of POSTERN_CONFIG. */
  readonly configFile?: string;
  /** Folder that relative file names start from. */
  readonly workingDirectory: string;
};

/** Throws ConfigurationError with one line that names the place, the error and the fix. */
export async function loadConfiguration(deps: ConfigurationDeps): Promise<Configuration> {
  const { flags = new Map(), environment = {}, workingDirectory } = deps;
  const filePath = deps.configFile ?? (environment[CONFIG_ENVIRONMENT_NAME] || undefined);
  const fromFlags = readFlags(flags);
  const fromEnvironment = readEnvironment(environment);
  const fromFile =
    filePath === undefined ? new Map<string, RawValue>() : await readConfigFile(resolve(workingDirectory, filePath));

  const values = valuesOf((entry) => {
    const { path, option, environmentName } = entry;
    const found =
      tryPlace(fromFlags.get(path), `--${option.flag}`) ??
      tryPlace(fromEnvironment.get(path), environmentName) ??
      tryPlace(fromFile.get(path), `${filePath}: ${path}`);
    return found === undefined ? option.default : parseAt(entry, found);
  });
  return complete(values, workingDirectory, proxyVariables(environment));
}

const PROXY_VARIABLES: readonly string[] = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];

/** Without the rest of the environment: threads get the configuration. */
const proxyVariables = (environment: Environment): ProxyEnvironment =>
  Object.fromEntries(PROXY_VARIABLES.map((name) => [name, environment[name]]));

/** The configuration without any options. */
export function defaultConfiguration(workingDirectory: string): Configuration {
  return complete(
    valuesOf(({ option }) => option.default),
    workingDirectory,
    {},
  );
}

type Found = { readonly raw: RawValue; readonly place: string };

const tryPlace = (raw: RawValue | undefined, place: string): Found | undefined =>
  raw === undefined ? undefined : { raw, place };

function parseAt({ option }: CatalogueEntry, { raw, place }: Found): unknown {
  try {
    return option.parse(raw);
  } catch (error) {
    if (!(error instanceof OptionValueError)) throw error;
    throw new ConfigurationError(`${place} ${error.message}`, { cause: error });
  }
}

function readFlags(flags: ReadonlyMap<string, RawValue>): ReadonlyMap<string, RawValue> {
  const byFlag = new Map(CATALOGUE_ENTRIES.map(({ option, path }) => [option.flag, path]));
  const values = new Map<string, RawValue>();
  for (const [flag, raw] of flags) {
    const path = byFlag.get(flag);
    if (path === undefined) throw new ConfigurationError(`unknown flag --${flag}${suggest(flag, byFlag.keys())}`);
    values.set(path, raw);
  }
  return values;
}

/** The tree of values that the catalogue's shape promises. */
function valuesOf(read: (entry: CatalogueEntry) => unknown): ValuesOf<typeof CATALOGUE> {
  const root: Record<string, unknown> = {};
  for (const entry of CATALOGUE_ENTRIES) {
    let branch = root;
    for (const key of entry.keys.slice(0, -1)) {
      branch[key] ??= {};
      // Made in the line above, or by a sibling option in the same way.
      branch = branch[key] as Record<string, unknown>;
    }
    const key = entry.keys.at(-1);
    if (key !== undefined) branch[key] = read(entry);
  }
  // The entries are the catalogue flattened, so the tree has its shape and each leaf its option's type.
  return root as ValuesOf<typeof CATALOGUE>;
}

/** Refuses options that contradict each other. */
function checkTogether(values: ValuesOf<typeof CATALOGUE>, platformName: string): void {
  const { accessKeys, frontProxy, audit } = values;
  const { webhook } = values.notices;
  if ((values.tlsCertFile === "") !== (values.tlsPrivateKeyFile === "")) {
    throw new ConfigurationError("--tls-cert-file and --tls-private-key-file belong together: set both or neither");
  }
  if (values.tlsCaFile !== "" && values.tlsCertFile === "") {
    throw new ConfigurationError(
      "--tls-ca-file needs --tls-cert-file: the server's own certificate is verified by ca.crt of the data directory",
    );
  }
  if (values.serverKeyCommand !== "" && values.serverKeyFile !== "") {
    throw new ConfigurationError("--server-key-file and --server-key-command are alternatives: set only one");
  }
  for (const [option, seconds] of [
    ["--access-key-default-ttl-seconds", accessKeys.defaultTTLSeconds],
    ["--access-key-machine-default-ttl-seconds", accessKeys.machineDefaultTTLSeconds],
  ] as const) {
    const { maxTTLSeconds } = accessKeys;
    if (maxTTLSeconds > 0 && seconds > maxTTLSeconds) {
      throw new ConfigurationError(
        `${option} (${seconds}) is longer than --access-key-max-ttl-seconds (${maxTTLSeconds}): lower the former or raise the latter`,
      );
    }
  }
  if (frontProxy.clientCAFile !== "" && frontProxy.prefix === `${platformName}:`) {
    throw new ConfigurationError(
      `--requestheader-prefix (${frontProxy.prefix}) is the beginning of the platform's own names: choose another one`,
    );
  }
  if ((webhook.url === "") !== (webhook.secretFile === "")) {
    throw new ConfigurationError(
      "--notice-webhook-url and --notice-webhook-secret-file belong together: set both or neither",
    );
  }
  if (audit.webhook.configFile !== "" && audit.logPath === "-") {
    throw new ConfigurationError(
      "--audit-webhook-config-file needs a file in --audit-log-path: events are sent from there",
    );
  }
}

/** Fills in the defaults that follow from other options. */
function complete(
  values: ValuesOf<typeof CATALOGUE>,
  workingDirectory: string,
  proxyEnvironment: ProxyEnvironment,
): Configuration {
  const platformName = values.platform.name || (values.platform.domain.split(".")[0] ?? "");
  checkTogether(values, platformName);
  const { webhook } = values.notices;
  const dataDir = resolve(workingDirectory, values.dataDir);
  const fileOr = (path: string, fallback: string) => (path === "" ? fallback : resolve(workingDirectory, path));
  return {
    ...values,
    dataDir,
    bootstrap: { ...values.bootstrap, dir: fileOr(values.bootstrap.dir, "") },
    tlsCertFile: fileOr(values.tlsCertFile, ""),
    tlsPrivateKeyFile: fileOr(values.tlsPrivateKeyFile, ""),
    tlsCaFile: fileOr(values.tlsCaFile, ""),
    serverKeyFile: fileOr(values.serverKeyFile, resolve(dataDir, "server.key")),
    previousServerKeyFile: fileOr(values.previousServerKeyFile, ""),
    platform: { ...values.platform, name: platformName },
    frontProxy: { ...values.frontProxy, clientCAFile: fileOr(values.frontProxy.clientCAFile, "") },
    audit: {
      ...values.audit,
      policyFile: fileOr(values.audit.policyFile, ""),
      webhook: { ...values.audit.webhook, configFile: fileOr(values.audit.webhook.configFile, "") },
      logPath: values.audit.logPath === "-" ? "-" : fileOr(values.audit.logPath, resolve(dataDir, "audit.log")),
    },
    sessionRecording: { ...values.sessionRecording, dir: fileOr(values.sessionRecording.dir, "") },
    notices: {
      ...values.notices,
      webhook: { ...webhook, secretFile: fileOr(webhook.secretFile, ""), caFile: fileOr(webhook.caFile, "") },
    },
    etcd: {
      ...values.etcd,
      caFile: fileOr(values.etcd.caFile, ""),
      certFile: fileOr(values.etcd.certFile, ""),
      keyFile: fileOr(values.etcd.keyFile, ""),
    },
    proxyEnvironment,
    store: completeStore(values.store, dataDir, workingDirectory),
  };
}

function completeStore(text: string, dataDir: string, workingDirectory: string): StoreAddress {
  const address = storeAddress(text);
  if ("fault" in address) throw new ConfigurationError(`--store ${address.fault}`);
  if (address.kind !== "sqlite") return address;
  const path = address.path === "" ? resolve(dataDir, "postern.db") : resolve(workingDirectory, address.path);
  return { kind: "sqlite", path };
}
