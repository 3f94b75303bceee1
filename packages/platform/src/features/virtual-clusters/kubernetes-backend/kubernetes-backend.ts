// The backend of a virtual cluster in a connected cluster, or of an external one: reached at its Kubernetes API with a kubeconfig.

import type { PlatformNames } from "@postern/api/platform-names";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { faultOf } from "../../../foundation/upstream/upstream-failure.ts";
import type { VirtualClusterBackend } from "../virtual-cluster-backend.ts";
import { bindRoles } from "./bind-roles.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterSource } from "./cluster-source.ts";
import { issueClientCertificate } from "./issue-client-certificate.ts";
import { probeHealth } from "./probe-health.ts";

export function createKubernetesBackend(deps: {
  readonly source: ClusterSource;
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Timeout for the cluster's signer. */
  readonly signingTimeoutMs?: number;
}): VirtualClusterBackend {
  const { source, names, scheduler } = deps;

  /** A refused credential may have been renewed meanwhile. */
  const onError = (error: unknown): never => {
    if (isApiError(error) && faultOf(error).reason === "CredentialRefused") source.invalidate();
    throw error;
  };
  const withConnection = async <T>(
    signal: AbortSignal,
    work: (connection: ClusterConnection) => Promise<T>,
  ): Promise<T> => Promise.resolve(source.connect({ signal })).then(work).catch(onError);

  return {
    endpoint: "ingress",
    isRemote: true,
    /** Throws ApiError 503 until the cluster has been found. */
    get ownServer() {
      return source.current().target.server;
    },
    /** Throws ApiError 503 until the cluster has been found. */
    get serverCertificateAuthority() {
      return source.current().target.certificateAuthorityPem;
    },
    proxy(context, user, tap) {
      const connection = source.connect(context);
      // Most are there. A chain of promises costs as much as the rest of a short request.
      if (connection instanceof Promise)
        return connection.then((found) => found.proxy(context, user, tap)).catch(onError);
      const response = connection.proxy(context, user, tap);
      return response instanceof Promise ? response.catch(onError) : response;
    },
    assertReached: () => source.assertReached(),
    /** The cluster verifies its certificates at its own endpoint. */
    authenticateCertificate: async () => undefined,
    issueClientCertificate: (request, signal) =>
      withConnection(signal, ({ client }) => issueClientCertificate(client, request, deps, signal)),
    async provision() {},
    bindRoles: (clusterRoles, signal) =>
      withConnection(signal, ({ client }) => bindRoles(client, clusterRoles, { names, scheduler }, signal)),
    async health(signal) {
      const health = await probeHealth((bounded) => source.connect({ signal: bounded }), { scheduler }, signal);
      if (!health.ready && health.reason === "CredentialRefused") source.invalidate();
      return health;
    },
  };
}
