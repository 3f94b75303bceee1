// Restores a backup into an empty store. The whole file is verified before anything is written, and keys and certificates that are no longer valid
// are not restored.

import type { Storage } from "@postern/apiserver/storage/storage";
import { BackupError } from "../../foundation/store/backup-error.ts";
import type { BackupEntry } from "../entry-frames.ts";
import { fillStore } from "../fill-store.ts";
import { type CountEntries, canBeFilled } from "../read-store.ts";
import type { BackupHeader } from "./backup-header.ts";
import type { BackupKey } from "./backup-key.ts";
import { readBackup } from "./read-backup.ts";
import { createEntryRestorer, type KeyOutcome, type KeyPolicy, type LeftOut } from "./restore-entry.ts";

export type RestoreReport = {
  readonly entries: number;
  /** How many access keys had which fate. */
  readonly keys: { readonly [outcome in KeyOutcome]: number };
  readonly leftOut: LeftOut;
};

/** Throws BackupError where the list of keys cannot tell what was revoked after the backup. */
export function assertListIsNewer({ takenAt }: Pick<BackupHeader, "takenAt">, policy: KeyPolicy): void {
  if (policy.type !== "in-force" || policy.list.takenAt >= takenAt) return;
  const [list, backup] = [policy.list.takenAt, takenAt].map((at) => new Date(at).toISOString());
  throw new BackupError(
    `the list of keys is from ${list} and the backup from ${backup}: use a list that is newer than the backup, or --keep-keys if nothing was revoked since`,
  );
}

export async function restoreBackup(options: {
  readonly path: string;
  readonly header: BackupHeader;
  readonly key: BackupKey;
  readonly policy: KeyPolicy;
  /** Empty. */
  readonly storage: Storage;
  readonly onEntries?: CountEntries;
}): Promise<RestoreReport> {
  const { path, header, key, policy, storage } = options;
  if (!(await canBeFilled(storage))) {
    throw new BackupError("the store is not empty: restore into a new one; nothing was written");
  }
  const restore = createEntryRestorer(policy, header.prefixes);
  const keys = { kept: 0, disabled: 0, "left out": 0 };
  const leftOut = { accessRequests: 0, oneTimeValues: 0 };
  let written = 0;
  for await (const { entries } of readBackup(path, key)) {
    const wanted: BackupEntry[] = [];
    for (const entry of entries) {
      const restored = restore(entry);
      if (restored.key !== undefined) keys[restored.key]++;
      if (restored.leftOut !== undefined) leftOut[restored.leftOut]++;
      if (restored.entry !== undefined) wanted.push(restored.entry);
    }
    await fillStore(storage, wanted);
    options.onEntries?.(entries.length);
    written += wanted.length;
  }
  return { entries: written, keys, leftOut };
}
