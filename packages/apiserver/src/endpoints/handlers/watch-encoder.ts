// Encodes watch events as JSON lines. Watches of the same objects share the encoded line.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { listKindOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { WatchEventType } from "../../registry/resource-storage.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { OutputMedia } from "../negotiation/negotiate-output.ts";
import { encodeKept, jsonTextOf, type ObjectValue, watchConversion } from "../negotiation/object-response.ts";

const INITIAL_EVENTS_END = "k8s.io/initial-events-end";
const LIST_BLUEPRINT = "kubernetes.io/initial-events-list-blueprint";

export type WatchEncoder = {
  event(type: WatchEventType, object: CachedObject): Uint8Array;
  /** `isInitialEnd` marks the bookmark behind the initial state. */
  bookmark(resourceVersion: string, isInitialEnd: boolean): Uint8Array;
  error(error: ApiError): Uint8Array;
  /** Work that the cells of Tables have taken so far, in visited values. */
  readonly work: number;
};

/** Makes the line of an event, once for all who are notified of it. */
export type EventLines = (type: WatchEventType, object: CachedObject) => Uint8Array;

/** Enough for what one commit holds. */
const REMEMBERED_BYTES = 1 << 20;

/** Each watcher gets all events of a commit before the next watcher, so the lines of a commit are cached together. */
export function createEventLines(): EventLines {
  const lines = new Map<CachedObject, { readonly type: WatchEventType; readonly line: Uint8Array }>();
  let size = 0;
  return (type, object) => {
    const known = lines.get(object);
    if (known?.type === type) return known.line;
    const line = encodeKept(object, `{"type":"${type}","object":`, "}\n");
    size += line.length;
    if (size > REMEMBERED_BYTES) {
      lines.clear();
      size = line.length;
    }
    lines.set(object, { type, line });
    return line;
  };
}

export function createWatchEncoder(
  context: RequestContext,
  definition: ResourceDefinition,
  output: OutputMedia,
  { clock, eventLines }: { readonly clock: Clock; readonly eventLines: EventLines },
): WatchEncoder {
  const conversion = watchConversion(context, output, definition, clock);
  const blueprint = listBlueprint(definition, output);
  const initialEventsEnd = {
    [INITIAL_EVENTS_END]: "true",
    ...(blueprint === undefined ? {} : { [LIST_BLUEPRINT]: blueprint }),
  };
  const encode = (type: string, value: ObjectValue): Uint8Array =>
    Buffer.from(`{"type":"${type}","object":${jsonTextOf(conversion?.convert(value) ?? value)}}\n`);
  return {
    event: (type, object) => (conversion === undefined ? eventLines(type, object) : encode(type, object)),
    bookmark: (resourceVersion, isInitialEnd) =>
      encode("BOOKMARK", {
        kind: definition.kind,
        apiVersion: formatApiVersion(definition),
        metadata: { resourceVersion, ...(isInitialEnd ? { annotations: initialEventsEnd } : {}) },
      }),
    get work() {
      return conversion?.work ?? 0;
    },
    error: (error) => Buffer.from(`{"type":"ERROR","object":${stringifyJson(error.toStatus())}}\n`),
  };
}

/**
 * The list without items, as the client would have been sent it: what clients put the initial events into when they take a watch
 * for a list. There is no such list of Tables.
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go (watchListTransformer)
 */
function listBlueprint(definition: ResourceDefinition, { convert }: OutputMedia): string | undefined {
  if (convert?.kind === "Table") return undefined;
  const list =
    convert === undefined
      ? { apiVersion: formatApiVersion(definition), items: [], kind: listKindOf(definition) }
      : { kind: "PartialObjectMetadataList", apiVersion: formatApiVersion(convert), metadata: {}, items: null };
  return Buffer.from(`${stringifyJson(list)}\n`).toString("base64");
}
