// Why a SQLite store cannot be opened, and what SQLite's result codes mean for a caller.

import { StorageFullError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { StoreVersionError } from "../store-errors.ts";

/** Another process, or another store of this one, has the file open. */
export class StoreLockedError extends Error {
  override readonly name = "StoreLockedError";
}

/** The file is not a SQLite database, is damaged, or belongs to another program. It was not changed. */
export class StoreCorruptError extends Error {
  override readonly name = "StoreCorruptError";
}

/** The kind of a failure, as text that can be sent between threads. */
export type StoreFailureKind = "locked" | "corrupt" | "version" | "full" | "unavailable";

export type StoreFailure = { readonly kind: StoreFailureKind; readonly message: string };

// https://www.sqlite.org/rescode.html
const RESULT_CODES: { readonly [code: number]: StoreFailureKind } = {
  5: "locked", // SQLITE_BUSY
  6: "locked", // SQLITE_LOCKED
  11: "corrupt", // SQLITE_CORRUPT
  13: "full", // SQLITE_FULL
  26: "corrupt", // SQLITE_NOTADB
};

/** Not every driver reports the code when rows are read one by one; these are SQLite's messages (sqlite3_errstr). */
const RESULT_TEXTS: { readonly [text: string]: StoreFailureKind } = {
  "database disk image is malformed": "corrupt",
  "file is not a database": "corrupt",
  "database or disk is full": "full",
};

/** Codes of the system, from files that are made beside the database. */
const NO_SPACE: readonly string[] = ["ENOSPC", "EDQUOT"];

/** The low byte of an extended result code is the primary code. */
export function failureKind(error: unknown): StoreFailureKind {
  if (error instanceof StoreLockedError) return "locked";
  if (error instanceof StoreCorruptError) return "corrupt";
  if (error instanceof StoreVersionError) return "version";
  if (error instanceof Error && "code" in error && NO_SPACE.includes(String(error.code))) return "full";
  if (error instanceof Error && "errcode" in error && typeof error.errcode === "number") {
    return RESULT_CODES[error.errcode & 0xff] ?? "unavailable";
  }
  return (error instanceof Error ? RESULT_TEXTS[error.message] : undefined) ?? "unavailable";
}

/** The error of `openSqliteStorage` for a failure reported by its thread. */
export function toOpenError({ kind, message }: StoreFailure): Error {
  switch (kind) {
    case "locked":
      return new StoreLockedError(message);
    case "corrupt":
      return new StoreCorruptError(message);
    case "version":
      return new StoreVersionError(message);
    case "full":
      return new StorageFullError(message);
    default:
      return new StorageUnavailableError(message);
  }
}

/** The error of a read or write for a failure reported by the thread. */
export function toStorageError({ kind, message }: StoreFailure): StorageUnavailableError {
  if (kind === "full") return new StorageFullError("the disk is full", { cause: new Error(message) });
  return new StorageUnavailableError("the store cannot serve now", { cause: new Error(message) });
}

export function toFailure(error: unknown): StoreFailure {
  return { kind: failureKind(error), message: error instanceof Error ? error.message : String(error) };
}
