// The log of a server that runs in the process of its test, as a file in the directory of the test.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerSurroundings } from "../main.ts";

/** Lines after the removal of its directory are dropped. */
export const logToFile = (directory: string): ServerSurroundings => ({
  logDestination: {
    write(line) {
      try {
        appendFileSync(join(directory, "server.log"), line, { mode: 0o600 });
      } catch {
        // The directory was removed.
      }
    },
  },
});
