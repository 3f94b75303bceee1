// Internal records of the server beside the objects of one API surface. No resource serves them.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { KeyExistsError } from "@postern/apiserver/storage/storage-errors";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { KeyRing } from "./key-ring.ts";
import { createSealedValues, type SealedValues } from "./sealed-value.ts";

export type InternalRecords = {
  /** Whether it is there; does not open it. */
  has(name: string): Promise<boolean>;
  /** Undefined without one. Throws if it cannot be decrypted. */
  read(name: string): Promise<JsonObject | undefined>;
  /** Writes a record that is not there yet, and gives the one that then is: of two writers both get the first one's. */
  create(name: string, record: JsonObject): Promise<JsonObject>;
  replace(name: string, record: JsonObject): Promise<void>;
  /**
   * Writes what `change` makes of the record, and gives it. `change` is called again where another writer was faster; undefined changes nothing.
   * Undefined where there is no record.
   */
  update(name: string, change: (record: JsonObject) => JsonObject | undefined): Promise<JsonObject | undefined>;
};

/** No group has this name: groups with dots belong to resources, and those without are few and known. */
const GROUP = "internal";

/** The part of the store that belongs to a virtual cluster; by uid, so that a name that is used again inherits nothing. */
export const virtualClusterComposition = (uid: string): string => `vc-${uid}`;

/** Everything that a composition has in the store begins with this. */
export const compositionPrefix = (composition: string): string => `/registry/${composition}/`;

/** Values that seal the records of all compositions. */
export type InternalValues = SealedValues & {
  /** Looks for keys that others have put on the ring meanwhile. */
  refresh(): Promise<void>;
};

export const createInternalValues = (keyRing: KeyRing, random: Random): InternalValues => ({
  ...createSealedValues(
    () => keyRing.keys,
    ({ internalRecords }) => internalRecords,
    random,
  ),
  refresh: () => keyRing.refresh(),
});

/** Stored form of a record under a key of the store. */
export const encodeInternalRecord = (key: string, envelope: string): Uint8Array =>
  encodeStoredValue(
    { apiVersion: "v1", kind: "InternalRecord", metadata: { name: key.slice(key.lastIndexOf("/") + 1) } },
    { envelope },
  );

/** The envelope in a stored record; undefined without one. */
export function envelopeOf(entry: StoredEntry): string | undefined {
  const envelope = CachedObject.fromEntry(entry).decodeSealed()?.["envelope"];
  return typeof envelope === "string" ? envelope : undefined;
}

/** All of a record is sealed for the key it is kept under. */
export function createInternalRecords(
  { storage, sealedValues }: { readonly storage: Storage; readonly sealedValues: InternalValues },
  composition: string,
): InternalRecords {
  const keyOf = (name: string): string => `${compositionPrefix(composition)}${GROUP}/${name}`;

  const encode = (name: string, record: JsonObject): Uint8Array =>
    encodeInternalRecord(keyOf(name), sealedValues.seal(JSON.stringify(record), keyOf(name)));

  function open(entry: StoredEntry): string | undefined {
    const envelope = envelopeOf(entry);
    return envelope === undefined ? undefined : sealedValues.open(envelope, entry.key);
  }

  async function decode(entry: StoredEntry): Promise<JsonObject> {
    let text = open(entry);
    if (text === undefined) {
      await sealedValues.refresh();
      text = open(entry);
    }
    const record: unknown = text === undefined ? undefined : JSON.parse(text);
    if (!isJsonObject(record)) throw new Error(`${entry.key} cannot be decrypted with the keys on the key ring`);
    return record;
  }

  const readEntry = (name: string) => storage.get(keyOf(name));

  return {
    has: async (name) => (await readEntry(name)) !== undefined,
    async read(name) {
      const entry = await readEntry(name);
      return entry === undefined ? undefined : await decode(entry);
    },
    async create(name, record) {
      try {
        await storage.create(keyOf(name), encode(name, record));
        return record;
      } catch (error) {
        if (!(error instanceof KeyExistsError)) throw error;
        const entry = await readEntry(name);
        if (entry === undefined) throw error;
        return await decode(entry);
      }
    },
    async replace(name, record) {
      const value = encode(name, record);
      for (;;) {
        const written = await putUnlessConflict(storage, keyOf(name), value, await readEntry(name));
        if (written !== undefined) return;
      }
    },
    async update(name, change) {
      for (;;) {
        const entry = await readEntry(name);
        if (entry === undefined) return undefined;
        const record = await decode(entry);
        const next = change(record);
        if (next === undefined) return record;
        const written = await unlessConflict(storage.update(keyOf(name), encode(name, next), entry.revision));
        if (written !== undefined) return next;
      }
    },
  };
}

const PAGE_SIZE = 500;

/**
 * Removes everything that a composition has in the store, its records first: without them it does not start again. Its writers
 * must have been stopped; writes that were already handed to the store come before the deletions, and are found by the next round.
 */
export async function eraseComposition(storage: Storage, composition: string, signal: AbortSignal): Promise<void> {
  await eraseBelow(storage, `${compositionPrefix(composition)}${GROUP}/`, signal);
  await eraseBelow(storage, compositionPrefix(composition), signal);
}

async function eraseBelow(storage: Storage, prefix: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const { entries } = await storage.list(prefix, { limit: PAGE_SIZE, remaining: "any", signal });
    if (entries.length === 0) return;
    // The next round sees one that has changed in between as it is.
    await Promise.all(entries.map(({ key, revision }) => unlessConflict(storage.delete(key, revision))));
  }
}
