// Two servers of which one, the near one, hands out keys to what the other one serves.

import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { lastingPortFlags } from "@postern/stores/testing/lasting-ports";
import { adminKey, type HttpClient, httpClient } from "./http-client.ts";
import { type PosternProcess, type PosternSurroundings, startPostern } from "./postern-process.ts";
import { durableStoreFlags } from "./stores.ts";

export const MANAGEMENT = "/kubernetes/management/apis/management.postern/v1";
export const INSTANCES = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
export const KEYS = `${MANAGEMENT}/ownedaccesskeys`;
export const clusterPath = (name: string): string => `/kubernetes/project/default/virtualcluster/${name}`;

export type Server = AsyncDisposable & {
  readonly process: PosternProcess;
  readonly http: HttpClient;
  /** The administrator's key. */
  readonly key: string;
  /** As the administrator; resolves with the body. Rejects unless the answer is a success. */
  send(path: string, body?: object, method?: string): Promise<any>;
  /** Creates an object of the platform. */
  create(path: string, object: object): Promise<any>;
};

export async function startServer(
  dataDir: string,
  flags: readonly string[] = [],
  surroundings: PosternSurroundings = {},
): Promise<Server> {
  const process = await startPostern(dataDir, flags, surroundings);
  const http = await httpClient(process);
  const key = await adminKey(process);
  const send = async (path: string, body?: object, method?: string): Promise<any> => {
    const answer = await http(path, {
      key,
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method }),
      ...(method === "PATCH" ? { headers: { "content-type": "application/merge-patch+json" } } : {}),
    });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.body ?? answer.text;
  };
  return {
    process,
    http,
    key,
    send,
    create: (path, object) => send(path, { apiVersion: "management.postern/v1", ...object }),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

/** An address of this machine that is not a loopback one; undefined where it has none. */
export const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === "IPv4" && !address.internal)?.address;

/** The near one may reach the far one, which listens at `address`. Started anew with `farFlags` it has its objects, and its address. */
export async function startTwo(
  directory: string,
  address = "127.0.0.1",
): Promise<{ readonly near: Server; readonly far: Server; readonly farFlags: readonly string[] }> {
  const flags = [
    ...["--proxy-allowed-addresses", `127.0.0.0/8,${address}/32`],
    ...["--proxy-health-check-interval-seconds", "1"],
    "--kube-config-proxy-fallback",
  ];
  const farDir = join(directory, "far");
  const farFlags = [...durableStoreFlags(farDir), "--bind-address", address, ...(await lastingPortFlags())];
  const [near, far] = await Promise.all([startServer(join(directory, "near"), flags), startServer(farDir, farFlags)]);
  return { near, far, farFlags };
}

/** Keeps a kubeconfig of a cluster of the far server in a Secret of the near one. */
export const keepKubeconfig = (server: Server, name: string, config: string, namespace = "p-default"): Promise<any> =>
  server.send(`/kubernetes/management/api/v1/namespaces/${namespace}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { config },
  });

/** Requests of a server that last and are under way, as its metrics count them. */
export async function longRunning(server: Server): Promise<number> {
  const text: string = await server.send("/metrics");
  const counts = [...text.matchAll(/^apiserver_longrunning_requests\{[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
