// The command line of the conformance server.

import { parseArgs } from "node:util";
import type { HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";

export type ConformanceStore =
  | { readonly kind: "sqlite" | "memory" }
  /** Endpoints as `host:port`; everything lies below the prefix. */
  | { readonly kind: "etcd"; readonly endpoints: readonly string[]; readonly prefix: string };

export type ConformanceOptions = {
  /** Files of CustomResourceDefinition documents. */
  readonly crdFiles: readonly string[];
  /** A file as kube-apiserver's --token-auth-file takes it. */
  readonly tokenFile: string;
  readonly securePort: number;
  readonly bindAddress: string;
  readonly dataDir: string;
  readonly store: ConformanceStore;
  /** Default: warn. */
  readonly logLevel?: "warn" | "silent";
  /** Sees every request before the server does, and gives the one to go on with. Not on the command line. */
  readonly observe?: (request: ApiRequest) => ApiRequest;
  /** Options of the handler chain that suites set; the command line leaves its defaults. */
  readonly chain?: Pick<HandlerChainDeps, "audit" | "shares" | "requestTimeoutMs">;
};

export const USAGE =
  "usage: npm run conformance:server -- --crds FILE.yaml --tokens FILE.csv [--secure-port N] [--bind-address IP] --data-dir D [--store sqlite|memory|etcd://HOST:PORT[,HOST:PORT]/PREFIX]";

/** Throws an Error that says what is wrong. */
export function readOptions(args: readonly string[]): ConformanceOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      crds: { type: "string", multiple: true, default: [] },
      tokens: { type: "string" },
      "secure-port": { type: "string", default: "6443" },
      "bind-address": { type: "string", default: "127.0.0.1" },
      "data-dir": { type: "string" },
      store: { type: "string", default: "sqlite" },
    },
  });
  const { crds, tokens, store } = values;
  const dataDir = values["data-dir"];
  const securePort = Number(values["secure-port"]);
  if (tokens === undefined) throw new Error("--tokens is missing");
  if (dataDir === undefined) throw new Error("--data-dir is missing");
  if (!Number.isInteger(securePort) || securePort < 0 || securePort > 65535)
    throw new Error("--secure-port is no port");
  return {
    crdFiles: crds,
    tokenFile: tokens,
    securePort,
    bindAddress: values["bind-address"],
    dataDir,
    store: readStore(store),
  };
}

function readStore(text: string): ConformanceStore {
  if (text === "sqlite" || text === "memory") return { kind: text };
  const [, endpoints, prefix] = /^etcd:\/\/([^/]+)(\/.+)$/.exec(text) ?? [];
  if (endpoints === undefined || prefix === undefined) {
    throw new Error("--store is sqlite, memory or etcd://HOST:PORT[,HOST:PORT]/PREFIX");
  }
  return { kind: "etcd", endpoints: endpoints.split(","), prefix };
}
