// Starts the conformance server inside the process, on a free port, with everything in memory, or in the one store that STORES names.

import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { sharedEtcd } from "@postern/stores/etcd/testing/shared-etcd";
import { startConformanceServer } from "../server/conformance-server.ts";
import type { ConformanceOptions, ConformanceStore } from "../server/options.ts";
import { type ConformanceClient, createConformanceClient } from "./conformance-client.ts";

const testdata = (name: string): string => fileURLToPath(new URL(`../testdata/${name}`, import.meta.url));

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  readonly ca: string;
  readonly caFile: string;
  readonly client: ConformanceClient;
  /** Forgets the history of the store. */
  compact(): Promise<void>;
  announceShutdown(): void;
};

export type ServerOptions = {
  /** Keeps everything in a database in this folder, which is left behind. Absent: in memory. */
  readonly dataDir?: string;
  /** Files of CustomResourceDefinitions. Absent: those of `testdata/`. */
  readonly crdFiles?: readonly string[];
  readonly observe?: ConformanceOptions["observe"];
  readonly chain?: ConformanceOptions["chain"];
};

/** The same folder finds the same objects again. */
function storeFor(dataDir: string | undefined): ConformanceStore {
  const etcd = process.env["STORES"] === "etcd" ? sharedEtcd() : undefined;
  if (etcd !== undefined) {
    const id = dataDir === undefined ? randomUUID() : createHash("sha256").update(dataDir).digest("hex");
    return { kind: "etcd", endpoints: [etcd.endpoint], prefix: `/conformance-${id}` };
  }
  return { kind: dataDir === undefined && process.env["STORES"] !== "sqlite" ? "memory" : "sqlite" };
}

export const CUSTOM_RESOURCE_DEFINITIONS = testdata("custom-resource-definitions.yaml");

export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const temporary = options.dataDir === undefined ? await temporaryDirectory("postern-conformance-") : undefined;
  const server = await startConformanceServer({
    crdFiles: options.crdFiles ?? [CUSTOM_RESOURCE_DEFINITIONS],
    tokenFile: testdata("tokens.csv"),
    securePort: 0,
    bindAddress: "127.0.0.1",
    dataDir: options.dataDir ?? temporary?.path ?? "",
    store: storeFor(options.dataDir),
    logLevel: "silent",
    ...(options.observe === undefined ? {} : { observe: options.observe }),
    ...(options.chain === undefined ? {} : { chain: options.chain }),
  });
  const ca = await readFile(server.caFile, "utf8");
  return {
    url: server.url,
    ca,
    caFile: server.caFile,
    client: createConformanceClient({ url: server.url, ca }),
    compact: () => server.compact(),
    announceShutdown: () => server.announceShutdown(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await temporary?.[Symbol.asyncDispose]();
    },
  };
}
