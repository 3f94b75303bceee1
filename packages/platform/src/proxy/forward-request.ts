// Passes a request on that stays in HTTP.

import type { IncomingMessage } from "node:http";
import { textBefore } from "@postern/apimachinery/text/without-trailing";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { bodyHeaders, type HeaderValues } from "./forwarded-headers.ts";
import { isOpenApiIndex, relayOpenApiIndex } from "./relay-openapi-index.ts";
import { relayResponse } from "./relay-response.ts";
import { bodyOf, pipeBody } from "./request-body.ts";
import { returnedHeaders, returnedLocation } from "./returned-headers.ts";
import type { UpstreamConnections } from "./upstream-connections.ts";
import type { UpstreamRequest } from "./upstream-exchange.ts";
import { credentialRefusedError, unaskedUpgradeError } from "./upstream-failure.ts";

/** A request as the target is to get it. */
export type ForwardedRequest = {
  /** As the caller sent it. */
  readonly request: ApiRequest;
  /** Path and query at the target. */
  readonly path: string;
  readonly headers: HeaderValues;
  readonly signal: AbortSignal;
};

/** Nothing of either body is kept. Throws ApiErrors. */
export async function forwardRequest(
  { request, path, headers, signal }: ForwardedRequest,
  expected: Pick<UpstreamRequest, "lasts" | "answersAtOnce">,
  connections: UpstreamConnections,
): Promise<ApiResponse> {
  const body = await bodyOf(request);
  const { "accept-encoding": _, ...readable } = headers;
  const sent = isOpenApiIndex(withoutQuery(path)) ? readable : headers;
  const answer = await connections.send({
    method: request.method,
    path,
    headers: body === undefined ? sent : { ...sent, ...bodyHeaders(request) },
    signal,
    ...expected,
    ...(body === undefined ? {} : { writeBody: (upstream) => pipeBody(body, upstream) }),
  });
  if (answer.type === "response") return respondWith(answer.response, request, path, connections);
  answer.socket.destroy();
  throw unaskedUpgradeError();
}

/** The target's response as the caller gets it. Throws ApiError 502 for one that is not for the caller. */
export function respondWith(
  response: IncomingMessage,
  request: ApiRequest,
  path: string,
  { target }: UpstreamConnections,
): ApiResponse {
  try {
    if ((response.statusCode ?? 0) < 200) throw unaskedUpgradeError();
    refuseUnauthorized(response, path);
    const place = { server: target.server, path: withoutQuery(path), basePath: request.basePath };
    const returned = returnedHeaders(response.headers, returnedLocation(response.headers, place));
    const isIndex = response.statusCode === 200 && request.method === "GET" && isOpenApiIndex(place.path);
    if (isIndex && response.headers["content-encoding"] === undefined) {
      return relayOpenApiIndex(response, returned, place);
    }
    return relayResponse(response, returned);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/** Behind it are the servers of pods, which ask for passwords of their own. */
const PROXY_SUBRESOURCE = /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(?:\/|$)/;

/** The caller has shown who it is: what the target refuses is our own credential, and a new login would change nothing. */
function refuseUnauthorized({ statusCode }: IncomingMessage, path: string): void {
  if (statusCode !== 401 || PROXY_SUBRESOURCE.test(withoutQuery(path))) return;
  throw credentialRefusedError();
}

const withoutQuery = (path: string): string => textBefore(path, "?");
