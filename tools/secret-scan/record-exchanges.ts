// Runs in every worker of the tests before them (vitest's setupFiles): records what goes through the clients of Node, whoever uses
// them, and keeps the temporary directories of tests.

import { tmpdir } from "node:os";
import { inject } from "vitest";
import { keepRemovedFiles } from "./keep-files.ts";
import { recordHttp1 } from "./record-http1.ts";
import { recordHttp2 } from "./record-http2.ts";
import { recordSockets } from "./record-sockets.ts";
import { runRecorder, setRunRecorder } from "./recorder-of-run.ts";
import { createRunRecorder, temporaryFolder } from "./run-record.ts";

declare module "vitest" {
  // Vitest's own place for what a global setup hands to the workers.
  interface ProvidedContext {
    readonly runFolder: string;
  }
}

/** One worker may run many files of tests. */
if (runRecorder() === undefined) {
  const folder = inject("runFolder");
  // What outlives the run, such as unpacked tools, goes there.
  process.env["MACHINE_TMPDIR"] ??= tmpdir();
  process.env["TMPDIR"] = temporaryFolder(folder);
  keepRemovedFiles(folder);
  const recorder = createRunRecorder(folder);
  setRunRecorder(recorder);
  recordHttp1(recorder);
  recordHttp2(recorder);
  recordSockets(recorder);
}
