// Converts between objects and stored values, also for resources that are a view of other records, or whose schema has changed.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (crdConversionRESTOptionsGetter)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, type GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { applyDefaults, DefaultsRoom, pruneNulls } from "@postern/apimachinery/schema/default";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { equalButFor } from "@postern/structured-merge/managedfields/object-managed-fields";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import type { CacheEvent, CacheObserver, CacheView } from "../../cache/watch-cache.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Revision, StoredEntry } from "../../storage/storage.ts";
import type { KindConversion, ResourceDefinition } from "../resource-definition.ts";
import { ConvertedObjectBudget, fixedConversionMemory } from "./converted-object-budget.ts";

/** For whom something is read or written: conversions ask others, and take their time. */
export type CodecCaller = Pick<RequestContext, "signal" | "outside" | "weigh" | "pause">;

export type ObjectCodec = {
  encode(object: KubeObject, sealed: JsonObject | undefined, caller: CodecCaller): Awaitable<Uint8Array>;
  /** In the same order. */
  decode(entries: readonly StoredEntry[], caller: CodecCaller): Awaitable<readonly CachedObject[]>;
  /** True where what is decoded of a value is what was encoded, but for the version. */
  readonly isLossless: boolean;
  /** True where objects are stored as they are served. */
  readonly isVerbatim?: boolean;
  /** True where views have records as they are stored, and only `decode` tells what clients see of them. */
  readonly isAsked?: boolean;
  /** Undefined where records are shown as they are. `memory` is that of the surface. */
  readonly show?: (record: CachedObject, memory: ConvertedObjectBudget) => CachedObject;
  /** Set where showing a record takes work for each version. Whether it has been done. */
  readonly isShown?: (record: CachedObject) => boolean;
  /** Whether the store already contains `object`: `current` is the cached object and decodes to `old`. */
  isStored(object: KubeObject, old: KubeObject, current: CachedObject, caller: CodecCaller): Awaitable<boolean>;
};

/** API surfaces that serve the same definition share its codec. Definitions never change. */
const codecs = new WeakMap<ResourceDefinition, ObjectCodec>();

export function codecOf(definition: ResourceDefinition): ObjectCodec {
  const known = codecs.get(definition) ?? createCodec(definition);
  codecs.set(definition, known);
  return known;
}

function createCodec(definition: ResourceDefinition): ObjectCodec {
  const { storedAs, storedSchemas, conversion } = definition;
  if (conversion !== undefined) return shapingCodec(conversion);
  if (storedSchemas !== undefined) return convertingCodec(definition, storedAs ?? definition, storedSchemas);
  return storedAs === undefined ? plainCodec : viewCodec(definition, storedAs);
}

const plainCodec: ObjectCodec = {
  isLossless: true,
  isVerbatim: true,
  encode: encodeStoredValue,
  decode: (entries) => entries.map((entry) => CachedObject.fromEntry(entry)),
  isStored: equalButForVersion,
};

/** Objects are served in one shape and stored in another. */
function shapingCodec({ toServed, toStored }: KindConversion): ObjectCodec {
  /** Results by record: lists and watches read the same records again and again. */
  const shown = new WeakMap<CachedObject, CachedObject>();
  function show(record: CachedObject): CachedObject {
    const result = shown.get(record) ?? record.withContent(toServed(record.decode()));
    shown.set(record, result);
    return result;
  }
  return {
    isLossless: false,
    encode: (object, sealed) => encodeStoredValue(toStored(object), sealed),
    decode: (entries) => entries.map((entry) => show(CachedObject.fromEntry(entry))),
    show,
    isStored: equalButForVersion,
  };
}

/** Objects are served as one kind and stored as another of the same shape: the kind stands at the very front, the rest of the bytes is copied. */
function viewCodec(served: GroupVersionKind, stored: GroupVersionKind): ObjectCodec {
  const head = Buffer.from(headOf(served));
  const storedHead = headOf(stored).length;
  const show = (record: CachedObject): CachedObject => record.withHead(head, storedHead);
  return {
    isLossless: true,
    encode: (object, sealed) => encodeStoredValue(asKind(object, stored), sealed),
    decode: (entries) => entries.map((entry) => show(CachedObject.fromEntry(entry))),
    show,
    isStored: equalButForVersion,
  };
}

type ServedKind = GroupVersionKind & { readonly schema: StructuralSchema };

/**
 * Objects have been written in any version, when its schema may have been another: they are read by the schema that it has now, which
 * prunes them and fills in defaults, and then go without conversion to the version that is served, which prunes them once more.
 */
