// A request for tests of authenticators: nothing in it but what the test gives.

import { type ApiRequest, type RequestParts, requestOf } from "../../transport/api-request.ts";

export const headerlessRequest = (parts: Partial<RequestParts>): ApiRequest =>
  requestOf({
    method: "GET",
    path: "/api",
    basePath: "",
    query: new URLSearchParams(),
    requestUri: "/api",
    headers: {},
    httpVersion: "1.1",
    remoteAddress: "127.0.0.1",
    host: "localhost",
    peerCertificate: () => undefined,
    body: () => Promise.resolve(new Uint8Array()),
    bodyStream: () => {
      throw new Error("the request has no body");
    },
    signal: new AbortController().signal,
    ...parts,
  });
