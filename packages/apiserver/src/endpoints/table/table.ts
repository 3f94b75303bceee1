// Responds to `as=Table`: objects as rows with the columns that kubectl prints.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go (asTable)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject, ListMeta } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { partialObjectMetadata } from "../negotiation/partial-object-metadata.ts";
import type { JsonPathBudget } from "./json-path.ts";
import { TableBudget, type TableColumns } from "./table-cells.ts";

/** Which form of the object a row carries. */
export type IncludeObject = "Metadata" | "Object" | "None";

export type TableConverter = {
  /** Everything of a Table but its rows. `columns: false` leaves the definitions out, as later watch events do. */
  head(metadata: ListMeta, options?: { readonly columns?: boolean }): JsonObject;
  row(object: KubeObject): JsonObject;
  /** A row with a budget of its own. */
  rowWithin(budget: JsonPathBudget, object: KubeObject): JsonObject;
  /** The row of a bookmark, with empty cells: it has none of the members that columns read. */
  bookmarkRow(bookmark: KubeObject): JsonObject;
  /** Work that the cells of all rows so far have taken, in visited values. */
  readonly work: number;
};

export type TableOptions = {
  /** `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`. */
  readonly apiVersion: string;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch that ages are counted to. */
  readonly now: () => number;
  /** Called for rows with cells that were left empty because they take too much work. */
  readonly onOverBudget?: (() => void) | undefined;
};

/**
 * Reads the query parameter `includeObject`.
 * @throws ApiError 400 for an unknown value
 */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "" || value === "Metadata") return "Metadata";
  if (value === "Object" || value === "None") return value;
  throw badRequestError(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${quoteGo(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export function createTableConverter(
  columns: TableColumns,
  { apiVersion, includeObject, now, onOverBudget }: TableOptions,
): TableConverter {
  const budget = new TableBudget();
  const included = (object: KubeObject): JsonValue => {
    if (includeObject === "None") return null;
    return includeObject === "Object" ? object : partialObjectMetadata(object, apiVersion);
  };
  const rowWithin = (own: JsonPathBudget, object: KubeObject): JsonObject => ({
    cells: columns.cells(object, now(), own, onOverBudget),
    object: included(object),
  });
  return {
    head: (metadata, options = {}) => ({
      kind: "Table",
      apiVersion,
      metadata,
      columnDefinitions: options.columns === false ? null : columns.definitions,
    }),
    row: (object) => budget.row((own) => rowWithin(own, object)),
    rowWithin,
    bookmarkRow: (bookmark) => ({ cells: columns.definitions.map(() => null), object: included(bookmark) }),
    get work() {
      return budget.spent;
    },
  };
}

/** A Table of one object. */
export function tableOfObject(
  converter: TableConverter,
  object: KubeObject,
  { budget, ...options }: { readonly columns?: boolean; readonly budget?: JsonPathBudget } = {},
): JsonObject {
  const row = budget === undefined ? converter.row(object) : converter.rowWithin(budget, object);
  return { ...converter.head(metadataOf(object), options), rows: [row] };
}

/** A Table of a bookmark. */
export const tableOfBookmark = (
  converter: TableConverter,
  bookmark: KubeObject,
  options: { readonly columns?: boolean } = {},
): JsonObject => ({ ...converter.head(metadataOf(bookmark), options), rows: [converter.bookmarkRow(bookmark)] });

const metadataOf = ({ metadata: { resourceVersion } }: KubeObject): ListMeta =>
  resourceVersion === undefined ? {} : { resourceVersion };
