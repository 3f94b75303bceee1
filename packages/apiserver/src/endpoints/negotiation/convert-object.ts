// Turns an object into the form that `as=` names: a Table, or its metadata alone.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "../../context/request-context.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createTableConverter, parseIncludeObject, type TableConverter, tableOfObject } from "../table/table.ts";
import type { ResourceColumns } from "../table/table-cells.ts";
import type { OutputMedia } from "./negotiate-output.ts";
import { decodeValue, type ObjectValue } from "./object-value.ts";
import { notAListError, partialObjectMetadata } from "./partial-object-metadata.ts";

/** What a conversion reads of a request: `includeObject`, and the time that ages are counted to. */
export type ConversionContext = Pick<RequestContext, "request" | "receivedAt"> &
  Partial<Pick<RequestContext, "weigh" | "pause" | "aside">>;

/**
 * The value as it is when nothing is asked for or when it is a Status.
 * @throws ApiError 500 when a list form is asked for, 400 for an unknown `includeObject`
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
  throw notAListError();
}

/**
 * How the events of one watch are converted, in the order they are sent: only the first Table defines its columns.
 * Undefined when objects are sent as they are, so that watches share the bytes.
 */
export function watchConversion(
  context: ConversionContext,
  output: OutputMedia,
  resource: ResourceColumns,
  clock: Clock,
): ((value: ObjectValue) => ObjectValue) | undefined {
  const { convert } = output;
  if (convert === undefined) return undefined;
  if (convert.kind !== "Table") return (value) => convertObject(context, value, output, resource);
  let columns = true;
  return (value) => {
    const object = decodeValue(value);
    if (!isKubeObject(object)) return value;
    const converter = tableConverter({ ...context, receivedAt: clock.now() }, convert, resource);
    const table = tableOfObject(converter, object, { columns });
    columns = false;
    return table;
  };
}

/** Converts to the Table version that was asked for. */
export function tableConverter(
  { request, receivedAt }: ConversionContext,
  target: NonNullable<OutputMedia["convert"]>,
  resource: ResourceColumns,
): TableConverter {
  return createTableConverter(resource, {
    apiVersion: formatApiVersion(target),
    includeObject: parseIncludeObject(request.query),
    now: receivedAt,
  });
}

/** Everything that endpoints answer with but a Status has the shape of an object. */
const isKubeObject = (object: JsonObject): object is KubeObject =>
  object["kind"] !== "Status" || object["apiVersion"] !== "v1";
