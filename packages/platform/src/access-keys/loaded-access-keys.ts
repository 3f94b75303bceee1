// All access keys. After a start, keys are read on demand and between requests, without a difference for callers.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ClockEpoch } from "@postern/apiserver/runtime/system-runtime";
import { projectsNamed } from "../api/access-key-restrictions.ts";
import type { AccessKeyReader, AccessKeyRecord, ReadAccessKey } from "./access-key-record.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";
import { UnreadAccessKeys } from "./unread-access-keys.ts";

/** Takes some milliseconds. */
const KEYS_PER_TURN = 100;
/** A request for all of them before they are loaded waits for about two seconds. */
const MAX_UNREAD = 100_000;

export class LoadedAccessKeys implements Disposable {
  readonly #prefix: string;
  readonly #read: AccessKeyReader;
  readonly #table = new AccessKeyTable();
  /** Undefined when all have been read, which is soon after the start. */
  #unread: UnreadAccessKeys | undefined;
  readonly #maxUnread: number;
  /** When those that are not read yet were learned. */
  #learned: ClockEpoch | undefined;
  #reading: Promise<void> | undefined;

  /** `prefix` is what the keys in the store have before the names. Of more than `maxUnread` keys the rest is read at once. */
  constructor(prefix: string, read: AccessKeyReader, maxUnread = MAX_UNREAD) {
    this.#prefix = prefix;
    this.#read = read;
    this.#maxUnread = maxUnread;
  }

