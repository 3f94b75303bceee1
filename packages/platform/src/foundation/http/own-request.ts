// Requests of the server to itself, without a socket.

import { Readable } from "node:stream";
import { type ApiRequest, requestOf } from "@postern/apiserver/transport/api-request";

/** The content type is for a body that is not empty. */
export function ownRequest(request: {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: { readonly [name: string]: string };
  readonly contentType: string;
  readonly text: string;
  /** The address of the client for which it is sent. */
  readonly from: string;
  readonly signal: AbortSignal;
}): ApiRequest {
  const { method, path, query, headers, contentType, text, from, signal } = request;
  return requestOf({
    method,
    path,
    basePath: "",
    query,
    requestUri: query.size === 0 ? path : `${path}?${query}`,
    headers: { accept: "application/json", ...headers, ...(text === "" ? {} : { "content-type": contentType }) },
    httpVersion: "1.1",
    remoteAddress: from,
    host: "localhost",
    peerCertificate: () => undefined,
    body: () => Promise.resolve(Buffer.from(text)),
    bodyStream: () => Readable.from([text]),
    signal,
  });
}
