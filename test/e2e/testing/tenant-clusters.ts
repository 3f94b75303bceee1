// A server with embedded virtual clusters, a kubectl for its management API, and one for each cluster.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubectlSession, kubectlSession } from "./kubectl-clients.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./postern-process.ts";

type TenantCluster = {
  readonly kubectl: KubectlSession;
  /** Path of its kubeconfig. */
  readonly config: string;
};

export type TenantClusters = AsyncDisposable & {
  readonly server: PosternProcess;
  /** Goes with the server. */
  readonly directory: string;
  readonly admin: KubectlSession;
  /** With its kubeconfig; the cluster must be there, as `demo` of the project `default` always is. */
  open(name: string, project?: string): Promise<TenantCluster>;
  /** A new instance, in the project `default`. */
  create(name: string, template?: object): Promise<TenantCluster>;
};

export async function startTenantClusters(flags: readonly string[] = []): Promise<TenantClusters> {
  const directory = await temporaryDirectory();
  const server = await startPostern(join(directory.path, "data"), flags);
  const sessionFor = (config: string): KubectlSession =>
    kubectlSession(
      () => config,
      () => join(directory.path, "cache"),
      "kubectl",
    );
  const admin = sessionFor(server.adminKubeconfig);

  async function open(name: string, project = "default"): Promise<TenantCluster> {
    const path = `/apis/management.postern/v1/namespaces/p-${project}/virtualclusterinstances/${name}/kubeconfig`;
    const made = JSON.parse(await admin.run(`create --raw ${path} -f -`, "{}"));
    const config = join(directory.path, `${project}-${name}.kubeconfig`);
    await writeFile(config, made.status.kubeConfig, { mode: 0o600 });
    return { kubectl: sessionFor(config), config };
  }

  return {
    server,
    directory: directory.path,
    admin,
    open,
    async create(name, template = {}) {
      const instance = {
        apiVersion: "management.postern/v1",
        kind: "VirtualClusterInstance",
        metadata: { name, namespace: "p-default" },
        spec: { template },
      };
      await admin.run("create -f -", JSON.stringify(instance));
      await admin.run(`wait virtualclusterinstance ${name} -n p-default --for=condition=Ready --timeout=60s`);
      return await open(name);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
