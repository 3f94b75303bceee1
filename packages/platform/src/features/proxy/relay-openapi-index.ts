// Relays the index of OpenAPI v3, with the paths of its documents below the platform: `kubectl explain` requests the paths in it.
// Source: k8s.io/kube-openapi/pkg/handler3/handler.go (serverRelativeURL)

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { type ApiResponse, PeerFault, type ResponseHeaders } from "@postern/apiserver/transport/api-response";
import type { UpstreamResponse } from "../../foundation/upstream/upstream-response.ts";
import { whileWanted } from "./relay-response.ts";

/** A target with thousands of groups has less, and it is read in one go. */
const MAX_BYTES = 256 << 10;

type Place = {
  /** Base URL of the target. */
  readonly server: string;
  /** The base path of the target on the platform. */
  readonly basePath: string;
};

/** `path` as it is at the target, without the query. */
export const isOpenApiIndex = (path: string): boolean => path === "/openapi/v3" || path === "/openapi/v3/";

/** Read as a whole: it must not be compressed. */
export function relayOpenApiIndex(response: UpstreamResponse, headers: ResponseHeaders, place: Place): ApiResponse {
  const run: Extract<ApiResponse["body"], { readonly type: "stream" }>["run"] = (sink, signal) =>
    whileWanted(response, signal, async () => {
      await sink.write(Buffer.from(placedHere(await readText(response), place)));
    });
  return { status: response.statusCode, headers, body: { type: "stream", run } };
}

async function readText(response: UpstreamResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new PeerFault("the OpenAPI index of the target is too large");
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
