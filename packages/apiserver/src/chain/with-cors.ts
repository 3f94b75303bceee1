// Lets pages of listed origins call the API from a browser.
// Source: k8s.io/apiserver/pkg/server/filters/cors.go

import { headerOf } from "../transport/api-request.ts";
import { type ResponseHeaders, withHeaders } from "../transport/api-response.ts";
import type { Handler } from "./handler.ts";

export type CorsOptions = {
  /** Whole origins, such as `https://console.example.com`. None is listed by default. */
  readonly allowedOrigins: readonly string[];
};

const METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH";
const REQUEST_HEADERS =
  "Content-Type, Content-Length, Accept-Encoding, Authorization, X-Requested-With, If-Modified-Since";

export function withCors(next: Handler, { cors }: { readonly cors?: CorsOptions | undefined }): Handler {
  if (cors === undefined || cors.allowedOrigins.length === 0) return next;
  const allowed = new Set(cors.allowedOrigins);
  return async (context) => {
    const { request } = context;
    const origin = headerOf(request, "origin");
    if (!allowed.has(origin)) return next(context);
    // No credentials: the browser has none of ours, callers send their token themselves.
    const headers: ResponseHeaders = {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-expose-headers": "Date, Warning, Audit-Id, Retry-After",
      vary: "Origin",
    };
    if (request.method === "OPTIONS") return { status: 204, headers, body: { type: "bytes", bytes: "" } };
    return withHeaders(await next(context), headers);
  };
}
