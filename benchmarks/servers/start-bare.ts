// Starts the bare server with the certificate of a Postern.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MeasuredServer } from "./measured-server.ts";
import { startProcess } from "./start-process.ts";

const PATH = fileURLToPath(new URL("./bare-server.ts", import.meta.url));

/** `like`: the server that runs on `dataDir`, whose clients trust the bare one too. `node`: another binary than the running one. */
export async function startBare(
  like: MeasuredServer,
  dataDir: string,
  node?: string,
): Promise<MeasuredServer & AsyncDisposable> {
  const bare = await startProcess(["--import", "tsx", PATH, join(dataDir, "tls.crt"), join(dataDir, "tls.key")], node);
  return {
    target: { ...like.target, url: bare.url },
    pid: bare.pid,
    [Symbol.asyncDispose]: () => bare[Symbol.asyncDispose](),
  };
}
