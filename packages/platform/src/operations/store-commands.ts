// Implements `postern backup`, `postern restore` and `postern store copy` on stores and files of this machine.

import { readFile } from "node:fs/promises";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { StoreLockedError } from "@postern/stores/sqlite/sqlite-errors";
import type { Configuration } from "../foundation/config/configuration.ts";
import { exists, systemErrorCode } from "../foundation/pki/private-file.ts";
import { BackupError } from "../foundation/store/backup-error.ts";
import { assertComplete } from "../foundation/store/incomplete-store.ts";
import { openStore } from "../foundation/store/open-store.ts";
import { CONTROLLERS } from "../foundation/store/run-while-leading.ts";
import { deriveServerKeys } from "../foundation/store/server-keys.ts";
import { type BackupKey, checkOf, findBackupKey, passphraseBackupKey, serverBackupKey } from "./backup/backup-key.ts";
import { readBackupHeader, verifyBackup } from "./backup/read-backup.ts";
import { assertListIsNewer, type RestoreReport, restoreBackup } from "./backup/restore-backup.ts";
import type { KeyPolicy } from "./backup/restore-entry.ts";
import { openBackup, SERVER_CHECK } from "./backup/write-backup.ts";
import { copyStore } from "./copy-store.ts";
import type { ContentSummary } from "./entry-frames.ts";
import { fillNewStore } from "./fill-new-store.ts";
import { listValidKeys } from "./list-valid-keys.ts";
import { entryCounter, type ReportProgress } from "./progress.ts";
import { countEntries } from "./read-store.ts";
import { openStoppedServer, requireServerSecrets } from "./stopped-server.ts";
import { decodeValidKeys, encodeValidKeys } from "./valid-keys.ts";
import { writeNewFile } from "./write-new-file.ts";

/** Files to write; at least one of them. */
export type BackupTargets = {
  readonly out?: string | undefined;
  readonly revocationsOut?: string | undefined;
};

/** Backs the store of a server up that does not run; etcd may have servers on it. File names are absolute. */
export async function backupStore(
  configuration: Configuration,
  { out, revocationsOut, passphraseFile }: BackupTargets & { readonly passphraseFile?: string | undefined },
  signal: AbortSignal,
  onProgress: ReportProgress = () => {},
): Promise<void> {
  await using server = await openStoppedServer(configuration).catch((error: unknown) => {
    throw inUse(
      error,
      configuration,
      "use --kubeconfig instead of --data-dir to back it up through the server, or stop the server",
    );
  });
  const { disk: storage, inForce, serverKeys } = server;
  const { clock, random } = systemRuntime;
  if (out !== undefined) {
    const key = (await newBackupKey(passphraseFile)) ?? serverBackupKey(serverKeys.backups);
    const { bytes } = await openBackup({
      storage,
      key,
      serverKey: serverKeys.backups,
      prefixes: inForce.prefixes,
      clock,
      random,
      signal,
      onEntries: entryCounter("writing", await countEntries(storage), onProgress),
    });
    await writeNewFile(out, bytes);
  }
  if (revocationsOut !== undefined) {
    const list = await listValidKeys(inForce, clock);
    await writeNewFile(revocationsOut, once(encodeValidKeys(list, serverKeys.backups)));
  }
}

/** How a restore learns which keys stay valid. */
export type KeyChoice =
  | { readonly type: "keep" | "disable" }
  | { readonly type: "revocations"; readonly file: string }
  /** The configuration of a store that is newer than the backup. */
  | { readonly type: "newer-store"; readonly configuration: Configuration };

export type RestoreOutcome = RestoreReport & {
  /** When the list of keys in force was made, in milliseconds since the epoch: what was revoked later works again. */
  readonly listTakenAt: number | undefined;
  /** The key ring of the backup opens with the previous server key alone. */
  readonly needsPreviousServerKey: boolean;
};

