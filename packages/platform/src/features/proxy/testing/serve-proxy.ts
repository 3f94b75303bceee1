// The platform's side of a proxy test: a handler on a real TLS socket that passes everything below one path on to a target.

import type { ClientHttp2Session } from "node:http2";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { toApiError } from "@postern/apiserver/chain/to-api-error";
import { errorResponse } from "@postern/apiserver/endpoints/negotiation/error-response";
import { resolveRequest } from "@postern/apiserver/request/request-info";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";
import { mountRequest } from "@postern/apiserver/transport/mount-request";
import { serveHandler } from "@postern/apiserver/transport/testing/serve-handler";
import { openHttp2 } from "@postern/apiserver/transport/testing/test-clients";
import { onTestFinished } from "vitest";
import { createAddressRules } from "../../../foundation/upstream/address-rules.ts";
import {
  createUpstreamConnections,
  type UpstreamConnections,
  type UpstreamDeps,
} from "../../../foundation/upstream/upstream-connections.ts";
import type { UpstreamTarget } from "../../../foundation/upstream/upstream-target.ts";
import { createReverseProxy, type ReverseProxyDeps } from "../reverse-proxy.ts";
import type { StreamTap } from "../stream-tap.ts";

/** Where the target stands at the platform. */
export const BASE = "/kubernetes/project/default/virtualcluster/demo";

export const alice: UserInfo = { name: "alice", groups: ["devs", "postern:role:edit", "system:authenticated"] };

/** The credential of the caller, which no target may see. */
export const CALLERS_KEY = "pst_callers_access_key";

export type ServedProxy = {
  readonly port: number;
  readonly connections: UpstreamConnections;
  /** Requests that have come in, the latest last. Their `abort` is what revocation calls. */
  readonly requests: readonly ApiRequest[];
  /** Errors that no handler has answered. */
  readonly faults: readonly unknown[];
};

export type ServeProxyOptions = Partial<UpstreamDeps> &
  Partial<ReverseProxyDeps> & { readonly user?: UserInfo; readonly tap?: () => StreamTap };

export function openConnections(target: UpstreamTarget, options: Partial<UpstreamDeps> = {}): UpstreamConnections {
  const { scheduler } = systemRuntime;
  const connections = createUpstreamConnections(target, { scheduler, addresses: createAddressRules(), ...options });
  onTestFinished(() => connections[Symbol.dispose]());
  return connections;
}

export async function serveProxy(target: UpstreamTarget, options: ServeProxyOptions = {}): Promise<ServedProxy> {
  const connections = openConnections(target, options);
  const { proxy } = createReverseProxy(connections, { scheduler: systemRuntime.scheduler, ...options });
  const requests: ApiRequest[] = [];
  const faults: unknown[] = [];
  const handler: ApiHandler = async (outer) => {
    requests.push(outer);
    const request = mountRequest(outer, BASE);
    if (request === undefined) throw new Error("a test asked for a path that is not proxied");
    const { info } = resolveRequest(request);
    const made = createTestContext({ url: "/" });
    const audit = { ...made.audit, auditId: `audit-${requests.length}` };
    const context = made.with({ request, info, audit });
    try {
      return await proxy(context, options.user ?? alice, options.tap?.());
    } catch (error) {
      const refusal = toApiError(error, request.signal);
      if (refusal === undefined) throw error;
      return errorResponse(request, refusal);
    }
  };
  const { port } = await serveHandler(handler, {}, { faults: { report: (error) => void faults.push(error) } });
  return { port, connections, requests, faults };
}

/** A connection over HTTP/2 that ends with the test. */
export function openSession(port: number): ClientHttp2Session {
  const session = openHttp2(port);
  onTestFinished(() => session.destroy());
  return session;
}
