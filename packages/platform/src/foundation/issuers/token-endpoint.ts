// The token endpoint of OAuth: features register the grants that they answer, and all respond in its form.
// Source: RFC 6749

import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type ApiResponse, jsonResponse, type ResponseHeaders } from "@postern/apiserver/transport/api-response";
import { MAX_TOKEN_LENGTH } from "./signed-token.ts";

export const TOKEN_ENDPOINT_PATH = "/oauth/token";

/** Bytes of a form with a token: everything else in it is short. */
export const MAX_TOKEN_FORM_BYTES = MAX_TOKEN_LENGTH + 8 * 1024;

/** By `grant_type`. */
export type TokenGrants = {
  readonly [grantType: string]: (form: URLSearchParams, context: RequestContext) => Promise<ApiResponse>;
};

/** It must not be cached: section 5.1. */
export const oauthAnswer = (status: number, body: object, headers: ResponseHeaders = {}): ApiResponse =>
  jsonResponse(status, JSON.stringify(body), { "cache-control": "no-store", pragma: "no-cache", ...headers });

export const oauthFailure = (error: string, description: string, status = 400): ApiResponse =>
  oauthAnswer(status, { error, error_description: description });
