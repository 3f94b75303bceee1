// Serves a handler behind the whole chain on a real TLS socket for the time of one test.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { Authenticator, Credential } from "../../authentication/authenticator.ts";
import type { Handler } from "../../context/request-context.ts";
import { silentLogger } from "../../logging/logger.ts";
import { createServerMetrics, type ServerMetrics } from "../../metrics/server-metrics.ts";
import { presentedToken } from "../../request/credentials.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import type { TrustedProxies } from "../../transport/addresses/trusted-proxies.ts";
import type { HttpTransport } from "../../transport/listener/http-transport.ts";
import { serveHandler } from "../../transport/testing/serve-handler.ts";
import { createHandlerChain, type HandlerChainDeps } from "../handler-chain.ts";

export type ServedChain = {
  readonly port: number;
  readonly transport: HttpTransport;
  readonly metrics: ServerMetrics;
};

/** The token `<name>-token` is that of the user `<name>`; admin is in group admins, who may do everything. */
export function tokensOfUsers(credentials: { readonly [token: string]: Credential } = {}): Authenticator {
  return {
    authenticate(request) {
      const token = presentedToken(request);
      if (token === undefined) return undefined;
      const [, name] = /^(admin|alice|bob)-token$/.exec(token) ?? [];
      if (name === undefined) throw unauthorizedError();
      const user = { name, groups: name === "admin" ? ["admins"] : ["devs"] };
      const credential = credentials[token];
      return credential === undefined ? { user } : { user, credential };
    },
  };
}

const PUBLIC = ["/healthz", "/livez", "/readyz", "/version"];

export const adminsOnly: HandlerChainDeps["authorizer"] = {
  authorize: ({ user, isResourceRequest, path }) =>
    user.groups.includes("admins") || (!isResourceRequest && PUBLIC.includes(path))
      ? { verdict: "allow", reason: "" }
      : { verdict: "no-opinion", reason: "" },
};

export async function serveChain(
  handler: Handler,
  overrides: Partial<HandlerChainDeps> = {},
  trustedProxies?: TrustedProxies,
): Promise<ServedChain> {
  const metrics = createServerMetrics();
  const chain = createHandlerChain(handler, {
    runtime: systemRuntime,
    logger: silentLogger,
    metrics,
    authenticator: tokensOfUsers(),
    authorizer: adminsOnly,
    isServed: () => true,
    ...overrides,
  });
  return { ...(await serveHandler(chain, {}, { trustedProxies })), metrics };
}

export const PODS = "/api/v1/namespaces/default/pods";

/** The headers of a user of `tokensOfUsers`. */
export const as = (name: string) => ({ authorization: `Bearer ${name}-token` });
