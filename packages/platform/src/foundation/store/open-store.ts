// Opens the configured store, and describes errors for the operator.

import { readFile, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { HealthCheck } from "@postern/apiserver/health/health-check";
import {
  createSoleLeaderElection,
  type LeaderElection,
  neverLeading,
} from "@postern/apiserver/storage/leader-election";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Replicas, ReplicasDeps } from "@postern/apiserver/storage/replicas";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageFullError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { WaitForLeaderOptions } from "@postern/stores/etcd/diagnosis/wait-for-leader";
import type { EtcdConnection, EtcdTls } from "@postern/stores/etcd/etcd-connection";
import type { ServerTable } from "@postern/stores/sqlite/server-table";
import { StoreCorruptError, StoreLockedError } from "@postern/stores/sqlite/sqlite-errors";
import { createSqliteReplicas } from "@postern/stores/sqlite/sqlite-replicas";
import {
  openSqliteStorage,
  type SharedSqliteStorage,
  type SqliteConnection,
  type SqliteStorage,
  type SqliteStorageOptions,
} from "@postern/stores/sqlite/sqlite-storage";
import { StoreVersionError, StoreWriteRefusedError } from "@postern/stores/store-errors";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";
import { assertNotInterrupted } from "./incomplete-store.ts";

export type OpenedStore = {
  readonly storage: Storage;
  /** Decides which server on this store does work that must be done once. */
  readonly election: LeaderElection;
  /** Other servers may write to it. */
  readonly isShared: boolean;
  /** Enters among the servers on a store that others share. */
  readonly enter?: (deps: ReplicasDeps & { readonly id: string }) => Replicas;
  /** Takes up credentials for the store whose files have changed. Rejects where they do not work: the old ones stay in use. */
  readonly reloadCredentials?: () => Promise<void>;
  /** Others need not wait for a server that has entered with this id, and has certainly ended. Absent: they never do. */
  readonly forget?: (id: string) => Promise<void>;
  /** A place in the store for a server in another thread, which can be sent there once. Absent: each opens the store for itself. */
  readonly connect?: () => SqliteConnection;
  /** Checks of `/readyz` beside those of the server itself. */
  readonly checks: readonly HealthCheck[];
};

/** Told once when a store that is too large to be checked before it opens has been checked; undefined: nothing was found. */
export type StoreCheckListener = (fault: string | undefined) => void;

export type OpenStoreOptions = {
  /** For read-only commands: nothing in etcd is changed, and the place may be read-only. */
  readonly isReadOnly?: boolean;
  readonly onChecked?: StoreCheckListener;
  /** Called with failures of a database of this server. */
  readonly onFailure?: (error: Error) => void;
  /** For a server: it does not use an empty place of a shared etcd unless the configuration says so. */
  readonly isServer?: boolean;
  /** Default: the store has to answer at the first try. */
  readonly waiting?: StoreWaiting;
  /** Servers in further threads of this process use the store as well. Absent: none do. */
  readonly table?: ServerTable | undefined;
};

/** How long etcd may take to elect a leader. */
export type StoreWaiting = Pick<WaitForLeaderOptions, "patienceMs" | "onWaiting" | "signal">;

/** Rejects with ConfigurationError: one line with the cause and the fix. */
export async function openStore(configuration: Configuration, options: OpenStoreOptions = {}): Promise<OpenedStore> {
  const { isReadOnly = false, isServer = false, waiting, onChecked = () => {}, onFailure = () => {}, table } = options;
  const { store } = configuration;
  switch (store.kind) {
    case "memory":
      return soleStore(createMemoryStorage());
    case "sqlite": {
      await assertNotInterrupted(store.path);
      const storage = await openSqlite({ path: store.path, onChecked, onFailure, isShared: table !== undefined });
      if (table === undefined) return { ...soleStore(storage), checks: [storage.health] };
      return { ...sharedSqlite(storage, { table, server: 0 }), connect: storage.connect };
    }
    case "etcd":
      return await openEtcd(store.endpoints, configuration, { isReadOnly, isServer, waiting });
  }
}

/** The place of a server among those of its process; 0 is the first. */
export type ServerPlace = { readonly table: ServerTable; readonly server: number };

/** The first of the servers leads. */
export function sharedSqlite(storage: SqliteStorage, { table, server }: ServerPlace): OpenedStore {
  const election = createSoleLeaderElection();
  return {
    storage,
    election: server === 0 ? election : neverLeading(election),
    isShared: true,
    enter: (deps) =>
      createSqliteReplicas({
        ...deps,
        table,
        server,
        newest: () => storage.known?.revision ?? Number.MAX_SAFE_INTEGER,
      }),
    checks: [storage.health],
  };
}

const soleStore = (storage: Storage): OpenedStore => ({
  storage,
  election: createSoleLeaderElection(),
  isShared: false,
  checks: [],
});

const AT_ONCE: StoreWaiting = { patienceMs: 0, onWaiting: () => {} };

