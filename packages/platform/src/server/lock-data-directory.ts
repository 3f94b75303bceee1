// Locks the data directory: two servers would write one audit log, and each would break the hash chain of the other.

import { join } from "node:path";
import { lockFile } from "@postern/stores/sqlite/lock-file";
import { StoreLockedError } from "@postern/stores/sqlite/sqlite-errors";
import type { Configuration } from "../foundation/config/configuration.ts";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";

export const LOCK_FILE = "server.lock";

/** The directory must be there. Throws ConfigurationError while another server has it. */
export function lockDataDirectory({ dataDir }: Pick<Configuration, "dataDir">): Disposable {
  try {
    return lockFile(join(dataDir, LOCK_FILE));
  } catch (error) {
    if (error instanceof StoreLockedError) {
      const message = `${dataDir} is in use by another server: stop that one, or choose another directory with --data-dir`;
      throw new ConfigurationError(message, { cause: error });
    }
    // A directory that this user cannot write needs no lock; a server that has to write there fails later.
    if (error instanceof Error && "code" in error && NOT_WRITABLE.has(error.code)) return { [Symbol.dispose]() {} };
    throw error;
  }
}

const NOT_WRITABLE: ReadonlySet<unknown> = new Set(["EACCES", "EPERM", "EROFS"]);
