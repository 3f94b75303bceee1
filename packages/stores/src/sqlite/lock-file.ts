// A file that one holder locks with an operating-system lock, which ends with the process in every case. Node has
// no API for such a lock; SQLite takes one on every platform.

import { createPrivateDatabase } from "./create-private-database.ts";
import { openDatabase } from "./sqlite-driver.ts";
import { failureKind, StoreLockedError } from "./sqlite-errors.ts";

/**
 * Creates the file if it is missing; it stays empty. Disposing releases it. Throws StoreLockedError while another process, or
 * another part of this one, holds it, and the error of the file system if it cannot be created.
 */
export function lockFile(path: string): Disposable {
  createPrivateDatabase(path);
  const database = openDatabase(path);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw failureKind(error) === "locked" ? new StoreLockedError(`${path} is in use`, { cause: error }) : error;
  }
  return { [Symbol.dispose]: () => database.close() };
}
