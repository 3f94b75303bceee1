// Runs in every test worker before the tests (vitest's setupFiles): records the traffic of Node's HTTP clients, and
// keeps the temporary directories of tests.

import { tmpdir } from "node:os";
import { inject } from "vitest";
import { keepRemovedFiles } from "./keep-files.ts";
import { recordHttp1 } from "./record-http1.ts";
import { recordHttp2 } from "./record-http2.ts";
import { recordSockets } from "./record-sockets.ts";
import { runRecorder, setRunRecorder } from "./recorder-of-run.ts";
import { createRunRecorder, temporaryFolder } from "./run-record.ts";

declare module "vitest" {
  // Vitest's own place for data from a global setup.
  interface ProvidedContext {
    readonly runFolder: string;
  }
}

/** One worker may run many files of tests. */
if (runRecorder() === undefined) {
  const folder = inject("runFolder");
  // For files that outlive the run, such as unpacked tools.
  process.env["MACHINE_TMPDIR"] ??= tmpdir();
  process.env["TMPDIR"] = temporaryFolder(folder);
  keepRemovedFiles(folder);
  const recorder = createRunRecorder(folder);
  setRunRecorder(recorder);
  recordHttp1(recorder);
  recordHttp2(recorder);
  recordSockets(recorder);
}
