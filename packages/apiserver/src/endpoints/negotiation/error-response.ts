// Responds with a Status, in an accepted encoding if possible.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go (ErrorNegotiated)

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";
import { type ApiResponse, jsonResponse } from "../../transport/api-response.ts";
import { encodeObject } from "./encode-object.ts";
import {
  formatOf,
  negotiateMediaType,
  OUTPUT_MEDIA_TYPES,
  type OutputMedia,
  PLAIN_OUTPUT,
  wantsPretty,
} from "./negotiate-output.ts";
import { contentTypeOf } from "./object-response.ts";

const STATUS_OUTPUT = { ...PLAIN_OUTPUT, allowsStream: (stream: string) => stream === "watch" };

/** Never fails: clients that accept none of our types get JSON. */
export function errorResponse(request: Pick<ApiRequest, "method" | "query" | "headers">, error: ApiError): ApiResponse {
  const choice = negotiateMediaType(headerOf(request, "accept"), OUTPUT_MEDIA_TYPES, STATUS_OUTPUT);
  const output: OutputMedia = {
    format: formatOf(choice?.mediaType),
    pretty: choice?.pretty === true || wantsPretty(request),
  };
  const retryAfter = error.details?.retryAfterSeconds ?? 0;
  return jsonResponse(error.code, request.method === "HEAD" ? "" : encodeObject(error.toStatus(), output), {
    "x-content-type-options": "nosniff",
    ...contentTypeOf(output),
    ...(retryAfter > 0 ? { "retry-after": String(retryAfter) } : {}),
  });
}
