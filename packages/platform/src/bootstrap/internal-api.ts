// Sends requests to an API of this process, through its whole handler chain but without a socket.

import { Readable } from "node:stream";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { requestOf } from "@postern/apiserver/transport/api-request";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";

export type InternalAnswer = {
  readonly status: number;
  /** The object, or the Status of a refusal. */
  readonly body: JsonObject;
  /** The texts of its Warning headers. */
  readonly warnings: readonly string[];
};

export type InternalApi = {
  get(path: string): Promise<InternalAnswer>;
  /** A server-side apply. */
  apply(path: string, query: { readonly [name: string]: string }, configuration: JsonObject): Promise<InternalAnswer>;
};

export function createInternalApi(handle: ApiHandler, signal: AbortSignal): InternalApi {
  const send = async (method: string, path: string, query: URLSearchParams, text: string): Promise<InternalAnswer> => {
    const { status, headers, body } = await handle(
      requestOf({
        method,
        path,
        basePath: "",
        query,
        requestUri: query.size === 0 ? path : `${path}?${query}`,
        headers: {
          accept: "application/json",
          "user-agent": "postern/bootstrap",
          ...(text === "" ? {} : { "content-type": "application/apply-patch+yaml" }),
        },
        httpVersion: "1.1",
        remoteAddress: "127.0.0.1",
        host: "localhost",
        peerCertificate: () => undefined,
        body: () => Promise.resolve(Buffer.from(text)),
        bodyStream: () => Readable.from([text]),
        signal,
      }),
    );
    if (body.type !== "bytes") throw new Error(`${method} ${path} was answered with a ${body.type}`);
    const value = parseJson(Buffer.from(body.bytes));
    const warnings = [headers["warning"] ?? []].flat();
    return { status, body: isJsonObject(value) ? value : {}, warnings };
  };
  return {
    get: (path) => send("GET", path, new URLSearchParams(), ""),
    apply: (path, query, configuration) =>
      send("PATCH", path, new URLSearchParams(query), stringifyJson(configuration)),
  };
}
