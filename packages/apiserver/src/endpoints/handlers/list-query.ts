// Reads the options of a list, watch or deletecollection, and rejects invalid combinations.

import { badRequestError, invalidObjectError } from "@postern/apimachinery/meta/api-error";
import {
  compileFieldSelector,
  type ParsedFieldSelector,
  parseFieldSelector,
} from "@postern/apimachinery/selectors/field-selector";
import { type ParsedLabelSelector, parseLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { type ListOptions, validateListOptions } from "@postern/apimachinery/validation/list-options";
import type { RequestContext } from "../../context/request-context.ts";
import type { ListQuery, Selection, WatchQuery } from "../../registry/resource-storage.ts";
import { listOptionsOf } from "../../request/query-options.ts";

const LIST_OPTIONS = { group: "meta.k8s.io", kind: "ListOptions" };

/** The options of the query, checked. Throws 400 or 422. */
export function readListOptions({ request }: RequestContext): ListOptions {
  // A watch by its path (`/watch/<plural>`) has the options of a list, as upstream.
  const options = withWatchDefaults(listOptionsOf(request.query));
  const errors = validateListOptions(options);
  if (errors.length === 0) return options;
  // Parameters that cannot be read are reported before those that make no sense.
  labelsOf(options.labelSelector);
  parsedFields(options.fieldSelector);
  throw invalidObjectError(LIST_OPTIONS, "", errors);
}

/**
 * A watch from no version, or from any, begins with what there is: the older way of asking for initial events.
 * Source: k8s.io/apimachinery/pkg/apis/meta/internalversion/defaults.go
 */
function withWatchDefaults(options: ListOptions): ListOptions {
  const { watch, sendInitialEvents, resourceVersionMatch = "", resourceVersion = "" } = options;
  if (watch !== true || sendInitialEvents !== undefined || resourceVersionMatch !== "") return options;
  if (resourceVersion !== "" && resourceVersion !== "0") return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
}

export function listQueryOf(options: ListOptions, context: RequestContext): ListQuery {
  return {
    ...selectionOf(options, context),
    limit: options.limit ?? 0,
    continue: options.continue ?? "",
    resourceVersion: options.resourceVersion ?? "",
    resourceVersionMatch: options.resourceVersionMatch ?? "",
  };
}

export function watchQueryOf(options: ListOptions, context: RequestContext): WatchQuery {
  return {
    ...selectionOf(options, context),
    resourceVersion: options.resourceVersion ?? "",
    allowWatchBookmarks: options.allowWatchBookmarks ?? false,
    sendInitialEvents: options.sendInitialEvents,
  };
}

function selectionOf({ labelSelector, fieldSelector }: ListOptions, { info }: RequestContext): Selection {
  const labels = labelsOf(labelSelector);
  const fields = fieldsOf(fieldSelector, info.name);
  return {
    namespace: info.namespace,
    ...(labels === undefined ? {} : { labelSelector: labels }),
    ...(fields === undefined ? {} : { fieldSelector: fields }),
  };
}

const labelsOf = (labelSelector = ""): ParsedLabelSelector | undefined =>
  labelSelector === "" ? undefined : parse(parseLabelSelector, labelSelector);

const parsedFields = (fieldSelector = ""): ParsedFieldSelector | undefined =>
  fieldSelector === "" ? undefined : parse(parseFieldSelector, fieldSelector);

/**
 * A watch below a name (`/watch/<plural>/<name>`), and what selects one by `metadata.name`, is authorised for that object, and sees
 * no other.
 */
function fieldsOf(fieldSelector: string | undefined, name: string): ParsedFieldSelector | undefined {
  const fields = parsedFields(fieldSelector);
  if (name === "") return fields;
  if (fields === undefined || fields.empty)
    return compileFieldSelector([{ field: "metadata.name", operator: "=", value: name }]);
  if (fields.requiresExactMatch("metadata.name") === name) return fields;
  throw badRequestError("fieldSelector metadata.name doesn't match requested name");
}

function parse<T>(parser: (text: string) => T, text: string): T {
  try {
    return parser(text);
  } catch (error) {
    throw badRequestError(error instanceof Error ? error.message : String(error), error);
  }
}
