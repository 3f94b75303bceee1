// A Kubernetes cluster for tests of its backend: an embedded one, served by itself over real TLS behind the whole handler chain.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import { silentLogger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { presentedToken } from "@postern/apiserver/request/credentials";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { serveHandler, serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { onTestFinished } from "vitest";
import { buildKubeconfig } from "../../../../foundation/kubeconfig/kubeconfig.ts";
import { createEmbeddedHost, type EmbeddedHost } from "../../embedded/testing/embedded-host.ts";

export const UID = "inner";
export const ADMIN_TOKEN = "platform-credential";

export type ServedCluster = {
  readonly url: string;
  readonly certificateAuthorityPem: string;
  /** An administrator's. */
  readonly kubeConfig: string;
  readonly host: EmbeddedHost;
  /** Requests that have come in. */
  readonly requests: readonly ApiRequest[];
  /** Runs as the administrator, past the network. */
  admin(method: string, url: string, body?: unknown): Promise<any>;
};

export type ServeClusterOptions = {
  /** Answers instead of the cluster where it gives something. */
  readonly intercept?: (request: ApiRequest) => ApiResponse | undefined | Promise<ApiResponse | undefined>;
  /** Owner of the credential in the kubeconfig. */
  readonly user?: UserInfo;
};

const administrator: UserInfo = { name: "platform", groups: ["system:masters", "system:authenticated"] };

export async function serveCluster({
  intercept,
  user = administrator,
}: ServeClusterOptions = {}): Promise<ServedCluster> {
  const host = await createEmbeddedHost();
  await host.setUp(UID);
  const cluster = await host.clusters.open(UID);
  const requests: ApiRequest[] = [];
  const chain = createHandlerChain((context) => cluster.handle(context, context.user), {
    runtime: systemRuntime,
    logger: silentLogger,
    metrics: createServerMetrics(),
    isServed: () => true,
    // The cluster's own RBAC decides about requests; the permission of the platform's credential to impersonate is granted here.
    authorizer: { authorize: () => ({ verdict: "allow", reason: "" }) },
    authenticator: {
      authenticate(request) {
        const token = presentedToken(request);
        if (token === undefined) return undefined;
        if (token !== ADMIN_TOKEN) throw unauthorizedError();
        return { user };
      },
    },
  });
  const { port } = await serveHandler(async (request) => {
    requests.push(request);
    return (await intercept?.(request)) ?? (await chain(request));
  });
  onTestFinished(() => host[Symbol.asyncDispose]());
  const url = `https://127.0.0.1:${port}`;
  return {
    url,
    certificateAuthorityPem: serverCertificate.cert,
    kubeConfig: buildKubeconfig({
      name: "tenant",
      server: url,
      certificateAuthorityPem: serverCertificate.cert,
      credential: { token: ADMIN_TOKEN },
    }),
    host,
    requests,
    admin: async (method, path, body) =>
      (await host.request(UID, { method, url: path, ...(body === undefined ? {} : { body }) })).body,
  };
}
