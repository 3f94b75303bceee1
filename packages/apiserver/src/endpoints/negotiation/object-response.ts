// Responds with one object: its cached bytes, or converted and encoded as requested.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go

import type { Status } from "@postern/apimachinery/meta/status";
import { LONG_WORK_BYTES } from "../../limits/long-work.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { type ApiResponse, JoinedBody, jsonResponse, type ResponseHeaders } from "../../transport/api-response.ts";
import { PART_BYTES } from "../../transport/backpressure/write-in-parts.ts";
import type { ResourceColumns } from "../table/table-cells.ts";
import { type ConversionContext, convertObject } from "./convert-object.ts";
import { encodeObject, yamlInThread } from "./encode-object.ts";
import { acceptsGzip, GZIP_HEADERS, GZIP_THRESHOLD_BYTES, gzipBytes } from "./gzip.ts";
import { mediaTypeOf, type OutputMedia } from "./negotiate-output.ts";
import { decodeValue, isKept, type KeptObject, type ObjectValue } from "./object-value.ts";

/**
 * The response for one object, converted to what `as=` names. `output` comes from before the work began, so that a
 * client that takes nothing we write is refused before anything has happened.
 * @throws ApiError 406, 500 or 400 when the client asks for a form that does not exist
 */
export function objectResponse(
  context: ConversionContext,
  code: number,
  value: ObjectValue,
  resource: ResourceColumns,
  output: OutputMedia,
): Awaitable<ApiResponse> {
  const isText = output.convert === undefined && output.format === "json" && !output.pretty;
  if (!isText && isKept(value) && value.byteLength >= LONG_WORK_BYTES && context.pause !== undefined) {
    return largeResponse(context, code, value, resource, output);
  }
  if (isText && isKept(value) && value.byteLength > PART_BYTES && !acceptsGzip(context.request)) {
    return joinedResponse(context, code, [...value.pieces(), NEWLINE]);
  }
  const converted = convertObject(context, value, output, resource);
  return encodedResponse(context, code, encodeObject(converted, output), contentTypeOf(output));
}

const NEWLINE = Buffer.from("\n");

function joinedResponse(
  { request }: Pick<ConversionContext, "request">,
  code: number,
  pieces: readonly Uint8Array[],
): ApiResponse {
  const response = jsonResponse(code, "");
  return request.method === "HEAD" ? response : { ...response, body: new JoinedBody(pieces) };
}

/** Parsing and encoding large objects takes long. */
async function largeResponse(
  context: ConversionContext,
  code: number,
  value: KeptObject,
  resource: ResourceColumns,
  output: OutputMedia,
): Promise<ApiResponse> {
  context.weigh?.(value.byteLength);
  await context.pause?.();
  const { convert, format } = output;
  const yaml = convert === undefined && format === "yaml" ? await yamlInThread(context, value) : undefined;
  if (yaml !== undefined) return await encodedResponse(context, code, yaml, contentTypeOf(output));
  const object = convert === undefined ? value : decodeValue(value);
  await context.pause?.();
  const converted = convertObject(context, object, output, resource);
  await context.pause?.();
  return await encodedResponse(context, code, encodeObject(converted, output), contentTypeOf(output));
}

/** The response for a Status, which `as=` never converts. */
export function statusResponse(
  context: Pick<ConversionContext, "request">,
  code: number,
  status: Status,
  output: OutputMedia,
): Awaitable<ApiResponse> {
  return encodedResponse(context, code, encodeObject(status, output), contentTypeOf(output));
}

/** The Content-Type where it is not the usual JSON. */
export const contentTypeOf = ({ format }: OutputMedia): ResponseHeaders =>
  format === "json" ? {} : { "content-type": mediaTypeOf(format) };

/** A finished body, compressed when that is worth it, left out for HEAD. */
export function encodedResponse(
  { request }: Pick<ConversionContext, "request">,
  status: number,
  body: Uint8Array | string,
  headers: ResponseHeaders,
): Awaitable<ApiResponse> {
  if (request.method === "HEAD") return jsonResponse(status, "", headers);
  if (body.length <= GZIP_THRESHOLD_BYTES || !acceptsGzip(request)) return jsonResponse(status, body, headers);
  return gzipBytes(body).then((zipped) => jsonResponse(status, zipped, { ...headers, ...GZIP_HEADERS }));
}
