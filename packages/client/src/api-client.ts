// Sends requests to a Kubernetes API: authenticates, decodes JSON, throws errors, and waits if the server asks for it.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Status, StatusReason } from "@postern/apimachinery/meta/status";
import { type Delay, systemDelay } from "./delay.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport/transport.ts";

export type ApiRequest = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Starts with a slash; segments are escaped already. */
  readonly path: string;
  /** Absent and undefined members are left out. */
  readonly query?: Query;
  readonly body?: JsonValue;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
};

export type Query = { readonly [name: string]: string | number | boolean | undefined };

export type ApiClientOptions = {
  readonly transport: Transport;
  /** The bearer token, or where to ask for it before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly userAgent?: string;
  /** Texts of `Warning` headers, which servers use for deprecated fields and suspicious values. */
  readonly onWarning?: (text: string) => void;
  readonly delay?: Delay;
};

export type ApiClient = {
  /** The response body; undefined if it is empty. Throws ApiError for every response that is not successful. */
  request(request: ApiRequest): Promise<JsonValue | undefined>;
  /** The response while its body arrives. Throws as `request` does. */
  stream(request: ApiRequest): Promise<TransportResponse>;
};

/** A busy server says when to retry; after this many retries the request fails. The same as in client-go. */
const MAX_RETRIES = 10;

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { transport, token, userAgent = "postern-client", onWarning, delay = systemDelay } = options;

  async function stream(request: ApiRequest): Promise<TransportResponse> {
    for (let attempt = 0; ; attempt++) {
      const bearer = typeof token === "function" ? await token() : token;
      const response = await transport.send(toTransportRequest(request, userAgent, bearer));
      for (const text of warningTexts(response.header("warning"))) onWarning?.(text);
      if (response.status >= 200 && response.status < 300) return response;
      const error = responseError(response.status, parseOrUndefined(await readText(response)));
      const waitSeconds = retryAfterSeconds(response);
      if (waitSeconds === undefined || attempt >= MAX_RETRIES) throw error;
      await delay(waitSeconds * 1000, request.signal);
    }
  }

  return {
    stream,
    async request(request) {
      const text = await readText(await stream(request));
      return text === "" ? undefined : parseJson(text);
    },
  };
}

function toTransportRequest(request: ApiRequest, userAgent: string, token: string | undefined): TransportRequest {
  const {
    method,
    path,
    query = {},
    body,
    contentType = "application/json",
    accept = "application/json",
    signal,
  } = request;
  return {
    method,
    path: path + formatQuery(query),
    headers: {
      accept,
      "user-agent": userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": contentType }),
    },
    ...(body === undefined ? {} : { body: stringifyJson(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function formatQuery(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}

async function readText({ body }: TransportResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

function parseOrUndefined(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Only 429 and 503 promise that the request was not carried out, so that sending it again is safe for every verb. */
function retryAfterSeconds(response: TransportResponse): number | undefined {
  if (response.status !== 429 && response.status !== 503) return undefined;
  const header = response.header("retry-after") ?? "";
  return /^\d{1,4}$/.test(header) ? Number(header) : undefined;
}

/** The texts of RFC 7234 warnings, `299 - "text"`. One header can hold several. */
function warningTexts(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  return [...header.matchAll(/\b\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replaceAll(/\\(.)/g, "$1"),
  );
}

// Converts an error response of the server into an ApiError.
// Source: k8s.io/apimachinery/pkg/api/errors/errors.go (NewGenericServerResponse)

/** The default reason and message for a code whose body is not a Status, as a proxy in between may send. */
const GENERIC: { readonly [code: number]: { readonly reason: StatusReason; readonly message: string } } = {
  400: { reason: "BadRequest", message: "the server rejected our request for an unknown reason" },
  401: { reason: "Unauthorized", message: "the server has asked for the client to provide credentials" },
  403: { reason: "Forbidden", message: "the server does not allow this request" },
  404: { reason: "NotFound", message: "the server could not find the requested resource" },
  405: { reason: "MethodNotAllowed", message: "the server does not allow this method on the requested resource" },
  406: { reason: "NotAcceptable", message: "the server could not answer in an accepted format" },
  409: { reason: "Conflict", message: "the server reported a conflict" },
  410: { reason: "Expired", message: "the requested version is no longer available" },
  413: { reason: "RequestEntityTooLarge", message: "the request is too large for the server" },
  415: { reason: "UnsupportedMediaType", message: "the server does not know the format of the request" },
  422: { reason: "Invalid", message: "the server rejected our request due to an error in our request" },
  429: { reason: "TooManyRequests", message: "the server has received too many requests: try again later" },
  500: { reason: "InternalError", message: "an error on the server has prevented the request from succeeding" },
  503: { reason: "ServiceUnavailable", message: "the server is currently unable to handle the request" },
  504: { reason: "Timeout", message: "the server did not answer in the time it was given" },
};

/** `body` is the parsed body, or undefined when it was not JSON. */
export function responseError(code: number, body: JsonValue | undefined): ApiError {
  if (isStatus(body)) return statusError(body, code);
  const generic = GENERIC[code] ?? { reason: "" as const, message: `the server answered with code ${code}` };
  return new ApiError({ code, ...generic });
}

/** The ApiError for a Status; `code` if the Status has none. */
export function statusError(status: Status, code = 500): ApiError {
  return new ApiError({
    code: status.code ?? code,
    reason: status.reason ?? "",
    message: status.message ?? "the server gave no reason",
    ...(status.details === undefined ? {} : { details: status.details }),
    metadata: status.metadata ?? {},
  });
}

export const isStatus = (value: unknown): value is Status => isJsonObject(value) && value["kind"] === "Status";
