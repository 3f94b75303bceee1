// Worker threads that know custom resources and policies.

import { createWorkThreads, type ThreadsRuntime, type WorkThreads } from "@postern/apiserver/limits/work-threads";

/** The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript. */
const SCRIPT = new URL("../../dist/server/work-thread-main.js", import.meta.url);

/** Threads start when there is work for them, and end with `signal`. Default of the runtime: that of the process. */
export const startWorkThreads = (signal: AbortSignal, runtime?: ThreadsRuntime): WorkThreads =>
  createWorkThreads(SCRIPT, signal, runtime);
