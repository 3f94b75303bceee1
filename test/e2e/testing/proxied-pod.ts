// A server with a virtual cluster behind its proxy that has one pod in it.

import { join } from "node:path";
import { expect } from "vitest";
import { adminKey, type HttpClient, httpClient } from "./http-client.ts";
import { type PodCluster, servePodCluster } from "./pod-cluster.ts";
import { type PosternProcess, type PosternSurroundings, startPostern, temporaryDirectory } from "./postern-process.ts";

export const MANAGEMENT = "/kubernetes/management/apis/management.postern/v1";
export const INSTANCES = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
export const POD_PATH = "/kubernetes/project/default/virtualcluster/pods/api/v1/namespaces/default/pods/web";

export type ProxiedPod = AsyncDisposable & {
  readonly server: PosternProcess;
  readonly pods: PodCluster;
  readonly http: HttpClient;
  /** The administrator's key. */
  readonly admin: string;
  /** A folder for what the test writes. */
  readonly folder: string;
  /** As the administrator; resolves with what was made. */
  post(path: string, body: object): Promise<any>;
};

export async function proxyPod(
  surroundings?: PosternSurroundings,
  moreFlags: readonly string[] = [],
): Promise<ProxiedPod> {
  const directory = await temporaryDirectory();
  const pods = await servePodCluster();
  const flags = ["--proxy-allowed-addresses", "127.0.0.0/8", "--kube-config-proxy-fallback", ...moreFlags];
  const server = await startPostern(join(directory.path, "data"), flags, surroundings);
  const http = await httpClient(server);
  const admin = await adminKey(server);
  const post = async (path: string, body: object): Promise<any> => {
    const answer = await http(path, { key: admin, body });
    expect(answer.status, answer.text).toBe(201);
    return answer.body;
  };
  const config = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "pods",
        cluster: {
          server: pods.url,
          "certificate-authority-data": Buffer.from(pods.certificateAuthorityPem).toString("base64"),
        },
      },
    ],
    users: [{ name: "pods", user: { token: "credential-of-the-platform" } }],
    contexts: [{ name: "pods", context: { cluster: "pods", user: "pods" } }],
    "current-context": "pods",
  });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "vc-pods" }, stringData: { config } };
  await post("/kubernetes/management/api/v1/namespaces/p-default/secrets", secret);
  await post(INSTANCES, {
    apiVersion: "management.postern/v1",
    kind: "VirtualClusterInstance",
    metadata: { name: "pods" },
    spec: { external: true },
  });
  return {
    server,
    pods,
    http,
    admin,
    folder: directory.path,
    post,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await pods[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
