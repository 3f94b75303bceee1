// Forwards a request over HTTP, and relays the response without buffering. The index of OpenAPI v3 is rewritten to the paths of the platform, which
// `kubectl explain` requests.

import type { ClientRequest, IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { asError, caught } from "@postern/apimachinery/steps/caught";
import { textBefore, trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import {
  type ApiResponse,
  type ByteSink,
  PeerFault,
  type ResponseHeaders,
} from "@postern/apiserver/transport/api-response";
import { bodyHeaders, type HeaderValues } from "./forwarded-headers.ts";
import { returnedHeaders, returnedLocation } from "./returned-headers.ts";
import type { UpstreamConnections } from "./upstream-connections.ts";
import type { UpstreamRequest } from "./upstream-exchange.ts";
import { badGatewayError, credentialRefusedError, unaskedUpgradeError } from "./upstream-failure.ts";

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
    refuseUnknownStatus(response);
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

/** HTTP/2 has no others, and 101 is an answer to an upgrade alone. */
function refuseUnknownStatus({ statusCode = 0 }: IncomingMessage): void {
  if (statusCode >= 200 && statusCode <= 599) return;
  if (statusCode === 101) throw unaskedUpgradeError();
  throw badGatewayError({ reason: "InvalidResponse", message: `${statusCode} is no status of HTTP` });
}

/** Behind it are the servers of pods, which ask for passwords of their own. */
const PROXY_SUBRESOURCE = /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(?:\/|$)/;

/** The caller has shown who it is: what the target refuses is our own credential, and a new login would change nothing. */
function refuseUnauthorized({ statusCode }: IncomingMessage, path: string): void {
  if (statusCode !== 401 || PROXY_SUBRESOURCE.test(withoutQuery(path))) return;
  throw credentialRefusedError();
}

const withoutQuery = (path: string): string => textBefore(path, "?");

// Hands the body of a request on as it arrives, no faster than the target takes it.

/** Undefined when the request has no body. An HTTP/2 request need not say so in advance: its first bytes, or its end, are awaited. */
async function bodyOf(request: ApiRequest): Promise<Readable | undefined> {
  const length = request.headers["content-length"];
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  if (length === "0" || (length === undefined && !isChunked && request.httpVersion === "1.1")) return undefined;
  // Node's streams all are; the port names less.
  const stream = request.bodyStream() as Readable;
  return length === undefined && !isChunked && !(await hasContent(stream)) ? undefined : stream;
}

/** Ends `upstream` with the body. A body that breaks off breaks the request off: it never looks whole. */
function pipeBody(body: Readable, upstream: ClientRequest): void {
  const fail = (error: unknown): void => void upstream.destroy(asError(error));
  const onClose = caught(fail, () => {
    if (!body.readableEnded) upstream.destroy();
  });
  const onError = (): void => void upstream.destroy();
  const onUpstreamClose = (): void => {
    body.off("close", onClose);
    body.unpipe(upstream);
  };
  body.on("close", onClose).on("error", onError);
  upstream.once("close", caught(fail, onUpstreamClose));
  body.pipe(upstream);
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

// Hands the response of a target on as it arrives, no faster than the caller takes it.

/** RFC 9110, sections 15.3.6 and 15.4.5: what a 204 or 205 has for a body is not for its reader, and a 304 has the length of what was not sent. */
const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304;

function relayResponse(response: IncomingMessage, headers: ResponseHeaders): ApiResponse {
  const status = response.statusCode ?? 0;
  if (isBodiless(status)) {
    response.resume();
    const { "content-length": _, ...others } = headers;
    return { status, headers: status === 304 ? headers : others, body: { type: "bytes", bytes: "" } };
  }
  return { status, headers, body: { type: "stream", run: (sink, signal) => relay(response, sink, signal) } };
}

/** Rejects where the target breaks off or the signal aborts, so that the caller can tell that the response is not whole. */
async function relay(response: IncomingMessage, sink: ByteSink, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return abandon(response);
  const onAbort = (): void => void response.destroy(asError(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const chunk of response) {
      // The stream has no encoding set: its chunks are Buffers.
      const taken = sink.write(chunk as Buffer);
      const isOpen = typeof taken === "boolean" ? taken : await unlessAborted(taken, signal);
      // Leaving the loop closes the connection to the target.
      if (!isOpen) return;
    }
  } catch (error) {
    if (signal.aborted || !response.errored) throw error;
    throw new PeerFault("the target broke off its response", { cause: error });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Nobody reads it. A connection on which nothing is left to read may be used again. */
function abandon(response: IncomingMessage): void {
  if (response.complete) response.resume();
  else response.destroy();
}

/** Not a race with one promise for all chunks, which would collect reactions for as long as the stream lasts. */
function unlessAborted(taken: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    taken.finally(settled).then(resolve, reject);
  });
}

// Hands on the index of OpenAPI v3 with the paths of its documents as they stand at the platform: `kubectl explain` asks for those that it names.
// Source: k8s.io/kube-openapi/pkg/handler3/handler.go (serverRelativeURL)

/** A target with thousands of groups has less, and it is read in one go. */
const MAX_BYTES = 512 << 10;

type Place = {
  /** Base URL of the target. */
  readonly server: string;
  /** The base path of the target on the platform. */
  readonly basePath: string;
};

/** `path` as it is at the target, without the query. */
const isOpenApiIndex = (path: string): boolean => path === "/openapi/v3" || path === "/openapi/v3/";

/** Read as a whole: it must not be compressed. Rejects with ApiError 502 where it is larger than any. */
function relayOpenApiIndex(response: IncomingMessage, headers: ResponseHeaders, place: Place): ApiResponse {
  const { "content-length": _, ...others } = headers;
  const run: Extract<ApiResponse["body"], { readonly type: "stream" }>["run"] = async (sink, signal) => {
    const onAbort = (): void => void response.destroy();
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await sink.write(Buffer.from(placedHere(await readText(response), place)));
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
  return { status: response.statusCode ?? 0, headers: others, body: { type: "stream", run } };
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      throw badGatewayError({ reason: "ResponseTooLarge", message: "its OpenAPI index is too large" });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** As it was where it is no such index. */
function placedHere(text: string, { server, basePath }: Place): string {
  const root = trimTrailing(new URL(server).pathname, "/");
  try {
    const index: { paths?: { [name: string]: { serverRelativeURL?: unknown } } } = JSON.parse(text);
    for (const entry of Object.values(index.paths ?? {})) {
      const { serverRelativeURL: url } = entry;
      if (typeof url !== "string" || !url.startsWith(`${root}/`)) continue;
      entry.serverRelativeURL = `${basePath}/${url.slice(root.length).replace(/^\/+/, "")}`;
    }
    return JSON.stringify(index);
  } catch {
    return text;
  }
}
