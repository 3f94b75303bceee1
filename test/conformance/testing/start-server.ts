// Starts the conformance server inside the process, on a free port, with everything in memory.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startConformanceServer } from "../server/conformance-server.ts";
import { type ConformanceClient, createConformanceClient } from "./conformance-client.ts";

const testdata = (name: string): string => fileURLToPath(new URL(`../testdata/${name}`, import.meta.url));

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  readonly ca: string;
  readonly client: ConformanceClient;
  /** Forgets the history of the store. */
  compact(): Promise<void>;
};

export async function startServer(): Promise<RunningServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "postern-conformance-"));
  const server = await startConformanceServer({
    crdFiles: [testdata("custom-resource-definitions.yaml")],
    tokenFile: testdata("tokens.csv"),
    securePort: 0,
    bindAddress: "127.0.0.1",
    dataDir,
    store: "memory",
    logLevel: "silent",
  });
  const ca = await readFile(server.caFile, "utf8");
  return {
    url: server.url,
    ca,
    client: createConformanceClient({ url: server.url, ca }),
    compact: () => server.compact(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
    },
  };
}
