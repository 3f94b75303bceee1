// Reads watch events from a stream of JSON lines.
// Source: k8s.io/apimachinery/pkg/watch, k8s.io/client-go/rest/watch

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { isStatus, responseError, statusError } from "./response-error.ts";

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /** The server has sent everything up to this version. `initialEventsEnd`: the initial state is complete. */
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

/** Annotation of the bookmark that ends the initial events. */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** Throws ApiError for an ERROR event, such as 410 Expired. Drops an incomplete last line. */
export async function* readWatchEvents<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<WatchEvent<T>> {
  for await (const line of readLines(body)) {
    const event = parseJson(line);
    const object = isJsonObject(event) ? event["object"] : undefined;
    if (!isJsonObject(event) || !isJsonObject(object))
      throw new TypeError("the server sent a watch event without object");
    switch (event["type"]) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        // The caller provides the type that the server serves at this address.
        yield { type: event["type"], object: object as unknown as T };
        break;
      case "BOOKMARK": {
        // A bookmark is an object with nothing but metadata.
        const { resourceVersion = "", annotations } = (object as KubeObject).metadata;
        yield { type: "BOOKMARK", resourceVersion, initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === "true" };
        break;
      }
      case "ERROR":
        throw isStatus(object) ? statusError(object) : responseError(500, object);
      default:
    }
  }
}

/** The complete lines of a stream. Pieces are joined once per line, so that the cost is linear in the length of the line. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      pieces.push(text.slice(start, end));
      const line = pieces.join("");
      pieces = [];
      start = end + 1;
      if (line.trim() !== "") yield line;
    }
    if (start < text.length) pieces.push(text.slice(start));
  }
}
