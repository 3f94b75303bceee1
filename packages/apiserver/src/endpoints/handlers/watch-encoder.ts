// Encodes what one watch sends in the form that its client asked for, as JSON lines or as frames of protobuf.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import {
  asGoWrites,
  encodeProtobufEvent,
  encodeProtobufObject,
  isProtobufKind,
} from "@postern/apimachinery/protobuf/protobuf-object";
import { CachedObject } from "../../cache/cached-object.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { WatchEventType } from "../../registry/resource-storage.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type ConversionContext, tableConverter } from "../negotiation/convert-object.ts";
import type { OutputMedia } from "../negotiation/negotiate-output.ts";
import { partialObjectMetadata } from "../negotiation/partial-object-metadata.ts";
import { JsonPathBudget } from "../table/json-path.ts";
import { parseIncludeObject, tableOfBookmark, tableOfObject } from "../table/table.ts";
import { TableBudget, WORK_PER_OBJECT } from "../table/table-cells.ts";
import type { EventLine, EventLines, LineForm } from "./event-lines.ts";

const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export type WatchEncoder = {
  /** @throws NoFrameError in a form that no event has */
  event(type: WatchEventType, object: CachedObject): Uint8Array;
  /** The line of an object of the state that the watch begins with, whose cells have a budget together. */
  initial(object: CachedObject): Uint8Array;
  /** Whether the line of an event can be made and sent in this turn of the event loop. */
  hasTime(type: WatchEventType, object: CachedObject): boolean;
  bookmark(resourceVersion: string): Uint8Array;
  /** The bookmark behind the initial state. */
  initialEventsEnd(resourceVersion: string): Uint8Array;
  error(error: ApiError): Uint8Array;
  /** Work that objects in other forms have taken so far, in bytes and visited values. */
  readonly work: number;
};

export function createWatchEncoder(
  context: ConversionContext,
  definition: ResourceDefinition,
  output: OutputMedia,
  { clock, eventLines }: { readonly clock: Clock; readonly eventLines: EventLines },
): WatchEncoder {
  const forms = lineForms(context, definition, output, clock);
  const empty = emptyObject(definition);
  /** The budget of the state that the watch begins with, as of a list. */
  const budget = new TableBudget();
  let cost = 0;
  let isFirst = true;
  const formNow = (): LineForm | undefined => (isFirst ? forms?.first : forms?.later);
  const send = (form: LineForm, type: WatchEventType, object: CachedObject, limit?: number): EventLine => {
    const line = eventLines.converted(form, type, object, limit);
    isFirst = false;
    cost += line.cost;
    return line;
  };
  const bookmark = (metadata: ObjectMeta): Uint8Array => {
    const object = { ...empty, metadata };
    const line = formNow()?.render("BOOKMARK", object, undefined).bytes ?? jsonLine("BOOKMARK", object);
    isFirst = false;
    return line;
  };
  return {
    event(type, object) {
      const form = formNow();
      return form === undefined ? eventLines.plain(type, object) : send(form, type, object).bytes;
    },
    initial(object) {
      const form = formNow();
      if (form === undefined) return eventLines.plain("ADDED", object);
      const limit = budget.nextRow();
      const { bytes, work } = send(form, "ADDED", object, limit < WORK_PER_OBJECT ? limit : undefined);
      budget.spend(work);
      return bytes;
    },
    hasTime: (type, object) => eventLines.hasTime(formNow(), type, object),
    bookmark: (resourceVersion) => bookmark({ resourceVersion }),
    initialEventsEnd: (resourceVersion) => bookmark({ resourceVersion, annotations: { [INITIAL_EVENTS_END]: "true" } }),
    get work() {
      return cost;
    },
    error: (error) => lineOf(output)("ERROR", error.toStatus()),
  };
}

/** A bookmark is an object without content, which Go writes with the members that its structs always have. */
function emptyObject(definition: ResourceDefinition): Pick<KubeObject, "kind" | "apiVersion"> {
  const type = { kind: definition.kind, apiVersion: formatApiVersion(definition) };
  return isProtobufKind(type.apiVersion, type.kind) ? { ...type, ...asGoWrites(type) } : type;
}

/** A watch in a form that no event has: it ends without a frame, as in kube-apiserver. */
export class NoFrameError extends Error {
  override readonly name = "NoFrameError";
}

/**
 * The forms of the first line of a watch, and of those behind it: only the first Table defines its columns. Undefined when objects are sent as they
 * are.
 * @throws ApiError 400 for an unknown `includeObject`
 */
function lineForms(
  context: ConversionContext,
  definition: ResourceDefinition,
  output: OutputMedia,
  clock: Clock,
): { readonly first: LineForm; readonly later: LineForm } | undefined {
  const { convert, format } = output;
  if (convert === undefined && format === "json") return undefined;
  const apiVersion = convert === undefined ? "" : formatApiVersion(convert);
  if (convert?.kind !== "Table") {
    const form: LineForm = {
      definition,
      id: `${format} ${convert?.kind} ${apiVersion}`,
      tick: () => 0,
      render(type, object) {
        if (convert?.kind === "PartialObjectMetadataList") throw new NoFrameError("an event is no list");
        const shown = convert === undefined ? decoded(object) : partialObjectMetadata(decoded(object), apiVersion);
        return { bytes: lineOf(output)(type, shown), work: 0, isWhole: true };
      },
    };
    return { first: form, later: form };
  }
  const now = () => clock.now();
  const converter = tableConverter(context, convert, definition, now);
  const tableForm = ({ columns }: { readonly columns: boolean }): LineForm => ({
    definition,
    id: `Table ${apiVersion} ${parseIncludeObject(context.request.query)} ${columns}`,
    // Timestamps are in seconds, and so are the shortest ages.
    tick: () => Math.floor(now() / 1000),
    render(type, object, limit = WORK_PER_OBJECT) {
      const own = new JsonPathBudget(limit);
      const table =
        type === "BOOKMARK"
          ? tableOfBookmark(converter, decoded(object), { columns })
          : tableOfObject(converter, decoded(object), { columns, budget: own });
      const bytes = jsonLine(type, table);
      // The limit of an object holds in every watch.
      return { bytes, work: own.spent, isWhole: own.spent <= limit || limit === WORK_PER_OBJECT };
    },
  });
  return { first: tableForm({ columns: true }), later: tableForm({ columns: false }) };
}

const jsonLine = (type: string, object: JsonObject): Uint8Array =>
  Buffer.from(`{"type":"${type}","object":${stringifyJson(object)}}\n`);

const protobufFrame = (type: string, object: JsonObject): Uint8Array =>
  encodeProtobufEvent(type, encodeProtobufObject(object));

const lineOf = ({ format }: OutputMedia) => (format === "protobuf" ? protobufFrame : jsonLine);

/** Bookmarks are no objects of the cache. */
const decoded = (object: CachedObject | KubeObject): KubeObject =>
  object instanceof CachedObject ? object.decode() : object;
