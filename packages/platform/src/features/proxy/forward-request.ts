// Forwards a request over HTTP, and relays the response without buffering. The index of OpenAPI v3 is rewritten to the paths of the platform, which
// `kubectl explain` requests.

import type { Readable } from "node:stream";
import { caught } from "@postern/apimachinery/steps/caught";
import { textBefore } from "@postern/apimachinery/text/trim-trailing";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { type HeaderList, withoutHeaders } from "../../foundation/upstream/header-list.ts";
import type { UpstreamConnections } from "../../foundation/upstream/upstream-connections.ts";
import type { UpstreamRequest } from "../../foundation/upstream/upstream-exchange.ts";
import { badGatewayError, credentialRefusedError } from "../../foundation/upstream/upstream-failure.ts";
import type { UpstreamResponse } from "../../foundation/upstream/upstream-response.ts";
import { bodyHeaders } from "./forwarded-headers.ts";
import { isOpenApiIndex, relayOpenApiIndex } from "./relay-openapi-index.ts";
import { relayResponse } from "./relay-response.ts";
import { returnedHeaders, returnedLocation } from "./returned-headers.ts";
import type { StreamTap } from "./stream-tap.ts";

/** A request as the target is to get it. */
export type ForwardedRequest = {
  /** As the caller sent it. */
  readonly request: ApiRequest;
  /** Path and query at the target. */
  readonly path: string;
  readonly headers: HeaderList;
  /** Among the headers; "" for none. */
  readonly auditId: string;
  /** Ends it early. */
  readonly context: Pick<RequestContext, "signal" | "onAbort">;
  /** Its bytes pass through this once it has left HTTP. Absent: through nothing. */
  readonly tap?: StreamTap | undefined;
};

/** Nothing of either body is kept. Fails with ApiErrors. */
export const forwardRequest = (
  forwarded: ForwardedRequest,
  expected: Pick<UpstreamRequest, "lasts" | "answersAtOnce">,
  connections: UpstreamConnections,
): Awaitable<ApiResponse> =>
  whenDone(bodyOf(forwarded.request), (body) => {
    const { request, path, headers, auditId, context } = forwarded;
    const sent = isOpenApiIndex(withoutQuery(path)) ? withoutHeaders(headers, ["accept-encoding"]) : headers;
    const id = auditId === "" ? {} : { auditId };
    const asked = { method: request.method, path, headers: sent, signal: context, ...id, ...expected };
    const response =
      body === undefined
        ? connections.send(asked)
        : connections.send({ ...asked, headers: [...sent, ...bodyHeaders(request)], body });
    return response.then((answer) => respondWith(answer, request, path, connections));
  });

/** The target's response as the caller gets it. Throws ApiError 502 for one that is not for the caller. */
export function respondWith(
  response: UpstreamResponse,
  request: ApiRequest,
  path: string,
  { target }: UpstreamConnections,
): ApiResponse {
  try {
    refuseUnknownStatus(response);
    refuseUnauthorized(response, path);
    const place = { server: target.server, path: withoutQuery(path), basePath: request.basePath };
    const returned = returnedHeaders(response.headers, returnedLocation(response.headers, place));
    const isIndex = response.statusCode === 200 && request.method === "GET" && isOpenApiIndex(place.path);
    if (isIndex && response.headers["content-encoding"] === undefined) {
      return relayOpenApiIndex(response, returned, place);
    }
    return relayResponse(response, returned, request.method);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/** HTTP/2 has no others. */
function refuseUnknownStatus({ statusCode }: UpstreamResponse): void {
  if (statusCode >= 200 && statusCode <= 599) return;
  throw badGatewayError({ reason: "InvalidResponse", message: `${statusCode} is no status of HTTP` });
}

/** Behind it are the servers of pods, which ask for passwords of their own. */
const PROXY_SUBRESOURCE = /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(?:\/|$)/;

/** The caller has shown who it is: what the target refuses is our own credential, and a new login would change nothing. */
function refuseUnauthorized({ statusCode }: UpstreamResponse, path: string): void {
  if (statusCode !== 401 || PROXY_SUBRESOURCE.test(withoutQuery(path))) return;
  throw credentialRefusedError();
}

const withoutQuery = (path: string): string => textBefore(path, "?");

/** Undefined when the request has no body. An HTTP/2 request need not say so in advance: its first bytes, or its end, are awaited. */
function bodyOf(request: ApiRequest): Awaitable<Readable | undefined> {
  const length = request.headers["content-length"];
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  if (length === "0" || (length === undefined && !isChunked && request.httpVersion === "1.1")) return undefined;
  // Node's streams all are; the port names less.
  const stream = request.bodyStream() as Readable;
  if (length !== undefined || isChunked) return stream;
  return hasContent(stream).then((content) => (content ? stream : undefined));
}

function hasContent(stream: Readable): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (content: boolean): void => {
      stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onEnd);
      resolve(content);
    };
    const onEnd = caught(reject, () => settle(false));
    const onReadable = caught(reject, () => {
      const chunk: unknown = stream.read();
      if (chunk === null) return;
      stream.unshift(chunk);
      settle(true);
    });
    if (stream.readableEnded || stream.destroyed) resolve(false);
    else stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  });
}
