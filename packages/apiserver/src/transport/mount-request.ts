// The same request as a server sees it that answers below a path prefix.

import type { ApiRequest } from "./api-request.ts";

/** Undefined when the path is not below `basePath`, which begins with a slash and does not end in one. */
export function mountRequest(request: ApiRequest, basePath: string): ApiRequest | undefined {
  const { path } = request;
  if (!path.startsWith(basePath)) return undefined;
  const rest = path.slice(basePath.length);
  if (rest !== "" && !rest.startsWith("/")) return undefined;
  // Only members of the interface, one by one: a copy by spread would compute the lazy ones.
  return {
    method: request.method,
    path: rest === "" ? "/" : rest,
    basePath: request.basePath + basePath,
    get query() {
      return request.query;
    },
    requestUri: request.requestUri,
    headers: request.headers,
    httpVersion: request.httpVersion,
    remoteAddress: request.remoteAddress,
    host: request.host,
    peerCertificate: () => request.peerCertificate(),
    body: (limitBytes) => request.body(limitBytes),
    bodyStream: () => request.bodyStream(),
    ...(request.upgrade === undefined ? {} : { upgrade: request.upgrade }),
    get signal() {
      return request.signal;
    },
    ...(request.abort === undefined ? {} : { abort: (reason: unknown) => request.abort?.(reason) }),
    ...(request.serverStopping === undefined ? {} : { serverStopping: request.serverStopping }),
  };
}
