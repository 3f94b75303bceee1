// Sends requests to a server that may stand still or be gone at any time, over connections that stay open.

import { Agent, request } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { NothingDoneError } from "./record-history.ts";

export type ApiAnswer = { readonly status: number; readonly body: any };

export type ApiRequest = {
  readonly method?: string;
  /** A bearer token. */
  readonly key?: string;
  readonly body?: object;
  /** Fields of a form, in place of a body. */
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /** Default: a minute, within which the slowest machine answers. */
  readonly timeoutMs?: number;
};

export type ApiClient = Disposable & {
  /**
   * Rejects with StorageUnavailableError if no complete answer comes, so that the outcome is unknown, and with NothingDoneError if no server was
   * there.
   */
  send(path: string, options?: ApiRequest): Promise<ApiAnswer>;
};

const TIMEOUT_MS = 60_000;

/** `ca` in PEM. */
export function apiClient(url: string, ca: string): ApiClient {
  const agent = new Agent({ keepAlive: true, ca });
  return {
    send: (path, { method, key, body, form, headers: more = {}, contentType: type, timeoutMs = TIMEOUT_MS } = {}) =>
      new Promise((resolve, reject) => {
        const content = form !== undefined ? new URLSearchParams(form).toString() : body && JSON.stringify(body);
        const contentType = type ?? (form === undefined ? "application/json" : "application/x-www-form-urlencoded");
        const headers = {
          ...more,
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(content === undefined
            ? {}
            : { "content-type": contentType, "content-length": Buffer.byteLength(content) }),
        };
        const sent = request(`${url}${path}`, {
          agent,
          method: method ?? (content === undefined ? "GET" : "POST"),
          headers,
        });
        const fail = (error: Error & { readonly code?: string }): void => {
          clearTimeout(timer);
          const wasRefused = error.code === "ECONNREFUSED";
          reject(wasRefused ? new NothingDoneError() : new StorageUnavailableError("no answer", { cause: error }));
        };
        const timer = setTimeout(() => sent.destroy(new Error("no answer in time")), timeoutMs);
        sent.on("error", fail);
        sent.on("response", (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("error", fail);
          response.on("end", () => {
            clearTimeout(timer);
            resolve({ status: response.statusCode ?? 0, body: parsed(text) });
          });
        });
        sent.end(content);
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** So often client-go sends a request again that is answered with `Retry-After`. Source: k8s.io/client-go/rest/request.go */
const MOST_RETRIES = 10;
const isForLater = ({ status }: ApiAnswer): boolean => status === 429 || status >= 500;

/** Waits as clients of Kubernetes do where a server says when it can be asked again, as while a thread of a virtual cluster starts. */
export const patientClient = (client: ApiClient): ApiClient => ({
  async send(path, options) {
    for (let retries = 0; ; retries++) {
      const answer = await client.send(path, options);
      const seconds = answer.body?.details?.retryAfterSeconds;
      if (!isForLater(answer) || seconds === undefined || retries === MOST_RETRIES) return answer;
      await pause(seconds * 1_000);
    }
  },
  [Symbol.dispose]: () => client[Symbol.dispose](),
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
