// Responds with a list: cached objects are joined without parsing, and large lists are sent in steps.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { ListMeta } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";
import { LONG_WORK_BYTES } from "../../limits/long-work.ts";
import { listKindOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { ListPage } from "../../registry/resource-storage.ts";
import { type Awaitable, whenDone } from "../../runtime/awaitable.ts";
import {
  type ApiResponse,
  type ByteSink,
  JoinedBody,
  jsonResponse,
  type ResponseHeaders,
} from "../../transport/api-response.ts";
import { type ConversionContext, tableConverter } from "./convert-object.ts";
import { acceptsGzip, GZIP_HEADERS, gzipParts } from "./gzip.ts";
import { type ElementsMember, type ListEncoding, listEncoding } from "./list-encoding.ts";
import type { ListSegments } from "./list-segments.ts";
import { negotiateOutput, type OutputMedia } from "./negotiate-output.ts";
import { contentTypeOf, encodedResponse } from "./object-response.ts";
import { decodeValue, encodeKept, jsonTextOf, type KeptObject, type ObjectValue } from "./object-value.ts";
import { partialMetadataOfListError, partialObjectMetadata } from "./partial-object-metadata.ts";
import { protobufList } from "./protobuf-list.ts";

/** How much of a list is read or written in one piece. */
const PART_BYTES = 256 * 1024;
/** The same with parsing and encoding, which takes many times as long. */
const CONVERTED_PART_BYTES = 32 * 1024;
/** Up to so much, kept text is sent at once from where it is: joining would copy it, and parts take a turn each. */
const WHOLE_BYTES = 1024 * 1024;

/** Larger lists are written as YAML in a thread. */
const YAML_BYTES_AT_ONCE = 4 * 1024;

type ListOutput = {
  readonly head: JsonObject;
  readonly member: ElementsMember;
  element(object: CachedObject): ObjectValue;
  /** Work of elements so far that their length does not show. */
  workSoFar(): number;
};

const NO_WORK = (): number => 0;

/**
 * The response for a page of a resource.
 * @throws ApiError 406 or 400 when the client asks for a form that does not exist
 */
export function listResponse(
  context: ConversionContext,
  page: ListPage,
  resource: ResourceDefinition,
  output: OutputMedia = negotiateOutput(context.request, resource),
  segments?: ListSegments,
): Awaitable<ApiResponse> {
  const { head, member, element, workSoFar } = listOutput(context, page, resource, output);
  const headers = contentTypeOf(output);
  const { items } = page;
  if (context.request.method === "HEAD") return encodedResponse(context, 200, "", headers);
  if (output.format === "protobuf") {
    const partial = (object: CachedObject): JsonObject =>
      output.convert === undefined ? object.decode() : decodeValue(element(object));
    return whenDone(protobufList(head, items, partial, context), (encoding) =>
      convertedResponse(context, items, encodeParts(items, encoding, NO_WORK, CONVERTED_PART_BYTES), headers),
    );
  }
  const encoding = listEncoding(head, member, output);
  if (output.format === "yaml" && context.runInThread !== undefined && isOver(LONG_WORK_BYTES - 1, items)) {
    const run = (sink: ByteSink, signal: AbortSignal) =>
      writeParts(sink, signal, yamlParts(context, items, element, encoding));
    return { ...jsonResponse(200, "", headers), body: { type: "stream", run } };
  }
  const isTyped = resource.strategicMergePatch === true;
  const isKeptText = member === "items" && output.format === "json" && !output.pretty && output.convert === undefined;
  const kept = isKeptText && segments !== undefined ? joinedParts(items, encoding, segments, isTyped) : undefined;
  if (kept !== undefined && !acceptsGzip(context.request)) {
    const { begun, rest } = takeParts(kept, WHOLE_BYTES);
    if (rest === undefined) return { ...jsonResponse(200, "", headers), body: new JoinedBody(begun) };
    return streamed(context, inTurn(begun, rest), headers);
  }
  const elements = { ...encoding, element: (object: CachedObject) => encoding.element(element(object)) };
  if (output.convert !== undefined || output.pretty) {
    return convertedResponse(context, items, encodeParts(items, elements, workSoFar, CONVERTED_PART_BYTES), headers);
  }
  const parts = kept ?? encodeParts(items, elements, workSoFar, PART_BYTES);
  return isOver(PART_BYTES, items)
    ? streamed(context, parts, headers)
    : encodedResponse(context, 200, Buffer.concat([...parts]), headers);
}

/** Rows may be many times as long as their objects, and take many times as long. */
function convertedResponse(
  context: ConversionContext,
  items: readonly CachedObject[],
  parts: Generator<Buffer>,
  headers: ResponseHeaders,
): Awaitable<ApiResponse> {
  if (isOver(PART_BYTES, items)) return streamed(context, parts, headers);
  const { begun, rest } = takeParts(parts, CONVERTED_PART_BYTES, 2);
  return rest === undefined
    ? encodedResponse(context, 200, Buffer.concat(begun), headers)
    : streamed(context, inTurn(begun, rest), headers);
}

function streamed({ request }: ConversionContext, parts: Iterable<Uint8Array>, headers: ResponseHeaders): ApiResponse {
  const gzip = acceptsGzip(request);
  return {
    ...jsonResponse(200, "", gzip ? { ...headers, ...GZIP_HEADERS } : headers),
    body: { type: "stream", run: (sink, signal) => writeParts(sink, signal, gzip ? gzipParts(parts) : parts) },
  };
}

function listOutput(
  context: ConversionContext,
  page: ListPage,
  resource: ResourceDefinition,
  { convert }: OutputMedia,
): ListOutput {
  const metadata = listMetaOf(page);
  if (convert === undefined) {
    const head = { kind: listKindOf(resource), apiVersion: formatApiVersion(resource), metadata };
    const element = resource.strategicMergePatch === true ? itemOf : (object: CachedObject) => object;
    return { head, member: "items", element, workSoFar: NO_WORK };
  }
  if (convert.kind === "PartialObjectMetadata") {
    const list = { apiVersion: formatApiVersion(resource), kind: listKindOf(resource) };
    throw partialMetadataOfListError({ ...list, isTyped: resource.strategicMergePatch === true });
  }
  if (convert.kind === "Table") {
    const converter = tableConverter(context, convert, resource);
    const element = (object: CachedObject) => converter.row(object.decode());
    return { head: converter.head(metadata), member: "rows", element, workSoFar: () => converter.work };
  }
  const apiVersion = formatApiVersion(convert);
  return {
    head: { kind: convert.kind, apiVersion, metadata },
    member: "items",
    element: (object) => partialObjectMetadata(object.decode(), apiVersion),
    workSoFar: NO_WORK,
  };
}

/** Items of built-in kinds have no type of their own, as Go has them. */
const itemOf = ({ item }: CachedObject): KeptObject => item;

const listMetaOf = ({ resourceVersion, continue: token = "", remainingItemCount }: ListPage): ListMeta => ({
  ...(resourceVersion === "" ? {} : { resourceVersion }),
  ...(token === "" ? {} : { continue: token }),
  ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
});

/** Whether the items have more than so many bytes together. */
function isOver(bytes: number, items: readonly CachedObject[]): boolean {
  let left = bytes;
  for (const { byteLength } of items) {
    left -= byteLength;
    if (left < 0) return true;
  }
  return false;
}

function* joinedParts(
  items: readonly CachedObject[],
  { open, close, empty }: ListEncoding,
  segments: ListSegments,
  isTyped: boolean,
): Generator<Uint8Array> {
  yield Buffer.from(items.length === 0 ? empty : open);
  yield* segments.partsOf(items, isTyped);
  if (items.length > 0) yield Buffer.from(close);
}

/** The parts up to the first that exceeds `bytes`, at most `count`. Without `rest`, these are all. */
function takeParts(
  parts: Generator<Uint8Array>,
  bytes: number,
  count = Number.POSITIVE_INFINITY,
): { begun: Uint8Array[]; rest?: Iterable<Uint8Array> } {
  const begun: Uint8Array[] = [];
  for (let left = bytes; left >= 0 && begun.length < count; ) {
    const { done, value } = parts.next();
    if (done === true) return { begun };
    begun.push(value);
    left -= value.length;
  }
  return { begun, rest: parts };
}

function* inTurn(first: Iterable<Uint8Array>, then: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield* first;
  yield* then;
}

/** YAML takes so long to write that a thread does it, unless an object is small. */
async function* yamlParts(
  context: ConversionContext,
  items: readonly CachedObject[],
  element: (object: CachedObject) => ObjectValue,
  { open, close, empty, element: encoded }: ListEncoding,
): AsyncGenerator<Buffer> {
  yield Buffer.from(items.length === 0 ? empty : open);
  for (const object of items) {
    const value = element(object);
    const inThread =
      object.byteLength < YAML_BYTES_AT_ONCE
        ? undefined
        : await context.runInThread?.("encodeYaml", () => ({ json: `[${jsonTextOf(value)}]` }));
    const text = inThread ?? encoded(value);
    yield typeof text === "string" || Buffer.isBuffer(text) ? Buffer.from(text) : encodeKept(text, "", "");
  }
  if (items.length > 0) yield Buffer.from(close);
}

type Piece = Buffer | KeptObject;

/** Each part is produced on demand, from about `partBytes` of stored objects, or as much work. */
function* encodeParts(
  items: readonly CachedObject[],
  encoding: ListEncoding<CachedObject>,
  workSoFar: ListOutput["workSoFar"],
  partBytes: number,
): Generator<Buffer> {
  const separator = Buffer.from(encoding.separator);
  let pieces: Piece[] = [Buffer.from(items.length === 0 ? encoding.empty : encoding.open)];
  let read = 0;
  for (const [i, object] of items.entries()) {
    const before = workSoFar();
    const encoded = encoding.element(object);
    const piece = typeof encoded === "string" ? Buffer.from(encoded) : encoded;
    const cost = Math.max(piece.byteLength, object.byteLength) + separator.length + workSoFar() - before;
    if (read > 0 && read + cost > partBytes) {
      yield join(pieces);
      pieces = [];
      read = 0;
    }
    if (i > 0) pieces.push(separator);
    pieces.push(piece);
    read += cost;
  }
  if (items.length > 0) pieces.push(Buffer.from(encoding.close));
  yield join(pieces);
}

function join(pieces: readonly Piece[]): Buffer {
  const joined = Buffer.allocUnsafe(pieces.reduce((size, { byteLength }) => size + byteLength, 0));
  let at = 0;
  for (const piece of pieces)
    at = piece instanceof Uint8Array ? at + piece.copy(joined, at) : piece.writeTo(joined, at);
  return joined;
}

/** Each part is produced in a turn of its own (with-flow-control.ts). Rejects when the request has ended, which cuts the response. */
async function writeParts(
  sink: ByteSink,
  signal: AbortSignal,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  for await (const part of parts) {
    signal.throwIfAborted();
    if (!(await sink.write(part))) return;
  }
}
