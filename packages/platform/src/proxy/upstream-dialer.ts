// Opens requests to one target: its address, its TLS, and the connections that are kept for the next request.

import http, { type ClientRequest } from "node:http";
import https from "node:https";
import { createSecureContext } from "node:tls";
import { withoutTrailing } from "@postern/apimachinery/text/without-trailing";
import type { AddressRules } from "./address-rules.ts";
import { createGuardedLookup, type ResolveHost, refuseLiteral } from "./guarded-lookup.ts";
import type { ProxyTarget } from "./proxy-target.ts";
import type { UpstreamRequest } from "./upstream-exchange.ts";

export type UpstreamDialer = {
  /** Whoever opens a request writes its body, and ends it. Throws AddressRefusedError. */
  open(request: Pick<UpstreamRequest, "method" | "path" | "headers" | "upgrade">): ClientRequest;
  /** Closes the connections that were not upgraded. */
  close(): void;
};

export type UpstreamDialerDeps = {
  readonly addresses: AddressRules;
  readonly resolve: ResolveHost | undefined;
  readonly idleTimeoutMs: number;
};

const MAX_FREE_SOCKETS = 32;

/** Throws TypeError for a base URL that is none, and what OpenSSL says about certificates and keys that do not fit together. */
export function createUpstreamDialer(
  target: ProxyTarget,
  { addresses, resolve, idleTimeoutMs }: UpstreamDialerDeps,
): UpstreamDialer {
  const base = new URL(target.server);
  const isSecure = base.protocol === "https:";
  if (!isSecure && base.protocol !== "http:") throw new TypeError("the target must be an http or https URL");
  const { Agent, request } = isSecure ? https : http;
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const basePath = withoutTrailing(base.pathname, "/");
  const connection = {
    lookup: createGuardedLookup(addresses, resolve),
    ...(isSecure ? tlsOptionsOf(target) : {}),
  };
  const agent = new Agent({
    ...connection,
    keepAlive: true,
    maxFreeSockets: MAX_FREE_SOCKETS,
    timeout: idleTimeoutMs,
  });

  return {
    open({ method, path, headers, upgrade }) {
      refuseLiteral(host, addresses);
      return request({
        // An upgraded connection is nobody else's before or after: whatever comes of it, it is not used again.
        ...(upgrade === true ? { ...connection, agent: false } : { agent }),
        host,
        port: base.port === "" ? undefined : base.port,
        method,
        path: basePath + path,
        headers: { host: base.host, ...headers },
      });
    },
    close: () => agent.destroy(),
  };
}

/** Parsed once, so that no connection does it again. */
function tlsOptionsOf({ certificateAuthorityPem, tlsServerName, insecureSkipTlsVerify, credential }: ProxyTarget) {
  const { clientCertificate } = credential;
  const secureContext = createSecureContext({
    minVersion: "TLSv1.2",
    ...(certificateAuthorityPem === undefined ? {} : { ca: certificateAuthorityPem }),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.certificatePem, key: clientCertificate.privateKeyPem }),
  });
  return {
    secureContext,
    rejectUnauthorized: insecureSkipTlsVerify !== true,
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  };
}
