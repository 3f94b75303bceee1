// The list of valid access keys and certificates at one moment. Compared with an older backup, it shows what has been revoked since, so that
// revocations need no record of their own.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { objectOf, objectsOf, textOf } from "@postern/apimachinery/json/lenient-json";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { BackupError } from "../foundation/store/backup-error.ts";

export type KnownKey = {
  readonly uid: string;
  /** The handle of its value. */
  readonly value: string;
  /** False where it is disabled, over, or refused for its owner or the key it was made with. */
  readonly inForce: boolean;
  /** Handles of the values that rotations replaced, and that are accepted for a little longer. */
  readonly retired: readonly string[];
  /** Digest of everything that decides what the key opens. */
  readonly rights: string;
};

export type ValidKeys = {
  /** Milliseconds since the epoch: everything that was revoked before is left out. */
  readonly takenAt: number;
  readonly keys: readonly KnownKey[];
  /** Serial numbers of the client certificates that are accepted. */
  readonly certificates: readonly string[];
  /** Uids of the access requests whose access lasts. Lists of earlier releases have none. */
  readonly grants: readonly string[];
};

/** Members of a stored access key. */
export type RightsSource = {
  readonly metadata?: Pick<ObjectMeta, "deletionTimestamp">;
  readonly [member: string]: JsonValue | undefined;
};

const VERSION = 1;

/** The text of a file, signed under the key of the server for backups. No secret is in it. */
export function encodeValidKeys(list: ValidKeys, serverKey: Uint8Array): string {
  const content = JSON.stringify({ kind: "PosternKeysInForce", version: VERSION, ...list });
  return `${content}\n${signatureOf(content, serverKey)}\n`;
}

/** `serverKeys` are those of the server, the present one and any before. Throws BackupError for a list that is damaged, or of another server. */
export function decodeValidKeys(text: string, serverKeys: readonly Uint8Array[]): ValidKeys {
  const [content = "", signature = ""] = text.split("\n");
  const found = Buffer.from(signature);
  const isSignedUnder = (serverKey: Uint8Array): boolean => {
    const expected = Buffer.from(signatureOf(content, serverKey));
    return expected.length === found.length && timingSafeEqual(expected, found);
  };
  if (!serverKeys.some(isSignedUnder)) {
    throw new BackupError(
      "the list of --revocations is damaged, or was created with another server key: use another copy, or pass the server key of the list with --server-key-file, and that of the backup with --previous-server-key-file",
    );
  }
  const list = parseJson(content);
  const { version, takenAt, keys, certificates, grants }: JsonObject = isJsonObject(list) ? list : {};
  if (version !== VERSION || typeof takenAt !== "number") {
    throw new BackupError("the list of --revocations was created by another release: use that release");
  }
  return { takenAt, keys: objectsOf(keys).map(readKey), certificates: textsOf(certificates), grants: textsOf(grants) };
}

/** Digest of what the record of an access key allows, and until when. Names, and whether it is disabled, do not count. */
export function rightsDigest(record: RightsSource): string {
  const { displayName: _, description: __, disabled: ___, ...rights } = objectOf(record["spec"]);
  // A deletion with a grace period is a revocation that was made already. Keys without one have the digest of earlier releases.
  const end = record.metadata?.deletionTimestamp;
  return createHash("sha256")
    .update(stringifyJson(sorted(rights) ?? null))
    .update(typeof end === "string" ? end : "")
    .digest("base64url");
}

const signatureOf = (content: string, serverKey: Uint8Array): string =>
  createHmac("sha256", serverKey).update(`keys in force\n${content}`).digest("base64url");

const readKey = ({ uid, value, inForce, retired, rights }: JsonObject): KnownKey => ({
  uid: textOf(uid),
  value: textOf(value),
  inForce: inForce === true,
  retired: textsOf(retired),
  rights: textOf(rights),
});

/** The same whatever order members were sent in. */
function sorted(value: JsonValue | undefined): JsonValue | undefined {
  if (isJsonArray(value)) return value.map((item) => sorted(item) ?? null);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

const textsOf = (value: JsonValue | undefined): readonly string[] => (isJsonArray(value) ? value.map(textOf) : []);