  /** In place of all there are. */
  replace(objects: readonly CachedObject[], learned: ClockEpoch): void {
    this.#table.clear();
    const unread = new UnreadAccessKeys(this.#prefix);
    this.#unread = unread;
    this.#learned = learned;
    for (const object of objects) {
      if (unread.size < this.#maxUnread && unread.add(object)) continue;
      // Of two with the same id the first one keeps it.
      this.#readOne(unread.takeLike(object));
      this.#readOne(object);
    }
    if (unread.size === 0) this.#unread = undefined;
    void this.whenRead();
  }

  /** Whether nothing is left to be read, so that asking for all takes no time. */
  get isRead(): boolean {
    return this.#unread === undefined || this.#unread.size === 0;
  }

  /** Resolves when it is. */
  async whenRead(): Promise<void> {
    if (this.isRead) return;
    this.#reading ??= this.#readOn();
    await this.#reading;
  }

  /** Returns the key as it is now, and as it was before. */
  put(object: CachedObject, learned: ClockEpoch): ReadAccessKey & { readonly known: ReadAccessKey | undefined } {
    const name = object.key.slice(this.#prefix.length);
    const record = this.byName(name);
    const known = record && { record, retired: this.retiredOf(name) };
    const read = this.#read(object, learned, known);
    this.#table.set(read.record, read.retired);
    return { ...read, known };
  }

  /** Returns the key as it was. */
  remove(name: string): ReadAccessKey | undefined {
    if (this.#unread !== undefined) this.#readOne(this.#unread.takeByName(name));
    const retired = this.#table.retiredOf(name);
    const record = this.#table.remove(name);
    return record && { record, retired };
  }

  byName(name: string): AccessKeyRecord | undefined {
    if (this.#unread !== undefined) this.#readOne(this.#unread.takeByName(name));
    return this.#table.byName(name);
  }

  retiredOf(name: string): readonly AccessKeyRecord[] {
    if (this.#unread !== undefined) this.#readOne(this.#unread.takeByName(name));
    return this.#table.retiredOf(name);
  }

  byId(id: string): AccessKeyRecord | undefined {
    // Otherwise it may be that of a value that a rotation replaced.
    return this.byIdAtHand(id) ?? this.#readAll().byId(id);
  }

  /** As byId, for as much as can be known without reading all others. */
  byIdAtHand(id: string): AccessKeyRecord | undefined {
    const read = this.#table.byId(id);
    if (read !== undefined) return read;
    this.#readOne(this.#unread?.takeById(id));
    return this.#table.byId(id);
  }

  byUid(uid: string): AccessKeyRecord | undefined {
    return this.#table.byUid(uid) ?? this.#readAll().byUid(uid);
  }

  /** Whether any key is found by its digest. */
  get hasDigests(): boolean {
    return this.#readAll().hasDigests;
  }

  /** Goes up when a value comes or goes that is found by its digest. */
  get digestVersion(): number {
    return this.#table.digestVersion;
  }

  byDigest(digest: Uint8Array): AccessKeyRecord | undefined {
    return this.#readAll().byDigest(digest);
  }

  isShared(digest: Uint8Array, record: AccessKeyRecord): boolean {
    return this.#readAll().isShared(digest, record);
  }

  ownedBy(owner: AccessKeyOwner): readonly AccessKeyRecord[] {
    return this.#readAll().ownedBy(owner);
  }

  childrenOf(uid: string): readonly AccessKeyRecord[] {
    return this.#readAll().childrenOf(uid);
  }

  scopedTo(project: string): readonly AccessKeyRecord[] {
    return this.#readAll().scopedTo(project);
  }

  /** Safe while keys come and go. */
  all(): IterableIterator<AccessKeyRecord> {
    return this.#readAll().all();
  }

  [Symbol.dispose](): void {
    this.#unread = undefined;
  }

  #readAll(): AccessKeyTable {
    if (this.#unread !== undefined) this.#readSome(this.#unread.size);
    return this.#table;
  }

  async #readOn(): Promise<void> {
    while (!this.isRead) {
      await nextTurn();
      this.#readSome(KEYS_PER_TURN);
    }
    this.#unread = undefined;
    this.#reading = undefined;
  }

  #readSome(count: number): void {
    for (const object of this.#unread?.take(count) ?? []) this.#readOne(object);
  }

  #readOne(object: CachedObject | undefined): void {
    if (object === undefined || this.#learned === undefined) return;
    const { record, retired } = this.#read(object, this.#learned);
    this.#table.set(record, retired);
  }
}

// The maps of the keys that have been read. All of them refer to the same records.

export class AccessKeyTable {
  readonly #byName = new Map<string, AccessKeyRecord>();
  readonly #byId = new Map<string, AccessKeyRecord>();
  readonly #byUid = new Map<string, AccessKeyRecord>();
  /** Only for values that clients chose: those of our own are found by the id in them. */
  readonly #byDigest = new Map<string, OneOrMore>();
  /** By name: the key once more for each value that a rotation replaced. */
  readonly #retired = new Map<string, readonly AccessKeyRecord[]>();
  /** By kind, and then by name: a text of both would be one more for each key. */
  readonly #byOwner: ByOwner = { user: new Map(), team: new Map(), subject: new Map() };
  readonly #byParent = new Map<string, OneOrMore>();
  /** By the names of projects that scopes name. */
  readonly #byProject = new Map<string, OneOrMore>();

  /** Goes up when a value comes or goes that is found by its digest. */
  digestVersion = 0;

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
    return all(this.#byOwner[kind].get(name));
  }

  childrenOf(uid: string): readonly AccessKeyRecord[] {
    return all(this.#byParent.get(uid));
  }

  scopedTo(project: string): readonly AccessKeyRecord[] {
    return all(this.#byProject.get(project));
  }

  retiredOf(name: string): readonly AccessKeyRecord[] {
    return this.#retired.get(name) ?? NONE;
  }

  all(): IterableIterator<AccessKeyRecord> {
    return this.#byName.values();
  }

  /** Returns what was there under the name before. `retired` is the key by each of its retired values. */
  set(record: AccessKeyRecord, retired: readonly AccessKeyRecord[] = NONE): AccessKeyRecord | undefined {
    const previous = this.remove(record.name);
    this.#byName.set(record.name, record);
    this.#byUid.set(record.uid, record);
    this.#addValue(record);
    if (retired.length > 0) this.#retired.set(record.name, retired);
    for (const value of retired) this.#addValue(value);
    addTo(this.#byOwner[record.owner.kind], record.owner.name, record);
    for (const uid of record.parentUids) addTo(this.#byParent, uid, record);
    for (const project of projectsNamed(record.restrictions)) addTo(this.#byProject, project, record);
    return previous;
  }

  #addValue(record: AccessKeyRecord): void {
    if (record.id === "") return;
    // Handles are unique by construction. Should one come twice, it stays with the first, and the other is found by its digest.
    const isFirst = !this.#byId.has(record.id);
    if (isFirst) this.#byId.set(record.id, record);
    if (isFirst && record.structured) return;
    addTo(this.#byDigest, record.digest, record);
    this.digestVersion += 1;
  }

  #removeValue(record: AccessKeyRecord): void {
    deleteIf(this.#byId, record.id, record);
    if (removeFrom(this.#byDigest, record.digest, record)) this.digestVersion += 1;
  }

  remove(name: string): AccessKeyRecord | undefined {
    const record = this.#byName.get(name);
    if (record === undefined) return undefined;
    this.#byName.delete(name);
    deleteIf(this.#byUid, record.uid, record);
    this.#removeValue(record);
    for (const value of this.retiredOf(name)) this.#removeValue(value);
    this.#retired.delete(name);
    removeFrom(this.#byOwner[record.owner.kind], record.owner.name, record);
    for (const uid of record.parentUids) removeFrom(this.#byParent, uid, record);
    for (const project of projectsNamed(record.restrictions)) removeFrom(this.#byProject, project, record);
    return record;
  }

  clear(): void {
    const maps = [
      this.#byName,
      this.#byId,
      this.#byUid,
      this.#byDigest,
      this.#retired,
      this.#byParent,
      this.#byProject,
    ];
    for (const map of [...maps, ...Object.values(this.#byOwner)]) map.clear();
    this.digestVersion += 1;
  }
}

const NONE: readonly AccessKeyRecord[] = [];

/** Most owners have one key: a set for each of them takes as long to make, and as much memory, as everything else here. */
type OneOrMore = AccessKeyRecord | Set<AccessKeyRecord>;
type ByOwner = { readonly [kind in AccessKeyOwner["kind"]]: Map<string, OneOrMore> };

function all(records: OneOrMore | undefined): readonly AccessKeyRecord[] {
  if (records === undefined) return NONE;
  return records instanceof Set ? [...records] : [records];
}

function addTo(map: Map<string, OneOrMore>, key: string, record: AccessKeyRecord): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, record);
  else if (known instanceof Set) known.add(record);
  else map.set(key, new Set([known, record]));
}

/** Whether it was there. */
function removeFrom(map: Map<string, OneOrMore>, key: string, record: AccessKeyRecord): boolean {
  const known = map.get(key);
  if (known === record) return map.delete(key);
  if (!(known instanceof Set)) return false;
  const wasThere = known.delete(record);
  if (known.size === 0) map.delete(key);
  return wasThere;
}

/** Another record may have taken the place meanwhile. */
function deleteIf(map: Map<string, AccessKeyRecord>, key: string, record: AccessKeyRecord): void {
  if (map.get(key) === record) map.delete(key);
}
