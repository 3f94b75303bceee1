// Examines a database file without changing it, to report errors before a server does.

import { statSync } from "node:fs";
import { StoreVersionError } from "../store-errors.ts";
import { APPLICATION_ID, knownVersion, pragma, SCHEMA_VERSION } from "./migrations.ts";
import { openDatabase } from "./sqlite-driver.ts";
import { failureKind } from "./sqlite-errors.ts";

export type SqliteExamination =
  | { readonly state: "absent" | "in use" | "foreign" }
  | { readonly state: "damaged" | "newer" | "unreadable"; readonly fault: string }
  | {
      readonly state: "whole";
      readonly version: number;
      /** This release's version: a server migrates older files. */
      readonly newestVersion: number;
      /** Size of the file in bytes. */
      readonly bytes: number;
    };

/** In a thread of its own: not every driver releases the file before its thread ends. */
export function examineFile(path: string): SqliteExamination {
  try {
    // Also these throw, where the directory belongs to another user.
    const bytes = sizeOf(path);
    if (bytes === 0 && sizeOf(`${path}-wal`) > 0) {
      return { state: "damaged", fault: `its write-ahead log ${path}-wal exists without it` };
    }
    if (bytes === 0) return { state: "absent" };
    const database = openDatabase(path, { readOnly: true });
    try {
      if (pragma(database, "application_id") !== APPLICATION_ID) return { state: "foreign" };
      const version = knownVersion(path, database);
      const result = database.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
      if (result !== "ok") return { state: "damaged", fault: String(result) };
      return { state: "whole", version, newestVersion: SCHEMA_VERSION, bytes };
    } finally {
      database.close();
    }
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreVersionError) return { state: "newer", fault };
    const kind = failureKind(error);
    if (kind === "locked") return { state: "in use" };
    return { state: kind === "corrupt" ? "damaged" : "unreadable", fault };
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
