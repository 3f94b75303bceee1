// Headers, codings, entity tags and rate that files and pages for browsers share.

import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import type { ResponseHeaders } from "@postern/apiserver/transport/api-response";

/** A first page loads up to 12 files, and all people of an office may share one address. The files are in memory, and browsers keep them. */
export const PER_SOURCE = { qps: 200, burst: 2000 };

export const PUBLIC_HEADERS: ResponseHeaders = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

/** Whether the client has the content already, by its entity tag. */
export const isKnown = (etag: string, request: ApiRequest): boolean =>
  headerOf(request, "if-none-match")
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .includes(etag);

/** The better of the codings that the client accepts; undefined for none. */
export function codingOf(request: ApiRequest): "br" | "gzip" | undefined {
  const accepted = headerOf(request, "accept-encoding")
    .split(",")
    .map((coding) => coding.trim());
  return (["br", "gzip"] as const).find((known) => accepted.includes(known));
}
