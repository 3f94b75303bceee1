// Responses in the words of SCIM: resources, lists and errors.
// Source: RFC 7644 sections 3.4.2 and 3.12

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { errorResponse } from "@postern/apiserver/endpoints/negotiation/error-response";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { ScimErrorType } from "./scim-fault.ts";

const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";

const HEADERS = {
  "content-type": "application/scim+json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export const scimResponse = (
  status: number,
  body: JsonObject,
  headers: { readonly [name: string]: string } = {},
): ApiResponse => textResponse(status, JSON.stringify(body), headers);

const textResponse = (
  status: number,
  text: string,
  headers: { readonly [name: string]: string } = {},
): ApiResponse => ({ status, headers: { ...HEADERS, ...headers }, body: { type: "bytes", bytes: text } });

export const NO_CONTENT: ApiResponse = {
  status: 204,
  headers: { "x-content-type-options": "nosniff" },
  body: { type: "bytes", bytes: "" },
};

/** One page of a list, as JSON texts; `startIndex` is that of its first resource, counted from 1. */
export const listResponse = (
  page: readonly string[],
  { totalResults, startIndex }: { readonly totalResults: number; readonly startIndex: number },
): ApiResponse => {
  const head = JSON.stringify({ schemas: [LIST], totalResults, startIndex, itemsPerPage: page.length });
  return textResponse(200, `${head.slice(0, -"}".length)},"Resources":[${page.join(",")}]}`);
};

export const scimError = (status: number, detail: string, scimType: ScimErrorType = ""): ApiResponse =>
  scimResponse(status, {
    schemas: [ERROR],
    status: String(status),
    detail,
    ...(scimType === "" ? {} : { scimType }),
  });

/** For errors of the chain, and of the API behind the routes. */
export function scimErrorResponse(request: ApiRequest, error: ApiError): ApiResponse {
  const { headers } = errorResponse(request, error);
  const { body, ...response } = scimError(error.code, error.message);
  return {
    ...response,
    headers: { ...headers, ...HEADERS },
    body: request.method === "HEAD" ? { type: "bytes", bytes: "" } : body,
  };
}
