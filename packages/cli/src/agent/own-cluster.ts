// The cluster that an agent runs in: its API server, and the agent's own credential there.

import { readFile, stat } from "node:fs/promises";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { loadConnection } from "@postern/client/load-kubeconfig";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";

export type OwnCluster = {
  /** Address and trust. */
  readonly transport: NodeTransportOptions;
  /** The bearer token as it is now; undefined where a client certificate is the credential. */
  token(): Promise<string | undefined>;
  readonly client: ApiClient;
  /** The namespace of the agent. */
  readonly namespace: string;
};

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Throws Error outside of a pod, where there is no kubeconfig either. */
export async function findOwnCluster(
  environment: { readonly [name: string]: string | undefined },
  kubeconfig: string | undefined,
): Promise<OwnCluster> {
  if (kubeconfig !== undefined) {
    const { transport, token, namespace } = await loadConnection({ path: kubeconfig, environment });
    return withClient({ transport, namespace, token: async () => token });
  }
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "") throw new Error("this is no pod with a ServiceAccount: use --kubeconfig");
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const certificateAuthorityPem = await readFile(`${ACCOUNT}/ca.crt`, "utf8");
  const namespace = (await readFile(`${ACCOUNT}/namespace`, "utf8")).trim();
  return withClient({
    transport: { server, certificateAuthorityPem },
    namespace,
    token: followTokenFile(`${ACCOUNT}/token`),
  });
}

const withClient = (parts: Omit<OwnCluster, "client">): OwnCluster => ({
  ...parts,
  client: createApiClient({
    transport: createNodeTransport(parts.transport),
    token: async () => (await parts.token()) ?? "",
    userAgent: "postern-agent",
  }),
});

/** The kubelet replaces the file long before the token in it expires. */
function followTokenFile(path: string): () => Promise<string> {
  let known: { readonly token: string; readonly changedAt: number } | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (known !== undefined && performance.now() - lookedAt < 10_000) return known.token;
    const { mtimeMs } = await stat(path);
    lookedAt = performance.now();
    if (known?.changedAt !== mtimeMs) known = { token: (await readFile(path, "utf8")).trim(), changedAt: mtimeMs };
    return known.token;
  };
}

/** Uid of the namespace kube-system, which identifies a cluster. */
export async function readClusterUid({ client }: Pick<OwnCluster, "client">, signal: AbortSignal): Promise<string> {
  const found = await client.request({ method: "GET", path: "/api/v1/namespaces/kube-system", signal });
  const metadata = isJsonObject(found) ? found["metadata"] : undefined;
  const uid = isJsonObject(metadata) ? metadata["uid"] : undefined;
  if (typeof uid !== "string") throw new Error("the namespace kube-system has no uid");
  return uid;
}
