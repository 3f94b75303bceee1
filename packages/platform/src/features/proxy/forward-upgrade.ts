// Forwards upgraded connections: exec, attach, port-forward, and watches of browsers.
// Source: k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { badRequestError, forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf, type UpgradeRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { withoutHeaders } from "../../foundation/upstream/header-list.ts";
import type { UpstreamConnections } from "../../foundation/upstream/upstream-connections.ts";
import { badGatewayError } from "../../foundation/upstream/upstream-failure.ts";
import { type ForwardedRequest, respondWith } from "./forward-request.ts";
import { withUpgradeHeaders } from "./forwarded-headers.ts";
import { switchingProtocols } from "./returned-headers.ts";
import { type SpliceOptions, spliceSockets } from "./splice-sockets.ts";

const WEB_SOCKET = "websocket";
/** Protocols of Kubernetes. Requests for any other are forwarded as plain HTTP, as RFC 9110 allows. */
const PROTOCOLS: readonly string[] = [WEB_SOCKET, "spdy/3.1"];

/** The upgrade of a request that is to be passed on as one. */
export function forwardableUpgrade({ upgrade }: Pick<ApiRequest, "upgrade">): UpgradeRequest | undefined {
  return upgrade !== undefined && PROTOCOLS.includes(upgrade.protocol.toLowerCase()) ? upgrade : undefined;
}

export type OriginRule = (origin: string) => boolean;

export type UpgradeDeps = Omit<SpliceOptions, "signal" | "through"> & {
  /** Origins of pages that may open WebSockets, beside the platform's own. */
  readonly isAllowedOrigin: OriginRule;
};

/**
 * The caller gets a 101 only where the target has said 101 to it; any other response is handed on, and both connections are closed
 * behind it. Throws ApiErrors.
 */
export async function forwardUpgrade(
  { request, path, headers, context, tap }: ForwardedRequest,
  upgrade: UpgradeRequest,
  connections: UpstreamConnections,
  { isAllowedOrigin, scheduler, halfOpenTimeoutMs }: UpgradeDeps,
): Promise<ApiResponse> {
  refuseStrangeOrigin(request, isAllowedOrigin);
  refuseBody(request);
  const upgradeHeaders = withUpgradeHeaders(headers, request);
  const answer = await connections.upgrade({
    method: request.method,
    path,
    // Compressed frames cannot be read on their way.
    headers: tap === undefined ? upgradeHeaders : withoutHeaders(upgradeHeaders, ["sec-websocket-extensions"]),
    upgrade: upgrade.protocol,
    lasts: true,
    signal: context,
  });
  if (answer.type === "response") return respondWith(answer.response, request, path, connections);

  const { headers: switched, socket } = answer;
  if (!goesOverTo(upgrade.protocol, switched, request)) {
    socket.destroy();
    throw badGatewayError({ reason: "UpgradeFailed", message: "it upgraded to another protocol than was requested" });
  }
  const through = tap && orClose(socket, () => tap.begin(switched));
  const client = orClose(socket, () => upgrade.accept());
  client.socket.write(switchingProtocols(switched), "latin1");
  const done = spliceSockets(
    client,
    { socket, head: NO_BYTES },
    { signal: context.signal, scheduler, halfOpenTimeoutMs, through },
  );
  return {
    status: 101,
    headers: {},
    body: { type: "upgraded", done: tap === undefined ? done : done.finally(() => tap.end()) },
  };
}

/** Closes what was opened for a client that has gone meanwhile, or gets no session. */
function orClose<T>(socket: Duplex, work: () => T): T {
  try {
    return work();
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Bytes behind the head are still to be read from the socket. */
const NO_BYTES = new Uint8Array(0);

/** A caller over HTTP/2 cannot check by itself whether the target has read the key of its WebSocket. */
function goesOverTo(protocol: string, headers: IncomingHttpHeaders, request: ApiRequest): boolean {
  if (headers.upgrade?.toLowerCase() !== protocol.toLowerCase()) return false;
  if (protocol.toLowerCase() !== WEB_SOCKET) return true;
  return headers["sec-websocket-accept"] === acceptOf(headerOf(request, "sec-websocket-key"));
}

/** RFC 6455, section 4.2.2. */
const acceptOf = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/**
 * A browser sends the client certificate of its user along for any page. Programs send no Origin, or that of the server itself.
 */
function refuseStrangeOrigin(request: ApiRequest, isAllowedOrigin: OriginRule): void {
  const origin = headerOf(request, "origin");
  if (origin === "" || isAllowedOrigin(origin)) return;
  const host = hostOf(origin);
  if (host === undefined || host !== hostOf(`https://${request.host}`)) {
    throw forbiddenPathError("upgrades from pages of other origins are not allowed");
  }
}

function hostOf(url: string): string | undefined {
  try {
    return new URL(url).host;
  } catch {
    return undefined;
  }
}

/** Bytes after the headers belong to the new protocol; a target that took them for a body would read both wrongly. */
function refuseBody({ headers }: ApiRequest): void {
  const length = headers["content-length"] ?? "0";
  if (length !== "0" || headers["transfer-encoding"] !== undefined) {
    throw badRequestError("a request that asks to leave HTTP cannot have a body");
  }
}
