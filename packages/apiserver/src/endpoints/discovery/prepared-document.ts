// A document that is the same for all callers: encoded once per encoding, with an ETag, until the resources change.

import { createHash } from "node:crypto";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { LONG_WORK_BYTES } from "../../limits/long-work.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";
import type { ApiResponse, ResponseHeaders } from "../../transport/api-response.ts";
import type { ConversionContext } from "../negotiation/convert-object.ts";
import { encodeObject, yamlInThread } from "../negotiation/encode-object.ts";
import { acceptsGzip, GZIP_HEADERS, GZIP_THRESHOLD_BYTES, gzipBytes } from "../negotiation/gzip.ts";
import type { OutputMedia } from "../negotiation/negotiate-output.ts";
import { keep } from "../negotiation/object-value.ts";

/** Bytes with their strong validator. */
export type PreparedBody = {
  readonly bytes: Uint8Array;
  /** Upper-case hex of a digest over the bytes. */
  readonly hash: string;
  /** Compressed when first asked for, and kept. */
  gzipped(): Promise<Uint8Array>;
};

export function prepareBody(content: Uint8Array | string): PreparedBody {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return preparedBody(bytes, createHash("sha512").update(bytes).digest("hex"));
}

/** Bytes digested in one step. */
const STEP_BYTES = 1024 * 1024;

/** A body that may be large, from parts of it. */
export function* prepareBodyInSteps(parts: readonly Uint8Array[]): Steps<PreparedBody> {
  const bytes = Buffer.concat(parts);
  yield;
  const hash = createHash("sha512");
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    hash.update(bytes.subarray(at, at + STEP_BYTES));
    yield;
  }
  return preparedBody(bytes, hash.digest("hex"));
}

function preparedBody(bytes: Uint8Array, hash: string): PreparedBody {
  let compressed: Promise<Uint8Array> | undefined;
  return {
    bytes,
    hash: hash.toUpperCase(),
    gzipped: () => {
      compressed ??= gzipBytes(bytes);
      return compressed;
    },
  };
}

/** A document's body in the encoding that was negotiated. */
export type PreparedDocument = (
  output: Pick<OutputMedia, "format" | "pretty">,
  context: ConversionContext,
) => Awaitable<PreparedBody>;

/** `document`: a value, or the text of one. */
export function prepareDocument(document: JsonObject | string): PreparedDocument {
  // The text is kept, not the value, as the source of every encoding.
  const kept = keep(Buffer.from(typeof document === "string" ? document : stringifyJson(document)));
  const encoded = new Map<string, PreparedBody>();
  return ({ format, pretty }, context) => {
    const encoding = format === "json" && pretty ? "pretty" : format;
    const known = encoded.get(encoding);
    if (known !== undefined) return known;
    const keepBody = (bytes: Uint8Array | string): PreparedBody => {
      const body = prepareBody(bytes);
      encoded.set(encoding, body);
      return body;
    };
    const isLong = format === "yaml" && kept.byteLength >= LONG_WORK_BYTES;
    // Each request has its own work until one is done: a requester that goes away must not take that of others along.
    const yaml = isLong ? yamlInThread(context, kept) : undefined;
    return yaml?.then(keepBody) ?? keepBody(encodeObject(kept, { format, pretty }));
  };
}

/** 304 when the client has this very body, else the body; compressed when large, left out for HEAD. */
export async function preparedResponse(
  request: Pick<ApiRequest, "method" | "headers">,
  body: PreparedBody,
  headers: ResponseHeaders,
  options: { readonly etag?: boolean } = {},
): Promise<ApiResponse> {
  const tagged = options.etag === false ? headers : { ...headers, etag: `"${body.hash}"` };
  if (options.etag !== false && matchesEtag(headerOf(request, "if-none-match"), body.hash)) {
    const { "content-type": _, ...unchanged } = tagged;
    return bytesResponse(304, unchanged, "");
  }
  if (request.method === "HEAD") return bytesResponse(200, tagged, "");
  if (body.bytes.length <= GZIP_THRESHOLD_BYTES || !acceptsGzip(request)) return bytesResponse(200, tagged, body.bytes);
  const vary = [headers["vary"] ?? [], GZIP_HEADERS.vary].flat().join(", ");
  return bytesResponse(200, { ...tagged, ...GZIP_HEADERS, vary }, await body.gzipped());
}

const bytesResponse = (status: number, headers: ResponseHeaders, bytes: Uint8Array | string): ApiResponse => ({
  status,
  headers,
  body: { type: "bytes", bytes },
});

/** If-None-Match holds one validator, several, or `*`. */
function matchesEtag(ifNoneMatch: string, hash: string): boolean {
  if (ifNoneMatch === "") return false;
  return ifNoneMatch.split(",").some((tag) => {
    const validator = tag.trim().replace(/^W\//, "");
    return validator === "*" || validator === `"${hash}"`;
  });
}
