// The access keys by each of their attributes. A key has a slot, with its record or, until that is needed, with its object alone.

import { projectsNamed } from "@postern/api/access-key-restrictions";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { ReadAccessKey } from "../record/access-key-reader.ts";
import { AccessKeyRecord, BEFORE_ID } from "../record/access-key-record.ts";
import { addTo, all, type OneOrMore, removeFrom } from "./multi-map.ts";
import { OwnerUsage } from "./owner-usage.ts";
import { hashOf, SlotIndex } from "./slot-index.ts";

const readUid = createMemberReader({ metadata: { uid: true } });

const neverUnread = (): never => {
  throw new Error("all keys have been read");
};

export class AccessKeyTable {
  readonly #seed: number;
  readonly #read: (object: CachedObject) => ReadAccessKey;
  readonly #slots: (AccessKeyRecord | CachedObject | undefined)[] = [];
  readonly #free: number[] = [];
  /** Where the names begin in the keys of objects that have not been read. */
  #nameAt = 0;
  #unread = 0;
  /** No unread object is in a slot before this one. */
  #readUpTo = 0;
  readonly #names = new SlotIndex();
  readonly #ids = new SlotIndex();
  readonly #uids = new SlotIndex();
  /** Owners of the records that have been read. */
  readonly #owners = new SlotIndex();
  /** By the ids of values that rotations replaced. */
  readonly #retiredById = new Map<string, AccessKeyRecord>();
  /** Only for values that clients chose: those of our own are found by the id in them. */
  readonly #byDigest = new Map<string, OneOrMore<AccessKeyRecord>>();
  /** By name: the key once more for each value that a rotation replaced. */
  readonly #retired = new Map<string, readonly AccessKeyRecord[]>();
  readonly #byParent = new Map<string, OneOrMore<AccessKeyRecord>>();
  /** By the names of projects that scopes name. */
  readonly #byProject = new Map<string, OneOrMore<AccessKeyRecord>>();

  readonly #usage = new OwnerUsage();

  /** Found last by its id: several stages of one request ask for its key. */
  #last: { readonly id: string; readonly record: AccessKeyRecord } | undefined;

  /** Goes up when a value comes or goes that is found by its digest. */
  digestVersion = 0;

  /** `read` makes the record of an object that has been added unread. */
  constructor(seed = 0, read: (object: CachedObject) => ReadAccessKey = neverUnread) {
    this.#seed = seed;
    this.#read = read;
  }

  get size(): number {
    return this.#names.size;
  }

  /** How many have not been read. */
  get unread(): number {
    return this.#unread;
  }

