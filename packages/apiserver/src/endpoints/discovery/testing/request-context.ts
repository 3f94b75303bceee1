// A request as it reaches the endpoints, for tests that need no transport.

import { runSteps } from "@postern/apimachinery/steps/steps";
import type { RequestContext } from "../../../context/request-context.ts";
import type { ApiResponse } from "../../../transport/api-response.ts";

export type TestRequest = {
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly basePath?: string;
  readonly receivedAt?: number;
};

/** `url` is a path with its query. */
export function requestContext(
  url: string,
  { method = "GET", headers = {}, basePath = "", receivedAt = Date.parse("2026-01-02T15:04:05Z") }: TestRequest = {},
): RequestContext {
  const [path = "", query = ""] = url.split("?");
  const request = { method, path, basePath, query: new URLSearchParams(query), headers, host: "10.1.2.3:6443" };
  return { request, info: { path }, receivedAt, weigh: () => undefined, inParts: runSteps } as any;
}

/** The whole body, a streaming one run to its end. */
export async function bodyOf({ body }: ApiResponse): Promise<Buffer> {
  if (body.type === "bytes") return Buffer.from(body.bytes as string);
  if (body.type !== "stream") throw new Error("not a body");
  const chunks: Buffer[] = [];
  const write = (chunk: Uint8Array | string): boolean => chunks.push(Buffer.from(chunk as string)) > 0;
  await body.run({ write, bufferedBytes: 0 }, new AbortController().signal);
  return Buffer.concat(chunks);
}

export const textOf = async (response: ApiResponse): Promise<string> => (await bodyOf(response)).toString("utf8");
export const jsonOf = async (response: ApiResponse): Promise<any> => JSON.parse(await textOf(response));
