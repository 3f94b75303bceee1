// The maps of the access key index: one entry per key in each, all of them pointing at the same record.

import type { AccessKeyRecord } from "./access-key-record.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";

export class AccessKeyTable {
  readonly #byName = new Map<string, AccessKeyRecord>();
  readonly #byId = new Map<string, AccessKeyRecord>();
  readonly #byUid = new Map<string, AccessKeyRecord>();
  /** Only for values that clients chose: those of our own are found by the id in them. */
  readonly #byDigest = new Map<string, AccessKeyRecord>();
  readonly #byOwner = new Map<string, Set<AccessKeyRecord>>();
  readonly #byParent = new Map<string, Set<AccessKeyRecord>>();

  get size(): number {
    return this.#byName.size;
  }

  byName(name: string): AccessKeyRecord | undefined {
    return this.#byName.get(name);
  }

  byId(id: string): AccessKeyRecord | undefined {
    return this.#byId.get(id);
  }

  byUid(uid: string): AccessKeyRecord | undefined {
    return this.#byUid.get(uid);
  }

  byDigest(digest: Uint8Array): AccessKeyRecord | undefined {
    if (this.#byDigest.size === 0) return undefined;
    return this.#byDigest.get(Buffer.from(digest).toString("base64url"));
  }

  ownedBy(owner: AccessKeyOwner): readonly AccessKeyRecord[] {
    return [...(this.#byOwner.get(ownerKey(owner)) ?? [])];
  }

  childrenOf(uid: string): readonly AccessKeyRecord[] {
    return [...(this.#byParent.get(uid) ?? [])];
  }

  all(): IterableIterator<AccessKeyRecord> {
    return this.#byName.values();
  }

  /** Returns what was there under the name before. */
  set(record: AccessKeyRecord): AccessKeyRecord | undefined {
    const previous = this.remove(record.name);
    this.#byName.set(record.name, record);
    this.#byUid.set(record.uid, record);
    if (record.id !== "") {
      // Handles are unique by construction. Should one come twice, it stays with the first, and the other is found by its digest.
      const isFirst = !this.#byId.has(record.id);
      if (isFirst) this.#byId.set(record.id, record);
      if (!isFirst || !record.structured) this.#byDigest.set(record.digest, record);
    }
    addTo(this.#byOwner, ownerKey(record.owner), record);
    for (const uid of record.parentUids) addTo(this.#byParent, uid, record);
    return previous;
  }

  remove(name: string): AccessKeyRecord | undefined {
    const record = this.#byName.get(name);
    if (record === undefined) return undefined;
    this.#byName.delete(name);
    deleteIf(this.#byUid, record.uid, record);
    deleteIf(this.#byId, record.id, record);
    deleteIf(this.#byDigest, record.digest, record);
    removeFrom(this.#byOwner, ownerKey(record.owner), record);
    for (const uid of record.parentUids) removeFrom(this.#byParent, uid, record);
    return record;
  }

  replace(records: Iterable<AccessKeyRecord>): void {
    for (const map of [this.#byName, this.#byId, this.#byUid, this.#byDigest, this.#byOwner, this.#byParent])
      map.clear();
    for (const record of records) this.set(record);
  }
}

const ownerKey = ({ kind, name }: AccessKeyOwner): string => `${kind}/${name}`;

function addTo(map: Map<string, Set<AccessKeyRecord>>, key: string, record: AccessKeyRecord): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([record]));
  else known.add(record);
}

function removeFrom(map: Map<string, Set<AccessKeyRecord>>, key: string, record: AccessKeyRecord): void {
  const known = map.get(key);
  known?.delete(record);
  if (known?.size === 0) map.delete(key);
}

/** Another record may have taken the place meanwhile. */
function deleteIf(map: Map<string, AccessKeyRecord>, key: string, record: AccessKeyRecord): void {
  if (map.get(key) === record) map.delete(key);
}
