// Selects the SQLite driver: `node:sqlite` if this Node has it, else `@photostructure/sqlite` with the same API.

import { createRequire } from "node:module";

export type SqliteValue = string | number | Uint8Array | null;

export type SqliteRow = { readonly [column: string]: SqliteValue };

export interface SqliteStatement {
  run(...parameters: readonly SqliteValue[]): unknown;
  get(...parameters: readonly SqliteValue[]): SqliteRow | undefined;
  iterate(...parameters: readonly SqliteValue[]): IterableIterator<SqliteRow>;
}

export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

type SqliteModule = {
  readonly DatabaseSync: new (path: string, options?: { readonly readOnly: boolean }) => SqliteDatabase;
};

/** Throws an error with SQLite's result code in `errcode`. */
export function openDatabase(path: string, options = { readOnly: false }): SqliteDatabase {
  const { DatabaseSync } = loadDriver();
  return new DatabaseSync(path, options);
}

function loadDriver(): SqliteModule {
  const require = createRequire(import.meta.url);
  try {
    return require("node:sqlite");
  } catch (error) {
    if (errorCode(error) !== "ERR_UNKNOWN_BUILTIN_MODULE") throw error;
    return require("@photostructure/sqlite");
  }
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
