// A file that one holder at a time has to itself, by a lock of the operating system that ends with the process however it ends. Node has
// no call for such a lock; SQLite takes one on every platform.

import { createPrivately } from "./create-privately.ts";
import { openDatabase } from "./sqlite-driver.ts";
import { failureKind, StoreLockedError } from "./sqlite-errors.ts";

/**
 * The file is made where it is missing, and stays empty; disposing lets go of it. Throws StoreLockedError while another process, or
 * another part of this one, holds it, and what the file system says where it cannot be made.
 */
export function lockFile(path: string): Disposable {
  createPrivately(path);
  const database = openDatabase(path);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw failureKind(error) === "locked" ? new StoreLockedError(`${path} is in use`, { cause: error }) : error;
  }
  return { [Symbol.dispose]: () => database.close() };
}