function convertingCodec(
  served: ServedKind,
  stored: GroupVersionKind,
  schemas: ReadonlyMap<string, StructuralSchema>,
): ObjectCodec {
  const [servedVersion, storedVersion] = [served, stored].map(formatApiVersion);
  const storedSchema = schemas.get(storedVersion ?? "");
  /** Results by record: lists and watches read the same records again and again. */
  const shown = new WeakMap<CachedObject, CachedObject>();

  const inVersion = (read: KubeObject): KubeObject =>
    read.apiVersion === servedVersion ? read : coerced(asKind(read, served), served.schema);
  function toStored(object: KubeObject): KubeObject {
    if (servedVersion === storedVersion || storedSchema === undefined) return asKind(object, stored);
    return coerced(asKind(object, stored), storedSchema);
  }
  function show(record: CachedObject, memory: ConvertedObjectBudget): CachedObject {
    const known = shown.get(record);
    if (known !== undefined) return known;
    const object = record.decode();
    const seen = inVersion(bySchemaOfItsVersion(object, schemas));
    if (seen === object) {
      shown.set(record, record);
      return record;
    }
    const result = record.withContent(seen);
    if (memory.keeps(result)) shown.set(record, result);
    else if (isMuchLarger(result, record)) return withoutDefaults(record, object);
    return result;
  }
  /** Without the defaults that have come since it was written. */
  const withoutDefaults = (record: CachedObject, object: KubeObject): CachedObject =>
    object.apiVersion === servedVersion ? record : record.withContent(inVersion(object));

  return {
    isLossless: false,
    encode: (object, sealed) => encodeStoredValue(toStored(object), sealed),
    decode(entries) {
      const memory = new ConvertedObjectBudget(fixedConversionMemory(MAX_DECODED_BYTES));
      return entries.map((entry) => show(CachedObject.fromEntry(entry), memory));
    },
    show,
    ...(schemas.size > 1 ? { isShown: (record: CachedObject) => shown.has(record) } : {}),
    // As upstream, which compares what would be written: a write that changes nothing else still brings the record up to its schema.
    isStored: (object, _, current) => equalButForVersion(toStored(object), current.record.decode()),
  };
}

/** Beyond what may be kept, defaults that have come since it was written may add this much to an object. */
const MAX_GROWTH_BYTES = 4 * 1024;

export const isMuchLarger = (shown: CachedObject, record: CachedObject): boolean =>
  shown.byteLength > record.byteLength + MAX_GROWTH_BYTES;

/** The same for what one answer reads from the history of the store. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024;

/** As the version in which it was written has it now; without new defaults where those have no room. */
export function bySchemaOfItsVersion(
  record: KubeObject,
  schemas: ReadonlyMap<string, StructuralSchema>,
  room = new DefaultsRoom(),
): KubeObject {
  const schema = schemas.get(record.apiVersion);
  if (schema === undefined) return record;
  const known = pruned(record, schema);
  try {
    return asObject(applyDefaults(known, schema, room));
  } catch (error) {
    if (isApiError(error)) return asObject(pruneNulls(known, schema));
    throw error;
  }
}

export const coerced = (object: KubeObject, schema: StructuralSchema): KubeObject =>
  asObject(pruneNulls(pruned(object, schema), schema));

const pruned = (object: KubeObject, schema: StructuralSchema) =>
  pruneUnknownFields(object, schema, { isResourceRoot: true }).value;

/** Neither pruning nor defaults take away what every object has, or make it into something else. */
const asObject = (value: unknown): KubeObject => value as KubeObject;

const asKind = (object: KubeObject, kind: GroupVersionKind): KubeObject => ({
  ...object,
  apiVersion: formatApiVersion(kind),
  kind: kind.kind,
});

export function equalButForVersion(a: KubeObject, b: KubeObject): boolean {
  return equalButFor("resourceVersion", a, b);
}

/** The records of a view as a codec shows them. */
export class PresentedView implements CacheView {
  readonly #view: CacheView;
  readonly #show: (record: CachedObject) => CachedObject;

  constructor(view: CacheView, show: (record: CachedObject) => CachedObject) {
    this.#view = view;
    this.#show = show;
  }

  get revision(): Revision {
    return this.#view.revision;
  }

  get changedRevision(): Revision {
    return this.#view.changedRevision;
  }

  get size(): number {
    return this.#view.size;
  }

  count(...call: Parameters<CacheView["count"]>): number {
    return this.#view.count(...call);
  }

  get(key: string): CachedObject | undefined {
    const object = this.#view.get(key);
    return object === undefined ? undefined : this.#show(object);
  }

  list(...call: Parameters<CacheView["list"]>): readonly CachedObject[] {
    return this.#view.list(...call).map(this.#show);
  }

  subscribe(prefix: string, fromRevision: Revision, observer: CacheObserver): Disposable {
    const show = this.#show;
    const present = (event: CacheEvent): CacheEvent =>
      event.type === "put"
        ? {
            type: "put",
            object: show(event.object),
            previous: event.previous === undefined ? undefined : show(event.previous),
          }
        : { type: "delete", object: show(event.object), previous: show(event.previous) };
    return this.#view.subscribe(prefix, fromRevision, {
      ...observer,
      events: (events) => observer.events(events.map(present)),
    });
  }
}

const headOf = (kind: GroupVersionKind): string =>
  `{"apiVersion":${JSON.stringify(formatApiVersion(kind))},"kind":${JSON.stringify(kind.kind)}`;
