// Turns an object into the form that `as=` names: a Table, or its metadata alone.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "../../context/request-context.ts";
import { createTableConverter, parseIncludeObject, type TableConverter, tableOfObject } from "../table/table.ts";
import { type ResourceColumns, type TableColumns, tableColumns } from "../table/table-cells.ts";
import type { OutputMedia } from "./negotiate-output.ts";
import { decodeValue, type ObjectValue } from "./object-value.ts";
import { notAListError, partialObjectMetadata } from "./partial-object-metadata.ts";

/** Parts of a request that a conversion reads: `includeObject`, and the time that ages are counted to. */
export type ConversionContext = Pick<RequestContext, "request" | "receivedAt"> &
  Partial<Pick<RequestContext, "weigh" | "pause" | "runInThread" | "overBudget">>;

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
