// The log of a server that runs in the process of its test, as a file in the directory of the test.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerSurroundings } from "../main.ts";

export const logFileIn = (directory: string): string => join(directory, "server.log");

/** Lines after the removal of its directory are dropped. */
export function appendToLog(file: string, content: string | Uint8Array): void {
  try {
    appendFileSync(file, content, { mode: 0o600 });
  } catch {
    // The directory was removed.
  }
}

export const logToFile = (directory: string): ServerSurroundings => ({
  logDestination: { write: (line) => appendToLog(logFileIn(directory), line) },
});
