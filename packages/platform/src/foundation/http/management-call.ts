// Calls the management API from inside the server, on behalf of the holder of an access key.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { HandlerChain } from "@postern/apiserver/chain/handler-chain";
import { resolveRequest } from "@postern/apiserver/request/request-info";
import { lengthOfBody, type ResponseBody } from "@postern/apiserver/transport/api-response";
import { ownRequest } from "./own-request.ts";

export type ManagementCall = {
  readonly method: string;
  /** Path below the group of the management API. */
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  readonly key: string;
  /** The address of the caller. */
  readonly from: string;
  readonly body?: JsonObject;
  /** A longer answer is not read to its end. Absent: any length. */
  readonly maxBytes?: number;
};
export type ManagementAnswer = {
  readonly status: number;
  readonly body: JsonObject;
  /** Bytes of the body. */
  readonly size: number;
};

/** Rejects with LongAnswerError. */
export type CallManagement = (call: ManagementCall) => Promise<ManagementAnswer>;

export class LongAnswerError extends Error {
  override readonly name = "LongAnswerError";
}

/** Through the whole filter chain: a page's requests are allowed, limited and audited as if the browser had sent them. */
export const createManagementCall =
  (management: HandlerChain, group: string, signal: AbortSignal): CallManagement =>
  async ({ method, path, query = {}, key, from, body, maxBytes = Number.POSITIVE_INFINITY }) => {
    const text = body === undefined ? "" : stringifyJson(body);
    const request = ownRequest({
      method,
      path: `/apis/${group}/v1/${path}`,
      query: new URLSearchParams({ ...query }),
      // The agent is also the manager of the fields that SCIM writes: by another name they would have two owners.
      headers: { authorization: `Bearer ${key}`, "user-agent": "sign-in" },
      contentType: "application/json",
      text,
      from,
      signal,
    });
    const answer = await management(request, resolveRequest(request));
    const bytes = await bytesOf(answer.body, maxBytes, signal);
    const value = parseJson(bytes);
    return { status: answer.status, body: isJsonObject(value) ? value : {}, size: bytes.length };
  };

/** Long lists come as a stream. */
async function bytesOf(body: ResponseBody, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  if (body.type === "upgraded") throw new Error("the management API upgraded the connection of a request");
  if (body.type === "bytes") {
    if (lengthOfBody(body) > maxBytes) throw new LongAnswerError();
    return Buffer.from(body.bytes);
  }
  const chunks: Buffer[] = [];
  let left = maxBytes;
  const write = (chunk: Uint8Array | string): boolean => {
    left -= chunk.length;
    if (left < 0) return false;
    chunks.push(Buffer.from(chunk));
    return true;
  };
  await body.run({ write, bufferedBytes: 0 }, signal);
  if (left < 0) throw new LongAnswerError();
  return Buffer.concat(chunks);
}
