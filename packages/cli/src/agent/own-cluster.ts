// The cluster that an agent runs in: its API server, and the agent's own credential there.

import { readFile, stat } from "node:fs/promises";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";

export type OwnCluster = {
  /** Address and trust. */
  readonly transport: NodeTransportOptions;
  /** The bearer token as it is now; undefined where a client certificate is the credential. */
  token(): Promise<string | undefined>;
  readonly client: ApiClient;
  /** The namespace of the agent. */
  readonly namespace: string;
  /** A token of the agent's ServiceAccount for the platform; undefined where there is none. */
  identityToken(): Promise<string | undefined>;
};

/** The identity of an agent in its cluster. */
export type OwnIdentity = {
  readonly token: string;
  /** Keys of the cluster's issuer, as a JWK set in JSON; undefined where the agent may not read them. */
  readonly jwks: string | undefined;
};

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The manifests of the agent have it projected there. */
const IDENTITY = "/var/run/secrets/postern/token";

/** `identity`: file with a token for the platform. Throws Error outside of a pod, where there is no kubeconfig either. */
export async function findOwnCluster(
  environment: { readonly [name: string]: string | undefined },
  kubeconfig: string | undefined,
  identity = IDENTITY,
): Promise<OwnCluster> {
  const followed = followTokenFile(identity);
  const identityToken = async (): Promise<string | undefined> => {
    try {
      return await followed();
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };
  if (kubeconfig !== undefined) {
    // In a pod no kubeconfig is read, and what reads them takes memory.
    const { loadConnection } = await import("@postern/client/load-kubeconfig");
    const { transport, token, namespace } = await loadConnection({ path: kubeconfig, environment });
    return withClient({ transport, namespace, token: async () => token, identityToken });
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
    identityToken,
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

/** The keys with which the cluster signs tokens of ServiceAccounts: a JWK set in JSON. */
export async function readIssuerKeys({ client }: Pick<OwnCluster, "client">, signal: AbortSignal): Promise<string> {
  return JSON.stringify((await client.request({ method: "GET", path: "/openid/v1/jwks", signal })) ?? {});
}