  /** To an empty table, in which they are found by name, id and uid. `nameAt` is where the names begin in their keys. */
  addUnread(objects: readonly CachedObject[], nameAt: number): void {
    this.#nameAt = nameAt;
    for (const index of [this.#names, this.#ids, this.#uids]) index.reserve(objects.length);
    for (const object of objects) this.#addOne(object);
  }

  /** Reads at most so many, in the order in which they came. */
  readSome(count: number): void {
    const until = this.#unread - Math.min(count, this.#unread);
    for (let slot = this.#readUpTo; this.#unread > until; slot++) {
      this.#recordIn(slot);
      this.#readUpTo = slot + 1;
    }
  }

  byName(name: string): AccessKeyRecord | undefined {
    return this.#recordIn(this.#slotOf(name));
  }

  byId(id: string): AccessKeyRecord | undefined {
    if (this.#last?.id === id) return this.#last.record;
    const slot = this.#slotWithId(id);
    const record = slot < 0 ? this.#retiredById.get(id) : this.#recordIn(slot);
    this.#last = record && { id, record };
    return record;
  }

  byUid(uid: string): AccessKeyRecord | undefined {
    const hash = hashOf(uid, this.#seed);
    for (let slot = this.#uids.first(hash); slot >= 0; slot = this.#uids.after(slot)) {
      const record = this.#recordIn(slot);
      if (record?.uid === uid) return record;
    }
    return undefined;
  }

  /** Whether any key is found by its digest. */
  get hasDigests(): boolean {
    return this.#byDigest.size > 0;
  }

  /** If two keys have the same value, created at the same moment on two servers, it is ambiguous: it is found for neither. */
  byDigest(digest: Uint8Array): AccessKeyRecord | undefined {
    const [found, ...others] = this.#withDigest(digest);
    return others.every(({ uid }) => uid === found?.uid) ? found : undefined;
  }

  /** Whether the value of a key that is found by its id is another key's as well. */
  isShared(digest: Uint8Array, { uid }: AccessKeyRecord): boolean {
    return this.#withDigest(digest).some((other) => other.uid !== uid);
  }

  #withDigest(digest: Uint8Array): readonly AccessKeyRecord[] {
    return all(this.#byDigest.get(Buffer.from(digest).toString("base64url")));
  }

  ownedBy({ kind, name }: AccessKeyOwner): readonly AccessKeyRecord[] {
    const owned: AccessKeyRecord[] = [];
    const hash = this.#hashOfOwner(kind, name);
    for (let slot = this.#owners.first(hash); slot >= 0; slot = this.#owners.after(slot)) {
      const record = this.#recordIn(slot);
      if (record?.owner.name === name && record.owner.kind === kind) owned.push(record);
    }
    return owned;
  }

  usageOf = (owner: AccessKeyOwner): StoredAmount => this.#usage.of(owner, (of) => this.ownedBy(of));

  childrenOf(uid: string): readonly AccessKeyRecord[] {
    return all(this.#byParent.get(uid));
  }

  scopedTo(project: string): readonly AccessKeyRecord[] {
    return all(this.#byProject.get(project));
  }

  retiredOf(name: string): readonly AccessKeyRecord[] {
    return this.#retired.get(name) ?? NONE;
  }

  /** Safe while keys come and go. */
  *all(): IterableIterator<AccessKeyRecord> {
    for (let slot = 0; slot < this.#slots.length; slot++) {
      const record = this.#recordIn(slot);
      if (record !== undefined) yield record;
    }
  }

  /** Returns what was there under the name before. `retired` is the key by each of its retired values. */
  set(record: AccessKeyRecord, retired: readonly AccessKeyRecord[] = NONE): AccessKeyRecord | undefined {
    const { name, uid, id } = record;
    this.#last = undefined;
    const previous = this.remove(name);
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = record;
    this.#names.add(slot, hashOf(name, this.#seed));
    this.#uids.add(slot, hashOf(uid, this.#seed));
    // Handles are unique by construction. Should one come twice, it stays with the first, and the other is found by its digest.
    const hash = hashOf(id, this.#seed);
    if (id !== "" && !this.#hasId(id, hash)) this.#ids.add(slot, hash);
    this.#addRest(slot, record, retired);
    return previous;
  }

  remove(name: string): AccessKeyRecord | undefined {
    const slot = this.#slotOf(name);
    const record = this.#recordIn(slot);
    if (record === undefined) return undefined;
    this.#last = undefined;
    this.#usage.add(record, -1);
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    for (const index of [this.#names, this.#ids, this.#uids, this.#owners]) index.remove(slot);
    this.#removeDigest(record);
    for (const value of this.retiredOf(name)) {
      if (this.#retiredById.get(value.id) === value) this.#retiredById.delete(value.id);
      this.#removeDigest(value);
    }
    this.#retired.delete(name);
    for (const uid of record.parentUids) removeFrom(this.#byParent, uid, record);
    for (const project of projectsNamed(record.restrictions)) removeFrom(this.#byProject, project, record);
    return record;
  }

  clear(): void {
    this.#last = undefined;
    this.#slots.length = 0;
    this.#free.length = 0;
    this.#unread = 0;
    this.#readUpTo = 0;
    for (const index of [this.#names, this.#ids, this.#uids, this.#owners]) index.clear();
    const maps = [this.#retiredById, this.#byDigest, this.#retired, this.#byParent, this.#byProject];
    for (const map of maps) map.clear();
    this.#usage.clear();
    this.digestVersion += 1;
  }

  #addOne(object: CachedObject): void {
    const id = object.peekSealed(BEFORE_ID);
    const { metadata } = object.read(readUid) as { readonly metadata?: { readonly uid?: unknown } };
    const uid = metadata?.uid;
    const hash = hashOf(id ?? "", this.#seed);
    if (id === undefined || typeof uid !== "string" || this.#hasId(id, hash)) {
      // The first of two records with the same id keeps it.
      this.#recordIn(this.#slotWithId(id ?? ""));
      const { record, retired } = this.#read(object);
      this.set(record, retired);
      return;
    }
    const slot = this.#slots.push(object) - 1;
    this.#names.add(slot, hashOf(object.key, this.#seed, this.#nameAt));
    this.#ids.add(slot, hash);
    this.#uids.add(slot, hashOf(uid, this.#seed));
    this.#unread += 1;
  }

  /** Reads the key in a slot, unless that has been done. */
  #recordIn(slot: number): AccessKeyRecord | undefined {
    const known = this.#slots[slot];
    if (known === undefined || known instanceof AccessKeyRecord) return known;
    const { record, retired } = this.#read(known);
    this.#slots[slot] = record;
    this.#unread -= 1;
    this.#addRest(slot, record, retired);
    return record;
  }

  /** All but name, id and uid. */
  #addRest(slot: number, record: AccessKeyRecord, retired: readonly AccessKeyRecord[]): void {
    if (record.id !== "" && !(record.structured && this.#ids.has(slot))) this.#addDigest(record);
    if (retired.length > 0) this.#retired.set(record.name, retired);
    for (const value of retired) {
      if (value.id === "") continue;
      const isFirst = !this.#hasId(value.id);
      if (isFirst) this.#retiredById.set(value.id, value);
      if (!isFirst || !value.structured) this.#addDigest(value);
    }
    this.#usage.add(record, 1);
    this.#owners.add(slot, this.#hashOfOwner(record.owner.kind, record.owner.name));
    for (const uid of record.parentUids) addTo(this.#byParent, uid, record);
    for (const project of projectsNamed(record.restrictions)) addTo(this.#byProject, project, record);
  }

  #addDigest(record: AccessKeyRecord): void {
    addTo(this.#byDigest, record.digest, record);
    this.digestVersion += 1;
  }

  #removeDigest(record: AccessKeyRecord): void {
    // A key that is found by its id has no entry, and its digest is not read for that.
    if (this.#byDigest.size === 0) return;
    if (removeFrom(this.#byDigest, record.digest, record)) this.digestVersion += 1;
  }

  /** -1 where there is none. */
  #slotOf(name: string): number {
    const hash = hashOf(name, this.#seed);
    let slot = this.#names.first(hash);
    while (slot >= 0 && this.#nameIn(slot) !== name) slot = this.#names.after(slot);
    return slot;
  }

  #nameIn(slot: number): string | undefined {
    const known = this.#slots[slot];
    return known instanceof AccessKeyRecord ? known.name : known?.key.slice(this.#nameAt);
  }

  /** The slot of a current value of a key; -1 where there is none. */
  #slotWithId(id: string, hash = hashOf(id, this.#seed)): number {
    let slot = this.#ids.first(hash);
    while (slot >= 0 && this.#idIn(slot) !== id) slot = this.#ids.after(slot);
    return slot;
  }

  #idIn(slot: number): string | undefined {
    const known = this.#slots[slot];
    return known instanceof AccessKeyRecord ? known.id : known?.peekSealed(BEFORE_ID);
  }

  #hasId(id: string, hash?: number): boolean {
    return this.#slotWithId(id, hash) >= 0 || (this.#retiredById.size > 0 && this.#retiredById.has(id));
  }

  #hashOfOwner(kind: AccessKeyOwner["kind"], name: string): number {
    return hashOf(name, this.#seed ^ kind.charCodeAt(0));
  }
}

const NONE: readonly AccessKeyRecord[] = [];
