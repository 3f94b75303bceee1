// Between an object and its stored value, also where a resource is a view of another one's records.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion, type GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import type { CacheEvent, CacheView } from "../../cache/watch-cache.ts";
import type { StoredEntry } from "../../storage/storage.ts";

export type ObjectCodec = {
  encode(object: KubeObject, sealed: JsonObject | undefined): Uint8Array;
  decode(entry: StoredEntry): CachedObject;
};

/** Objects are stored as they are served. */
export const plainCodec: ObjectCodec = {
  encode: encodeStoredValue,
  decode: (entry) => CachedObject.fromEntry(entry),
};

/** Objects are served as one kind and stored as another of the same shape. */
export function viewCodec(served: GroupVersionKind, stored: GroupVersionKind): ObjectCodec {
  const show = presentAs(served, stored);
  return {
    encode: (object, sealed) =>
      encodeStoredValue({ ...object, apiVersion: formatApiVersion(stored), kind: stored.kind }, sealed),
    decode: (entry) => show(CachedObject.fromEntry(entry)),
  };
}

/** A view of the same records under the served kind. */
export function presentView(view: CacheView, served: GroupVersionKind, stored: GroupVersionKind): CacheView {
  const show = presentAs(served, stored);
  const present = (event: CacheEvent): CacheEvent =>
    event.type === "put"
      ? {
          type: "put",
          object: show(event.object),
          previous: event.previous === undefined ? undefined : show(event.previous),
        }
      : { type: "delete", object: show(event.object), previous: show(event.previous) };
  return {
    get revision() {
      return view.revision;
    },
    get changedRevision() {
      return view.changedRevision;
    },
    get size() {
      return view.size;
    },
    count: (prefix, startAfter) => view.count(prefix, startAfter),
    get(key) {
      const object = view.get(key);
      return object === undefined ? undefined : show(object);
    },
    list: (prefix, options) => view.list(prefix, options).map(show),
    subscribe: (prefix, fromRevision, observer) =>
      view.subscribe(prefix, fromRevision, { ...observer, events: (events) => observer.events(events.map(present)) }),
  };
}

/** Both kinds stand at the very front of the bytes, so the rest is copied as it is. */
function presentAs(served: GroupVersionKind, stored: GroupVersionKind): (object: CachedObject) => CachedObject {
  const head = Buffer.from(headOf(served));
  const storedHead = headOf(stored).length;
  return (object) => object.withBytes(Buffer.concat([head, object.bytes.subarray(storedHead)]));
}

const headOf = (kind: GroupVersionKind): string =>
  `{"apiVersion":${JSON.stringify(formatApiVersion(kind))},"kind":${JSON.stringify(kind.kind)}`;
