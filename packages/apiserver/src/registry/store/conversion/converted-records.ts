// Served objects of records that a converter brings from the version in which they were written to another one: each is converted once, when it is
// first read, for all readers.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (crdConversionRESTOptionsGetter)

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { DefaultsRoom } from "@postern/apimachinery/schema/default";
import { CachedObject, encodeStoredValue } from "../../../cache/cached-object.ts";
import { createMemberReader } from "../../../cache/read-members.ts";
import type { CacheView } from "../../../cache/watch-cache.ts";
import type { ConversionCaller, ObjectConverter } from "../../object-converter.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";
import type { ConvertedObjectBudget } from "../converted-object-budget.ts";
import {
  bySchemaOfItsVersion,
  type CodecCaller,
  coerced,
  equalButForVersion,
  isMuchLarger,
  type ObjectCodec,
} from "../object-codec.ts";

export type ConvertedRecords = {
  /** As the version of the definition shows it; undefined where it has not been converted yet. */
  known(record: CachedObject): CachedObject | undefined;
  /** All of them, in the same order. Rejects with the ApiError of the converter. */
  of(records: readonly CachedObject[], caller: CodecCaller): Promise<readonly CachedObject[]>;
  readonly codec: ObjectCodec;
};

/** Objects of one call of the converter: an answer is read in one go. */
const MAX_OBJECTS = 100;
const MAX_BYTES = 256 * 1024;

const readVersion = createMemberReader({ apiVersion: true });

/** `view` has the records of the definition. */
export function createConvertedRecords(
  definition: ResourceDefinition,
  converter: ObjectConverter,
  view: CacheView,
  memory: ConvertedObjectBudget,
): ConvertedRecords {
  const stored = definition.storedAs ?? definition;
  const [servedVersion, storedVersion] = [formatApiVersion(definition), formatApiVersion(stored)];
  const schemas = definition.storedSchemas ?? new Map();
  const storedSchema = schemas.get(storedVersion) ?? definition.schema;
  const shown = new WeakMap<CachedObject, CachedObject>();
  const underWay = new WeakMap<CachedObject, Promise<void>>();
  /** An update compares what it would write before it writes it. */
  const encoded = new WeakMap<KubeObject, Promise<KubeObject>>();

  function keep(record: CachedObject, result: CachedObject): boolean {
    if (result !== record && !memory.keeps(result)) return false;
    shown.set(record, result);
    return true;
  }

  function known(record: CachedObject): CachedObject | undefined {
    const found = shown.get(record);
    if (found !== undefined || record.read(readVersion)["apiVersion"] !== servedVersion) return found;
    const object = record.decode();
    const seen = bySchemaOfItsVersion(object, schemas);
    const result = seen === object ? record : record.withContent(seen);
    return keep(record, result) || !isMuchLarger(result, record) ? result : record;
  }

  async function convertBatch(records: readonly CachedObject[], caller: ConversionCaller): Promise<void> {
    const objects: KubeObject[] = [];
    const room = new DefaultsRoom();
    for (const record of records) {
      await caller.pause();
      objects.push(withoutRevision(bySchemaOfItsVersion(record.decode(), schemas, room)));
    }
    // Those that have been written in one version are asked about together.
    for (const version of new Set(objects.map(({ apiVersion }) => apiVersion))) {
      const indices = [...objects.keys()].filter((index) => objects[index]?.apiVersion === version);
      const asked = indices.flatMap((index) => objects[index] ?? []);
      const answers = await converter.convert(asked, definition, caller);
      for (const [place, index] of indices.entries()) {
        await caller.pause();
        const [record, answer] = [records[index], answers[place]];
        if (record === undefined || answer === undefined) continue;
        if (!keep(record, record.withContent(coerced(answer, definition.schema)))) throw fullError();
      }
    }
  }

  /** One batch after the other; those that are not begun when the caller is gone are left to others that wait for them. */
  function begin(records: readonly CachedObject[], caller: CodecCaller): void {
    const shared = lasting(caller);
    let before: Promise<void> = Promise.resolve();
    for (const batch of batchesOf(records)) {
      const turn = before.then(async () => {
        if (caller.signal.aborted) throw new AbandonedError();
        await convertBatch(batch, shared);
      });
      const settled = turn.finally(() => {
        for (const record of batch) underWay.delete(record);
      });
      // Requests that wait for the batch receive the error.
      settled.catch(() => {});
      for (const record of batch) underWay.set(record, settled);
      before = settled;
    }
  }

  async function of(records: readonly CachedObject[], caller: CodecCaller): Promise<readonly CachedObject[]> {
    for (;;) {
      const missing = records.filter((record) => known(record) === undefined);
      if (missing.length === 0) return records.map((record) => known(record) ?? record);
      const fresh = missing.filter((record) => !underWay.has(record));
      begin(fresh, caller);
      const waits = new Set(missing.map((record) => underWay.get(record)));
      try {
        await outside(caller, () => untilAborted(Promise.all(waits), caller.signal));
      } catch (error) {
        if (!(error instanceof AbandonedError)) throw error;
        caller.signal.throwIfAborted();
      }
    }
  }

  async function toStored(object: KubeObject, caller: CodecCaller): Promise<KubeObject> {
    if (servedVersion === storedVersion) return object;
    const [converted] = await outside(caller, () => converter.convert([withoutRevision(object)], stored, caller));
    return coerced(converted ?? object, storedSchema);
  }
  function encodedOf(object: KubeObject, caller: CodecCaller): Promise<KubeObject> {
    const made = encoded.get(object) ?? toStored(object, caller);
    encoded.set(object, made);
    return made;
  }

  const codec: ObjectCodec = {
    isLossless: false,
    isAsked: true,
    async encode(object, sealed, caller) {
      return encodeStoredValue(await encodedOf(object, caller), sealed);
    },
    async decode(entries, caller) {
      const records = entries.map((entry) => {
        const cached = view.get(entry.key);
        return cached?.revision === entry.revision ? cached : CachedObject.fromEntry(entry);
      });
      return await of(records, caller);
    },
    async isStored(object, _, current, caller) {
      return equalButForVersion(await encodedOf(object, caller), current.record.decode());
    },
  };
  return { known, of, codec };
}

const fullError = (): ApiError =>
  new ApiError({
    code: 507,
    reason: "InsufficientStorage",
    message:
      "the objects of this API take too much memory in versions that they are not stored in: read fewer of them, or in the stored version",
  });

/** Its requester went away before it was begun. */
class AbandonedError extends Error {
  override readonly name = "AbandonedError";
}

/** Work that several requests may wait for does not end with the request that began it. */
const lasting = (caller: CodecCaller): ConversionCaller => ({
  signal: new AbortController().signal,
  weigh: (bytes) => caller.weigh(bytes),
  pause: () => caller.pause(),
});

const outside = <T>(caller: CodecCaller, work: () => Promise<T>): Promise<T> =>
  caller.outside === undefined ? work() : caller.outside(work);

function withoutRevision(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function* batchesOf(records: readonly CachedObject[]): Iterable<readonly CachedObject[]> {
  let batch: CachedObject[] = [];
  let bytes = 0;
  for (const record of records) {
    if (batch.length > 0 && (batch.length === MAX_OBJECTS || bytes + record.byteLength > MAX_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += record.byteLength;
  }
  if (batch.length > 0) yield batch;
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
