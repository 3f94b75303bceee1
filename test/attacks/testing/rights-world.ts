// A server with a pod cluster behind it, and for each case a project of its own with a user, a team, and clusters of both kinds.

import { join } from "node:path";
import { vi } from "vitest";
import { adminKey, httpClient } from "../../e2e/testing/http-client.ts";
import { type PodCluster, servePodCluster } from "../../e2e/testing/pod-cluster.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "../../e2e/testing/postern-process.ts";

export const MANAGEMENT = "/kubernetes/management";
export const PLATFORM = `${MANAGEMENT}/apis/management.postern/v1`;
export const RBAC = `${MANAGEMENT}/apis/rbac.authorization.k8s.io/v1`;
const WAIT = { timeout: 60_000, interval: 20 };

export type RightsServer = AsyncDisposable & {
  readonly process: PosternProcess;
  readonly pods: PodCluster;
  /** As the administrator; resolves with the body. Rejects unless the answer is a success. */
  send(path: string, body?: object, method?: string): Promise<any>;
  statusOf(path: string, key: string, headers?: { readonly [name: string]: string }): Promise<number>;
  /** As the holder of the key. */
  sendAs(key: string, path: string, body: object): Promise<any>;
};

export async function startRightsServer(flags: readonly string[] = []): Promise<RightsServer> {
  const directory = await temporaryDirectory();
  const pods = await servePodCluster();
  const process = await startPostern(join(directory.path, "data"), [
    ...["--proxy-allowed-addresses", "127.0.0.0/8", "--kube-config-proxy-fallback"],
    ...flags,
  ]);
  const http = await httpClient(process);
  const admin = await adminKey(process);
  const request = async (key: string, path: string, body?: object, method?: string): Promise<any> => {
    const answer = await http(path, {
      key,
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method }),
      ...(method === "PATCH" ? { headers: { "content-type": "application/merge-patch+json" } } : {}),
    });
    if (answer.status >= 300) throw new Error(`${method ?? ""} ${path}: ${answer.status} ${answer.text}`);
    return answer.body ?? answer.text;
  };
  return {
    process,
    pods,
    send: (path, body, method) => request(admin, path, body, method),
    statusOf: async (path, key, headers = {}) => (await http(path, { key, headers })).status,
    sendAs: (key, path, body) => request(key, path, body),
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await pods[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

export type RightsWorld = {
  readonly server: RightsServer;
  readonly project: string;
  readonly namespace: string;
  readonly user: string;
  readonly team: string;
  /** The user's, and the name of its object. */
  readonly key: string;
  readonly keyName: string;
  readonly projectPath: string;
  readonly instances: string;
  patch(path: string, body: object): Promise<any>;
  remove(path: string): Promise<any>;
};

export const object = (kind: string, name: string, spec?: object): object => ({
  apiVersion: "management.postern/v1",
  kind,
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
});

/** The pod cluster as a kubeconfig names it. */
export const podKubeconfig = ({ pods }: Pick<RightsServer, "pods">, token = "credential-of-the-platform"): string => {
  const authority = Buffer.from(pods.certificateAuthorityPem).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "pods", cluster: { server: pods.url, "certificate-authority-data": authority } }],
    users: [{ name: "pods", user: { token } }],
    contexts: [{ name: "pods", context: { cluster: "pods", user: "pods" } }],
    "current-context": "pods",
  });
};

export const keepSecret = (server: RightsServer, namespace: string, name: string): Promise<any> =>
  server.send(`${MANAGEMENT}/api/v1/namespaces/${namespace}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { config: podKubeconfig(server) },
  });

let worlds = 0;

/** A project with an embedded virtual cluster `in` and an external one `out`; its user is no member of it yet. */
export async function createRightsWorld(server: RightsServer): Promise<RightsWorld> {
  const number = ++worlds;
  const [project, user, team] = [`r${number}`, `u${number}`, `t${number}`];
  const namespace = `p-${project}`;
  const instances = `${PLATFORM}/namespaces/${namespace}/virtualclusterinstances`;
  await server.send(`${PLATFORM}/users`, object("User", user));
  await server.send(`${PLATFORM}/teams`, object("Team", team, { users: [user] }));
  const owner = { user: "admin" };
  await server.send(`${PLATFORM}/projects`, object("Project", project, { owner, allowedClusters: [{ name: "*" }] }));
  const keyName = `key-${user}`;
  const { spec } = await server.send(`${PLATFORM}/ownedaccesskeys`, object("OwnedAccessKey", keyName, { user }));
  await vi.waitFor(() => server.send(`${MANAGEMENT}/api/v1/namespaces/${namespace}`), WAIT);
  await keepSecret(server, namespace, "vc-out");
  await server.send(instances, object("VirtualClusterInstance", "in", { owner }));
  await server.send(instances, object("VirtualClusterInstance", "out", { owner, external: true }));
  for (const name of ["in", "out"]) await whenReady(server, `${instances}/${name}`);
  return {
    server,
    project,
    namespace,
    user,
    team,
    key: spec.key,
    keyName,
    projectPath: `${PLATFORM}/projects/${project}`,
    instances,
    patch: (path, body) => server.send(path, body, "PATCH"),
    remove: (path) => server.send(path, undefined, "DELETE"),
  };
}

export const whenReady = (server: RightsServer, path: string): Promise<void> =>
  vi.waitFor(async () => {
    const { status } = await server.send(path);
    if (status?.phase !== "Ready") throw new Error(`${path} is ${status?.phase}`);
  }, WAIT);
