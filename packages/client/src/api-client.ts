// Sends requests to a Kubernetes API: authenticates, decodes JSON, throws errors, and waits if the server asks for it.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { type Delay, systemDelay } from "./delay.ts";
import { responseError } from "./response-error.ts";
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
  /** Proves possession of a key pair in each request with the token. Default: the token is a bearer token. */
  readonly proof?: RequestProof | undefined;
  readonly userAgent?: string;
  /** Texts of `Warning` headers, which servers use for deprecated fields and suspicious values. */
  readonly onWarning?: (text: string) => void;
  readonly delay?: Delay;
};

/** Source: RFC 9449 */
export type RequestProof = {
  /** In place of `authorization`. */
  headers(
    request: Pick<TransportRequest, "method" | "path">,
    token: string,
  ): Promise<{ readonly [name: string]: string }>;
  /** Called with each response. True where the server asks for another proof: the request is sent again, once. */
  isWantedAgain(response: Pick<TransportResponse, "status" | "header">): boolean;
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
  const { transport, token, proof, userAgent = "postern-client", onWarning, delay = systemDelay } = options;

  async function stream(request: ApiRequest): Promise<TransportResponse> {
    let isProvenAgain = false;
    for (let attempt = 0; ; attempt++) {
      const bearer = typeof token === "function" ? await token() : token;
      const sent = toTransportRequest(request, userAgent, bearer);
      const proven = bearer === undefined ? undefined : await proof?.headers(sent, bearer);
      const response = await transport.send(
        proven === undefined ? sent : { ...sent, headers: { ...sent.headers, ...proven } },
      );
      if (proof?.isWantedAgain(response) === true && !isProvenAgain) {
        isProvenAgain = true;
        await readText(response);
        continue;
      }
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
