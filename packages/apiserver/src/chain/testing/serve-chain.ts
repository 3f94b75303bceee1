// Serves a handler behind the whole chain on a real socket, for tests.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { Authenticator, Credential } from "../../authentication/authenticator.ts";
import { silentLogger } from "../../logging/logger.ts";
import { createServerMetrics, type ServerMetrics } from "../../metrics/server-metrics.ts";
import { presentedToken } from "../../request/bearer-token.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import { createHttpTransport, type HttpTransport } from "../../transport/http-transport.ts";
import { createTestCertificate, type TestCertificate } from "../../transport/testing/test-certificates.ts";
import type { Handler } from "../handler.ts";
import { createHandlerChain, type HandlerChainDeps } from "../handler-chain.ts";

export type ServedChain = AsyncDisposable & {
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

let certificate: TestCertificate | undefined;

export async function serveChain(handler: Handler, overrides: Partial<HandlerChainDeps> = {}): Promise<ServedChain> {
  certificate ??= createTestCertificate();
  const metrics = createServerMetrics();
  const chain = createHandlerChain(handler, {
    runtime: systemRuntime,
    logger: silentLogger,
    metrics,
    authenticator: tokensOfUsers(),
    authorizer: adminsOnly,
    ...overrides,
  });
  const transport = createHttpTransport({
    tls: certificate,
    bindAddress: "127.0.0.1",
    port: 0,
    handler: chain,
    logger: silentLogger,
    scheduler: systemRuntime.scheduler,
  });
  const { port } = await transport.listen();
  return { port, transport, metrics, [Symbol.asyncDispose]: () => transport.close({ drainMs: 0 }) };
}