/** Rejects with BackupError or ConfigurationError; then nothing was restored. */
export async function restoreStore(options: {
  readonly configuration: Configuration;
  readonly file: string;
  readonly passphraseFile?: string | undefined;
  readonly choice: KeyChoice;
  readonly onProgress?: ReportProgress;
}): Promise<RestoreOutcome> {
  const { configuration, file, passphraseFile, choice, onProgress = () => {} } = options;
  const header = await readBackupHeader(file);
  const secrets = await requireServerSecrets(configuration);
  const serverKeys = secrets.map((secret) => deriveServerKeys(secret).backups);
  const at = serverKeys.findIndex((key) => checkOf(key, SERVER_CHECK) === header.serverCheck);
  const serverKey = serverKeys[at];
  if (serverKey === undefined) throw new BackupError(otherServerKey(secrets));
  const passphrase = await readPassphrase(passphraseFile);
  const key = await findBackupKey(header.key, { server: serverKey, passphrase });
  if (key === undefined) {
    throw new BackupError("the backup is encrypted with a passphrase: pass its file with --backup-key-file");
  }
  const policy = await policyOf(choice, serverKeys);
  assertListIsNewer(header, policy);
  const { entries } = await verifyBackup(file, key, entryCounter("checking", undefined, onProgress));
  // The salt is another one in every backup.
  const source = `restore of ${header.salt}, ${policy.type}${policy.type === "in-force" ? ` at ${policy.list.takenAt}` : ""}`;
  const report = await fillNewStore(configuration, source, (storage) =>
    restoreBackup({
      path: file,
      header,
      key,
      policy,
      storage,
      onEntries: entryCounter("restoring", entries, onProgress),
    }),
  );
  const listTakenAt = choice.type === "revocations" && policy.type === "in-force" ? policy.list.takenAt : undefined;
  return { ...report, listTakenAt, needsPreviousServerKey: at > 0 };
}

function otherServerKey(secrets: readonly Uint8Array[]): string {
  const given = secrets.length === 1 ? "the given one" : "the two given ones";
  return (
    `the backup was made with another server key than ${given}, without which its access keys and virtual clusters do not work: ` +
    "use the server.key of its server, or name it with --server-key-file, or with --previous-server-key-file if it was replaced since"
  );
}

/** No server may use either store: a write meanwhile would be in one of them alone. Rejects with BackupError or ConfigurationError. */
export async function copyBetween(
  from: Configuration,
  to: Configuration,
  signal: AbortSignal,
  onProgress?: ReportProgress,
): Promise<ContentSummary> {
  if (from.store.kind === "memory") {
    throw new BackupError("a store in memory exists only in its server: use a database file or etcd for --from");
  }
  if (from.store.kind === "sqlite" && !(await exists(from.store.path))) {
    throw new BackupError(`${from.store.path} does not exist: correct --from`);
  }
  const { storage, election } = await openStore(from, { isReadOnly: true }).catch((error: unknown) => {
    throw inUse(error, from, "stop it, because the copy would miss its writes");
  });
  await using source = storage;
  await assertComplete(source);
  if ((await source.list("", { limit: 1, remaining: "any" })).entries.length === 0) {
    const [place, flags] =
      from.store.kind === "etcd" ? [from.etcd.prefix, "--from or --etcd-prefix"] : [from.store.path, "--from"];
    throw new BackupError(`there is nothing in the store ${place}: correct ${flags}`);
  }
  const server = await election.leader(CONTROLLERS);
  if (server !== undefined) {
    throw new BackupError(
      `a server runs on the store of --from (${server}), and the copy would miss its writes: stop all servers on it; a killed server counts for ten more seconds`,
    );
  }
  const name = from.store.kind === "etcd" ? from.store.endpoints.join(",") : from.store.path;
  return await fillNewStore(to, `copy of ${name}`, (target) => copyStore(source, target, signal, onProgress));
}

/** The key for a new backup under the passphrase in a file; undefined without a file. */
export async function newBackupKey(passphraseFile: string | undefined): Promise<BackupKey | undefined> {
  const passphrase = await readPassphrase(passphraseFile);
  return passphrase === undefined ? undefined : await passphraseBackupKey(passphrase, systemRuntime.random);
}

/** Undefined without a file. The text of the file is the passphrase, without white space around it. */
async function readPassphrase(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw unreadable(file, "--backup-key-file", error);
  }
}

async function policyOf(choice: KeyChoice, serverKeys: readonly Uint8Array[]): Promise<KeyPolicy> {
  switch (choice.type) {
    case "keep":
    case "disable":
      return { type: choice.type };
    case "revocations":
      return { type: "in-force", list: decodeValidKeys(await readList(choice.file), serverKeys) };
    case "newer-store": {
      await using server = await openStoppedServer(choice.configuration, "--newer-store");
      return { type: "in-force", list: await listValidKeys(server.inForce, systemRuntime.clock) };
    }
  }
}

async function readList(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw unreadable(file, "--revocations", error);
  }
}

const unreadable = (file: string, flag: string, error: unknown): BackupError =>
  new BackupError(`${file} cannot be read (${systemErrorCode(error) ?? "unknown error"}): correct ${flag}`, {
    cause: error,
  });

/** The error with this remedy where a server has the database open, any other one as it is. */
function inUse(error: unknown, { store }: Configuration, remedy: string): unknown {
  if (store.kind !== "sqlite" || !(error instanceof Error && error.cause instanceof StoreLockedError)) return error;
  return new BackupError(`${store.path} is in use by another server: ${remedy}`, { cause: error });
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
