// Makes the context of a request without a network, for tests of what lies behind the handler chain.

import { Readable } from "node:stream";
import type { UserInfo } from "../authentication/user-info.ts";
import { RequestContext } from "../context/request-context.ts";
import { resolveRequestInfo } from "../request/request-info.ts";
import { type ApiRequest, requestOf } from "../transport/api-request.ts";

export type TestRequest = {
  readonly method?: string;
  /** Path and query. */
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  /** Sent as it is, or as JSON when it is not a text. */
  readonly body?: unknown;
  readonly user?: UserInfo;
  /** Of the client. */
  readonly remoteAddress?: string;
  /** Aborted when the client goes away. Default: it stays. */
  readonly signal?: AbortSignal;
};

export const testAdmin: UserInfo = { name: "admin", groups: ["system:masters", "system:authenticated"] };

export function createTestContext({
  method = "GET",
  url,
  headers = {},
  body,
  user = testAdmin,
  remoteAddress = "127.0.0.1",
  signal = new AbortController().signal,
}: TestRequest): RequestContext {
  const { pathname, searchParams } = new URL(url, "https://test.invalid");
  const texts: string[] = [];
  return new RequestContext({
    request: createTestRequest({ method, url, pathname, searchParams, headers, body, remoteAddress, signal }),
    info: resolveRequestInfo(method, pathname, searchParams),
    user,
    warnings: {
      texts,
      add: (text) => {
        if (!texts.includes(text)) texts.push(text);
      },
    },
    audit: {
      auditId: "test",
      annotate: () => {},
      setUser: () => {},
      setImpersonatedUser: () => {},
      setObjectRef: () => {},
      setRequestObject: () => {},
    },
    receivedAt: 0,
  });
}

function createTestRequest(parts: {
  readonly method: string;
  readonly url: string;
  readonly pathname: string;
  readonly remoteAddress: string;
  readonly searchParams: URLSearchParams;
  readonly headers: { readonly [name: string]: string };
  readonly body: unknown;
  readonly signal: AbortSignal;
}): ApiRequest {
  const { method, url, pathname, remoteAddress, searchParams, headers, body, signal } = parts;
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const bytes = Buffer.from(text);
  return requestOf({
    method,
    path: pathname,
    basePath: "",
    query: searchParams,
    requestUri: url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    httpVersion: "2.0",
    remoteAddress,
    host: "test.invalid",
    peerCertificate: () => undefined,
    body: async () => bytes,
    bodyStream: () => Readable.from([bytes]),
    signal,
  });
}
