// What `postern backup`, `postern restore` and `postern store copy` do with stores and files of this machine.

import { readFile } from "node:fs/promises";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import type { Configuration } from "../config/configuration.ts";
import { exists, systemErrorCode } from "../pki/private-file.ts";
import { openStore } from "../server/open-store.ts";
import { BackupError } from "./backup-error.ts";
import { type BackupKey, checkOf, findBackupKey, passphraseBackupKey, serverBackupKey } from "./backup-key.ts";
import { copyStore } from "./copy-store.ts";
import type { ContentSummary } from "./entry-frames.ts";
import { assertFilled } from "./filling-mark.ts";
import { decodeKeysInForce, encodeKeysInForce } from "./keys-in-force.ts";
import { listKeysInForce } from "./list-keys-in-force.ts";
import { readBackupHeader, verifyBackup } from "./read-backup.ts";
import { assertListIsNewer, type RestoreReport, restoreBackup } from "./restore-backup.ts";
import { fillNewStore } from "./restore-target.ts";
import type { KeyPolicy } from "./restored-entry.ts";
import { openStoppedServer, requireServerKeys } from "./stopped-server.ts";
import { openBackup, SERVER_CHECK } from "./write-backup.ts";
import { writeNewFile } from "./write-new-file.ts";

/** What to write, by file; at least one of them. */
export type BackupTargets = {
  readonly out?: string | undefined;
  readonly revocationsOut?: string | undefined;
};

/** Backs the store of a server up that does not run; etcd may have servers on it. File names are absolute. */
export async function backupStore(
  configuration: Configuration,
  { out, revocationsOut, passphraseFile }: BackupTargets & { readonly passphraseFile?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  await using server = await openStoppedServer(configuration);
  const { disk: storage, cache, core, serverKeys } = server;
  const { clock, random } = systemRuntime;
  if (out !== undefined) {
    const key = (await newBackupKey(passphraseFile)) ?? serverBackupKey(serverKeys.backups);
    const { recordPrefixes: prefixes } = core;
    const { bytes } = await openBackup({
      storage,
      key,
      serverKey: serverKeys.backups,
      prefixes,
      clock,
      random,
      signal,
    });
    await writeNewFile(out, bytes);
  }
  if (revocationsOut !== undefined) {
    const list = await listKeysInForce({ core, cache, clock });
    await writeNewFile(revocationsOut, once(encodeKeysInForce(list, serverKeys.backups)));
  }
}

/** Where a restore learns which keys go on working. */
export type KeyChoice =
  | { readonly type: "keep" | "disable" }
  | { readonly type: "revocations"; readonly file: string }
  /** The configuration of a store that is newer than the backup. */
  | { readonly type: "newer-store"; readonly configuration: Configuration };

export type RestoreOptions = {
  readonly configuration: Configuration;
  readonly file: string;
  readonly passphraseFile?: string | undefined;
  readonly choice: KeyChoice;
};

/** Rejects with BackupError or ConfigurationError; then nothing was restored. */
export async function restoreStore(options: RestoreOptions): Promise<RestoreReport> {
  const { configuration, file, passphraseFile, choice } = options;
  const header = await readBackupHeader(file);
  const { backups: serverKey } = await requireServerKeys(configuration);
  if (checkOf(serverKey, SERVER_CHECK) !== header.serverCheck) {
    throw new BackupError(
      "the backup is of a server with another server key, and without that one no access key and no virtual cluster in it works: put the server.key of its server in place",
    );
  }
  const passphrase = await readPassphrase(passphraseFile);
  const key = await findBackupKey(header.key, { server: serverKey, passphrase });
  if (key === undefined) {
    throw new BackupError("the backup is encrypted under a passphrase: name its file with --backup-key-file");
  }
  const policy = await policyOf(choice, serverKey);
  assertListIsNewer(header, policy);
  await verifyBackup(file, key);
  // The salt is another one in every backup.
  const source = `restore of ${header.salt}, ${policy.type}${policy.type === "in-force" ? ` at ${policy.list.takenAt}` : ""}`;
  return await fillNewStore(configuration, source, (storage) =>
    restoreBackup({ path: file, header, key, policy, storage }),
  );
}

/** Neither store may have a server on it: what is written meanwhile would be in one of them alone. */
export async function copyBetween(
  from: Configuration,
  to: Configuration,
  signal: AbortSignal,
): Promise<ContentSummary> {
  if (from.store.kind === "sqlite" && !(await exists(from.store.path))) {
    throw new BackupError(`${from.store.path} does not exist: correct --from`);
  }
  const { storage } = await openStore(from);
  await using source = storage;
  await assertFilled(source);
  const name =
    from.store.kind === "etcd" ? from.store.endpoints.join(",") : from.store.kind === "sqlite" ? from.store.path : "";
  return await fillNewStore(to, `copy of ${name}`, (target) => copyStore(source, target, signal));
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

async function policyOf(choice: KeyChoice, serverKey: Uint8Array): Promise<KeyPolicy> {
  switch (choice.type) {
    case "keep":
    case "disable":
      return { type: choice.type };
    case "revocations":
      return { type: "in-force", list: decodeKeysInForce(await readList(choice.file), serverKey) };
    case "newer-store": {
      await using server = await openStoppedServer(choice.configuration);
      const { core, cache } = server;
      return { type: "in-force", list: await listKeysInForce({ core, cache, clock: systemRuntime.clock }) };
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

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
