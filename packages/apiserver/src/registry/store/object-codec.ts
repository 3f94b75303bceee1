// Between an object and its stored value, also where a resource is a view of another one's records.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion, type GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { applyDefaults } from "@postern/apimachinery/schema/default";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import type { CacheEvent, CacheView } from "../../cache/watch-cache.ts";
import type { StoredEntry } from "../../storage/storage.ts";
import type { StoredKind } from "../resource-definition.ts";

export type ObjectCodec = {
  encode(object: KubeObject, sealed: JsonObject | undefined): Uint8Array;
  decode(entry: StoredEntry): CachedObject;
};

/** Objects are stored as they are served. */
export const plainCodec: ObjectCodec = {
  encode: encodeStoredValue,
  decode: (entry) => CachedObject.fromEntry(entry),
};

type ServedKind = GroupVersionKind & { readonly schema: StructuralSchema };

/** Objects are served as one kind and stored as another. */
export function viewCodec(served: ServedKind, stored: StoredKind): ObjectCodec {
  const show = presentAs(served, stored);
  return {
    encode: (object, sealed) => encodeStoredValue(toStored(object, stored), sealed),
    decode: (entry) => show(CachedObject.fromEntry(entry)),
  };
}

/** A view of the same records under the served kind. */
export function presentView(view: CacheView, served: ServedKind, stored: StoredKind): CacheView {
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

/** Upstream fills in the defaults of the stored version when it reads an object; here it never gets into the store without them. */
function toStored(object: KubeObject, { schema, ...stored }: StoredKind): KubeObject {
  const renamed: KubeObject = { ...object, apiVersion: formatApiVersion(stored), kind: stored.kind };
  if (schema === undefined) return renamed;
  const { value } = pruneUnknownFields(renamed, schema, { isResourceRoot: true });
  // Neither takes away what every object has, or makes it into something else.
  return applyDefaults(value, schema) as KubeObject;
}

/** Where both have one shape, only the kind differs, which stands at the very front of the bytes: the rest is copied as it is. */
function presentAs(served: ServedKind, stored: StoredKind): (object: CachedObject) => CachedObject {
  if (stored.schema !== undefined) return (object) => object.withContent(toServed(object.decode(), served));
  const head = Buffer.from(headOf(served));
  const storedHead = headOf(stored).length;
  return (object) => object.withHead(head, storedHead);
}

function toServed(object: KubeObject, { schema, ...served }: ServedKind): KubeObject {
  const renamed: KubeObject = { ...object, apiVersion: formatApiVersion(served), kind: served.kind };
  // Nothing that every object has is taken away.
  return pruneUnknownFields(renamed, schema, { isResourceRoot: true }).value as KubeObject;
}

const headOf = (kind: GroupVersionKind): string =>
  `{"apiVersion":${JSON.stringify(formatApiVersion(kind))},"kind":${JSON.stringify(kind.kind)}`;
