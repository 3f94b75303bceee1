// Responses of the OAuth routes of sign-in.

import { type ApiResponse, jsonResponse, type ResponseHeaders } from "@postern/apiserver/transport/api-response";

/** An OAuth error response. It must not be cached: RFC 6749 section 5.1. */
export const oauthAnswer = (status: number, body: object, headers: ResponseHeaders = {}): ApiResponse =>
  jsonResponse(status, JSON.stringify(body), { "cache-control": "no-store", pragma: "no-cache", ...headers });

export const oauthFailure = (error: string, description: string, status = 400): ApiResponse =>
  oauthAnswer(status, { error, error_description: description });
