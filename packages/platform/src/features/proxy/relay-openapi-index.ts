// Relays the index of OpenAPI v3, with the paths of its documents below the platform: `kubectl explain` requests the paths in it.
// Source: k8s.io/kube-openapi/pkg/handler3/handler.go (serverRelativeURL)

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { ApiResponse, ResponseHeaders } from "@postern/apiserver/transport/api-response";
import { badGatewayError } from "../../foundation/upstream/upstream-failure.ts";
import type { UpstreamResponse } from "../../foundation/upstream/upstream-response.ts";

/** A target with thousands of groups has less, and it is read in one go. */
const MAX_BYTES = 512 << 10;

type Place = {
  /** Base URL of the target. */
  readonly server: string;
  /** The base path of the target on the platform. */
  readonly basePath: string;
};

/** `path` as it is at the target, without the query. */
export const isOpenApiIndex = (path: string): boolean => path === "/openapi/v3" || path === "/openapi/v3/";

/** Read as a whole: it must not be compressed. Rejects with ApiError 502 where it is larger than any. */
export function relayOpenApiIndex(response: UpstreamResponse, headers: ResponseHeaders, place: Place): ApiResponse {
  const run: Extract<ApiResponse["body"], { readonly type: "stream" }>["run"] = async (sink, signal) => {
    const onAbort = (): void => void response.destroy();
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await sink.write(Buffer.from(placedHere(await readText(response), place)));
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
  return { status: response.statusCode, headers, body: { type: "stream", run } };
}

async function readText(response: UpstreamResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      throw badGatewayError({ reason: "ResponseTooLarge", message: "its OpenAPI index is too large" });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** As it was where it is no such index. */
function placedHere(text: string, { server, basePath }: Place): string {
  const root = trimTrailing(new URL(server).pathname, "/");
  try {
    const index: { paths?: { [name: string]: { serverRelativeURL?: unknown } } } = JSON.parse(text);
    for (const entry of Object.values(index.paths ?? {})) {
      const { serverRelativeURL: url } = entry;
      if (typeof url !== "string" || !url.startsWith(`${root}/`)) continue;
      entry.serverRelativeURL = `${basePath}/${url.slice(root.length).replace(/^\/+/, "")}`;
    }
    return JSON.stringify(index);
  } catch {
    return text;
  }
}
