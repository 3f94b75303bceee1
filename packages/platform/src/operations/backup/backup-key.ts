// The encryption key of a backup: the server's, or derived from a passphrase.

import { createHmac, hkdfSync, type ScryptOptions, scrypt } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Random } from "@postern/apiserver/runtime/clock";
import { BackupError } from "../../foundation/store/backup-error.ts";

/** Facts about the key in a backup, without the key. `salt` is in base64. */
export type KeySource = { readonly from: "server" } | { readonly from: "passphrase"; readonly salt: string };

export type BackupKey = {
  readonly source: KeySource;
  /** 32 bytes. */
  readonly secret: Uint8Array;
};

export const KEY_BYTES = 32;
export const SALT_BYTES = 32;
const MIN_PASSPHRASE_LENGTH = 12;
/** About a tenth of a second and 64 MiB: what RFC 7914 suggests for files, rounded up. */
const COST: ScryptOptions = { N: 1 << 16, r: 8, p: 1, maxmem: 128 << 20 };

/** `secret` is the key of the server for backups. */
export const serverBackupKey = (secret: Uint8Array): BackupKey => ({ source: { from: "server" }, secret });

/** A key for a new backup. Rejects with BackupError where the passphrase is too short. */
export const passphraseBackupKey = (passphrase: string, random: Random): Promise<BackupKey> =>
  keyOfPassphrase(passphrase, random.bytes(SALT_BYTES));

/** The key of the backup that says `source` of it; undefined where what it takes was not given. */
export async function findBackupKey(
  source: KeySource,
  known: { readonly server: Uint8Array | undefined; readonly passphrase: string | undefined },
): Promise<BackupKey | undefined> {
  if (source.from === "server") return known.server === undefined ? undefined : serverBackupKey(known.server);
  if (known.passphrase === undefined) return undefined;
  return await keyOfPassphrase(known.passphrase, Buffer.from(source.salt, "base64"));
}

export function readKeySource(value: JsonValue | undefined): KeySource | undefined {
  const { from, salt }: JsonObject = isJsonObject(value) ? value : {};
  if (from === "server") return { from };
  return from === "passphrase" && typeof salt === "string" ? { from, salt } : undefined;
}

/** The key of one file, so that no two are encrypted under the same. */
export const fileKeyOf = ({ secret }: BackupKey, salt: Uint8Array): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, salt, "postern backup file", KEY_BYTES));

/** Tells a wrong key from a damaged file, and nothing of the key. */
export const checkOf = (key: Uint8Array, purpose: string): string =>
  createHmac("sha256", key).update(purpose).digest("hex").slice(0, 32);

async function keyOfPassphrase(passphrase: string, salt: Uint8Array): Promise<BackupKey> {
  const text = passphrase.trim();
  if (text.length < MIN_PASSPHRASE_LENGTH) {
    throw new BackupError(
      `the passphrase has fewer than ${MIN_PASSPHRASE_LENGTH} characters: use a longer one, such as 32 random bytes in base64`,
    );
  }
  const secret = await new Promise<Uint8Array>((resolve, reject) => {
    scrypt(text, salt, KEY_BYTES, COST, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
  return { source: { from: "passphrase", salt: Buffer.from(salt).toString("base64") }, secret };
}