/** The driver is loaded where it is used: most servers do without. */
async function openEtcd(
  endpoints: readonly string[],
  { etcd }: Configuration,
  {
    isReadOnly,
    isServer,
    waiting = AT_ONCE,
  }: { readonly isReadOnly: boolean; readonly isServer: boolean; readonly waiting: StoreWaiting | undefined },
): Promise<OpenedStore> {
  const [
    { openEtcdStorage },
    { createEtcdLeaderElection },
    { migrateEtcd },
    { EtcdPrefixError },
    { createEtcdReplicas, forgetReplica },
    { openWithLeader },
  ] = await Promise.all([
    import("@postern/stores/etcd/etcd-storage"),
    import("@postern/stores/etcd/etcd-leader-election"),
    import("@postern/stores/etcd/etcd-schema"),
    import("@postern/stores/etcd/diagnosis/other-etcd-users"),
    import("@postern/stores/etcd/etcd-replicas"),
    import("@postern/stores/etcd/diagnosis/wait-for-leader"),
  ]);
  const tls = await readTls(etcd);
  try {
    const place = { endpoints, ...(tls === undefined ? {} : { tls }) };
    const open = () =>
      openEtcdStorage({
        ...place,
        prefix: etcd.prefix,
        compaction: etcd.compaction,
        mustBeInstalled: isServer && !etcd.newInstallation,
      });
    const storage = await openWithLeader(open, { ...place, ...waiting });
    try {
      if (!isReadOnly) await migrateEtcd(storage);
    } catch (error) {
      await storage[Symbol.asyncDispose]();
      throw error;
    }
    return {
      storage,
      election: createEtcdLeaderElection({ storage }),
      isShared: true,
      enter: (deps) => createEtcdReplicas({ storage, ...deps }),
      forget: (id) => forgetReplica(storage, id),
      checks: [storage.health],
      ...(tls === undefined ? {} : { reloadCredentials: createCredentialReload(etcd, tls, storage.connection) }),
    };
  } catch (error) {
    if (error instanceof StoreVersionError) {
      throw new ConfigurationError(`${error.message}; nothing was changed`, { cause: error });
    }
    if (error instanceof EtcdPrefixError) {
      throw new ConfigurationError(
        `${error.message}: correct --etcd-prefix, or, for a new installation in this etcd, start once with --etcd-new-installation; nothing was written`,
        { cause: error },
      );
    }
    if (error instanceof StoreWriteRefusedError) {
      throw new ConfigurationError(
        `${error.message}: give the user of --etcd-certfile a role with the permission readwrite on them, or use another --etcd-prefix`,
        { cause: error },
      );
    }
    if (!(error instanceof StorageUnavailableError)) throw error;
    throw new ConfigurationError(
      `${error.message}: check that etcd runs at ${endpoints.join(", ")}, and --etcd-cafile, --etcd-certfile and --etcd-keyfile`,
      { cause: error },
    );
  }
}

function createCredentialReload(
  files: Configuration["etcd"],
  used: EtcdTls,
  connection: Pick<EtcdConnection, "setTls">,
): () => Promise<void> {
  let known = used;
  return async () => {
    const found = await readTls(files);
    if (found === undefined || sameTls(found, known)) return;
    await connection.setTls(found);
    known = found;
  };
}

const sameTls = (a: EtcdTls, b: EtcdTls): boolean =>
  (["ca", "cert", "key"] as const).every((part) => Buffer.compare(a[part] ?? NO_BYTES, b[part] ?? NO_BYTES) === 0);

const NO_BYTES = new Uint8Array();

export async function readTls({ caFile, certFile, keyFile }: Configuration["etcd"]): Promise<EtcdTls | undefined> {
  if (caFile === "" && certFile === "" && keyFile === "") return undefined;
  if ((certFile === "") !== (keyFile === "")) {
    throw new ConfigurationError("--etcd-certfile and --etcd-keyfile belong together: set both, or neither");
  }
  return {
    ...(caFile === "" ? {} : { ca: await read(caFile, "--etcd-cafile") }),
    ...(certFile === ""
      ? {}
      : { cert: await read(certFile, "--etcd-certfile"), key: await read(keyFile, "--etcd-keyfile") }),
  };
}

async function read(path: string, flag: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ConfigurationError(`${path} cannot be read: correct ${flag}`, { cause: error });
  }
}

async function openSqlite(options: SqliteStorageOptions): Promise<SharedSqliteStorage> {
  const { path } = options;
  try {
    return await openSqliteStorage(options);
  } catch (error) {
    const remedy = (await fullDiskRemedy(error, path)) ?? remedyOf(error, path);
    throw remedy === undefined ? error : new ConfigurationError(remedy, { cause: error });
  }
}

/** SQLite needs a little room beside a database that it only opens, and calls it an I/O error where there is none. */
const ROOM_TO_OPEN = 1 << 20;

async function fullDiskRemedy(error: unknown, path: string): Promise<string | undefined> {
  const folder = dirname(path);
  if (!(error instanceof StorageFullError)) {
    if (!(error instanceof StorageUnavailableError)) return undefined;
    const room = await statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    );
    if (room >= ROOM_TO_OPEN) return undefined;
  }
  return `${path} cannot be opened (${error.message}): the disk is full: free space in ${folder}`;
}

function remedyOf(error: unknown, path: string): string | undefined {
  if (error instanceof StoreLockedError) {
    return `${path} is in use by another server: stop that one, or choose another directory with --data-dir`;
  }
  if (error instanceof StoreCorruptError) {
    return error.message;
  }
  if (error instanceof StoreVersionError) {
    return `${path} was written by a newer release (${error.message}): run that release, or restore an older backup; it was not changed`;
  }
  if (error instanceof StorageUnavailableError) {
    return `${path} cannot be opened (${error.message}): check that the directory exists and may be written by this user`;
  }
  return undefined;
}
