// The header of a backup: readable without a key, and authenticated by every chunk.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { Revision } from "@postern/apiserver/storage/storage";
import { BackupError } from "../../foundation/store/backup-error.ts";
import { type RecordPrefixes, readRecordPrefixes } from "../../foundation/store/record-prefixes.ts";
import { type KeySource, readKeySource } from "./backup-key.ts";

export const BACKUP_VERSION = 1;
/** The first bytes of every backup. */
export const MAGIC = Buffer.from("postern backup\n");
export const MAX_HEADER_BYTES = 64 * 1024;

/** The last that a Date can hold (ECMA-262, 21.4.1.1). */
const LAST_TIME = 8.64e15;

export type BackupHeader = {
  readonly version: typeof BACKUP_VERSION;
  /** The state of the store that it holds. */
  readonly revision: Revision;
  /** Milliseconds since the epoch. */
  readonly takenAt: number;
  readonly key: KeySource;
  /** In base64; of the file's own key. */
  readonly salt: string;
  /** Value that the right key gives. */
  readonly check: string;
  /** The same for the key of the server whose store it was. */
  readonly serverCheck: string;
  readonly prefixes: RecordPrefixes;
};

export const encodeHeader = (header: BackupHeader): Buffer => Buffer.from(JSON.stringify(header));

/** Throws BackupError. */
export function decodeHeader(bytes: Uint8Array): BackupHeader {
  const header = parse(bytes);
  const { version, revision, takenAt, salt, check, serverCheck } = header;
  if (typeof version === "number" && version > BACKUP_VERSION) {
    throw new BackupError(
      `the backup has format ${version}, which is newer than this release: restore it with that one`,
    );
  }
  const key = readKeySource(header["key"]);
  const prefixes = readRecordPrefixes(header["prefixes"]);
  if (
    version !== BACKUP_VERSION ||
    typeof revision !== "number" ||
    typeof takenAt !== "number" ||
    !(Math.abs(takenAt) <= LAST_TIME) ||
    typeof salt !== "string" ||
    typeof check !== "string" ||
    typeof serverCheck !== "string" ||
    key === undefined ||
    prefixes === undefined
  ) {
    throw damagedHeader();
  }
  return { version, revision, takenAt, key, salt, check, serverCheck, prefixes };
}

export const damagedHeader = (): BackupError =>
  new BackupError("the file is damaged or not a backup of Postern: its header cannot be read; use another copy");

function parse(bytes: Uint8Array) {
  try {
    const value = parseJson(bytes);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new BackupError(damagedHeader().message, { cause: error });
  }
  throw damagedHeader();
}
