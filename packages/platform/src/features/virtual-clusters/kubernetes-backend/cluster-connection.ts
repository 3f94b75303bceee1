// The proxy for callers and the client of the platform for one cluster, over shared connections.

import type { ApiClient } from "@postern/client/api-client";
import { createUpstreamConnections, type UpstreamDeps } from "../../../foundation/upstream/upstream-connections.ts";
import type { UpstreamTarget } from "../../../foundation/upstream/upstream-target.ts";
import { CostlyTlsError } from "../../../foundation/upstream/upstream-tls.ts";
import { createUpstreamClient } from "../../../foundation/upstream/upstream-transport.ts";
import { createReverseProxy, type ReverseProxy, type ReverseProxyDeps } from "../../proxy/reverse-proxy.ts";
import { invalidKubeconfigError } from "./kubeconfig-target.ts";

export type ClusterConnection = Disposable & {
  readonly target: UpstreamTarget;
  readonly proxy: ReverseProxy["proxy"];
  /** Acts as the credential of the kubeconfig. */
  readonly client: ApiClient;
  /** Closes long-running requests, lets all others complete, and then closes the connections. */
  retire(): void;
};

export type ClusterConnectionDeps = UpstreamDeps &
  ReverseProxyDeps & {
    /** User agent of the platform's own requests. */
    readonly userAgent: string;
  };

/** Throws ApiError 502 for a target whose certificates or keys cannot be used. */
export function createClusterConnection(target: UpstreamTarget, deps: ClusterConnectionDeps): ClusterConnection {
  const connections = openConnections(target, deps);
  return {
    target,
    proxy: createReverseProxy(connections, deps).proxy,
    client: createUpstreamClient(connections, deps.userAgent),
    retire: () => connections.retire(),
    [Symbol.dispose]: () => connections[Symbol.dispose](),
  };
}

function openConnections(target: UpstreamTarget, deps: UpstreamDeps) {
  try {
    return createUpstreamConnections(target, deps);
  } catch (error) {
    // OpenSSL's message may quote the secret.
    const why =
      error instanceof CostlyTlsError ? error.message : "the certificates or keys in the kubeconfig cannot be used";
    throw invalidKubeconfigError(why, error);
  }
}
