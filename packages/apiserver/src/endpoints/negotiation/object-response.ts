// Responds with one object: its cached bytes, or converted and encoded as requested.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Status } from "@postern/apimachinery/meta/status";
import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { RequestContext } from "../../context/request-context.ts";
import { LONG_WORK_BYTES } from "../../limits/long-work.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { type ApiResponse, jsonResponse, type ResponseHeaders } from "../../transport/api-response.ts";
import { createTableConverter, parseIncludeObject, type TableConverter, tableOfObject } from "../table/table.ts";
import { type ResourceColumns, type TableColumns, tableColumns } from "../table/table-cells.ts";
import { acceptsGzip, GZIP_HEADERS, GZIP_THRESHOLD_BYTES, gzipBytes } from "./gzip.ts";
import { negotiateOutput, type OutputMedia } from "./negotiate-output.ts";
import { notAListError, partialObjectMetadata } from "./partial-object-metadata.ts";
import { indentJson } from "./pretty.ts";

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
  output: OutputMedia = negotiateOutput(context.request),
): Awaitable<ApiResponse> {
  const isText = output.convert === undefined && output.format === "json" && !output.pretty;
  if (!isText && isKept(value) && value.byteLength >= LONG_WORK_BYTES && context.pause !== undefined) {
    return largeResponse(context, code, value, resource, output);
  }
  const converted = convertObject(context, value, output, resource);
  return encodedResponse(context, code, encodeObject(converted, output), contentTypeOf(output));
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
  format === "yaml" ? { "content-type": "application/yaml" } : {};

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

// Turns an object into the form that `as=` names: a Table, or its metadata alone.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go

/** What a conversion reads of a request: `includeObject`, and the time that ages are counted to. */
export type ConversionContext = Pick<RequestContext, "request" | "receivedAt"> &
  Partial<Pick<RequestContext, "weigh" | "pause" | "aside" | "overBudget">>;

/**
 * The value as it is when nothing is asked for or when it is a Status.
 * @throws ApiError 406 or, of custom resources, 500 when a list form is asked for, 400 for an unknown `includeObject`
 */
export function convertObject(
  context: ConversionContext,
  value: ObjectValue,
  { convert }: OutputMedia,
  resource: ResourceColumns,
): ObjectValue {
  if (convert === undefined) return value;
  const object = decodeValue(value);
  if (!isKubeObject(object)) return value;
  if (convert.kind === "Table") return tableOfObject(tableConverter(context, convert, resource), object);
  if (convert.kind === "PartialObjectMetadata") return partialObjectMetadata(object, formatApiVersion(convert));
  throw notAListError({ ...object, isTyped: resource.strategicMergePatch === true });
}

/** Converts to the Table version that was asked for. */
export function tableConverter(
  context: ConversionContext,
  target: NonNullable<OutputMedia["convert"]>,
  resource: ResourceColumns,
  now: () => number = () => context.receivedAt,
): TableConverter {
  return createTableConverter(columnsOf(resource), {
    apiVersion: formatApiVersion(target),
    includeObject: parseIncludeObject(context.request.query),
    now,
    onOverBudget: () => context.overBudget?.(),
  });
}

/** Columns are compiled once for all requests. */
const compiled = new WeakMap<ResourceColumns, TableColumns>();

function columnsOf(resource: ResourceColumns): TableColumns {
  const columns = compiled.get(resource) ?? tableColumns(resource);
  compiled.set(resource, columns);
  return columns;
}

/** Everything that endpoints answer with but a Status has the shape of an object. */
const isKubeObject = (object: JsonObject): object is KubeObject =>
  object["kind"] !== "Status" || object["apiVersion"] !== "v1";

// The body of an answer with one document, in the encoding the client asked for.

/** The YAML of a large object. Undefined where no thread is there to write it. */
export const yamlInThread = (context: ConversionContext, value: KeptObject): Promise<string> | undefined =>
  context.aside?.("encodeYaml", () => ({ json: jsonTextOf(value) }));

/** Compact JSON and YAML end with a newline, pretty JSON does not, as upstream has it. */
export function encodeObject(value: ObjectValue, { format, pretty }: OutputMedia): Uint8Array | string {
  if (format === "yaml") return encodeYaml(decodeValue(value));
  if (pretty) return indentJson(jsonTextOf(value));
  // All the work there is in answering with a kept object.
  return isKept(value) ? encodeKept(value, "", "\n") : `${jsonTextOf(value)}\n`;
}

// A document to be answered with: the bytes the server keeps, or a value still to be encoded.

/** An object that the server keeps encoded, as compact JSON: a CachedObject is one. */
export type KeptObject = {
  readonly byteLength: number;
  /** Writes it to `target` from `at` on, and returns where it ends. */
  writeTo(target: Buffer, at: number): number;
};

export type ObjectValue = KeptObject | JsonObject;

/** No JSON value is a function, so a member called `writeTo` is not mistaken for that of a kept object. */
export const isKept = (value: ObjectValue): value is KeptObject => typeof value["writeTo"] === "function";

/** A kept object of compact JSON. */
export const keep = (json: Buffer): KeptObject => ({
  byteLength: json.length,
  writeTo: (target, at) => at + json.copy(target, at),
});

/** A kept object between two texts of ASCII. */
export function encodeKept(value: KeptObject, before: string, after: string): Buffer {
  const bytes = Buffer.allocUnsafe(before.length + value.byteLength + after.length);
  bytes.write(before, 0, "latin1");
  bytes.write(after, value.writeTo(bytes, before.length), "latin1");
  return bytes;
}

export function decodeValue(value: ObjectValue): JsonObject {
  // Kept bytes are always those of an object.
  return isKept(value) ? (parseJson(encodeKept(value, "", "")) as JsonObject) : value;
}

/** Compact JSON. */
export const jsonTextOf = (value: ObjectValue): string =>
  isKept(value) ? encodeKept(value, "", "").toString("utf8") : stringifyJson(value);
