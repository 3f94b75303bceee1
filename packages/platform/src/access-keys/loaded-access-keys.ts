// All access keys. After a start, keys are read on demand and between requests, without a difference for callers.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ClockEpoch } from "@postern/apiserver/runtime/system-runtime";
import type { AccessKeyReader, AccessKeyRecord, ReadAccessKey } from "./access-key-record.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";
import { AccessKeyTable } from "./access-key-table.ts";

/** Takes some milliseconds. */
const KEYS_PER_TURN = 100;
/** A request for all of them before they are loaded waits for about two seconds. */
const MAX_UNREAD = 100_000;

export class LoadedAccessKeys implements Disposable {
  readonly #prefix: string;
  readonly #read: AccessKeyReader;
  readonly #table = new AccessKeyTable();
  readonly #unread: UnreadAccessKeys;
  readonly #maxUnread: number;
  /** When those that are not read yet were learned. */
  #learned: ClockEpoch | undefined;
  #reading: Promise<void> | undefined;

  /** `prefix` is what the keys in the store have before the names. Of more than `maxUnread` keys the rest is read at once. */
  constructor(prefix: string, read: AccessKeyReader, maxUnread = MAX_UNREAD) {
    this.#prefix = prefix;
    this.#read = read;
    this.#maxUnread = maxUnread;
    this.#unread = new UnreadAccessKeys(prefix);
  }

  /** In place of all there are. */
  replace(objects: readonly CachedObject[], learned: ClockEpoch): void {
    this.#table.clear();
    this.#unread.clear();
    this.#learned = learned;
    for (const object of objects) {
      if (this.#unread.size < this.#maxUnread && this.#unread.add(object)) continue;
      // Of two with the same id the first one keeps it.
      this.#readOne(this.#unread.takeLike(object));
      this.#readOne(object);
    }
    void this.whenRead();
  }

  /** Whether nothing is left to be read, so that asking for all takes no time. */
  get isRead(): boolean {
    return this.#unread.size === 0;
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
    this.#readOne(this.#unread.takeByName(name));
    const retired = this.#table.retiredOf(name);
    const record = this.#table.remove(name);
    return record && { record, retired };
  }

  byName(name: string): AccessKeyRecord | undefined {
    this.#readOne(this.#unread.takeByName(name));
    return this.#table.byName(name);
  }

  retiredOf(name: string): readonly AccessKeyRecord[] {
    this.#readOne(this.#unread.takeByName(name));
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
    this.#readOne(this.#unread.takeById(id));
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
    this.#unread.clear();
  }

  #readAll(): AccessKeyTable {
    this.#readSome(this.#unread.size);
    return this.#table;
  }

  async #readOn(): Promise<void> {
    while (this.#unread.size > 0) {
      await nextTurn();
      this.#readSome(KEYS_PER_TURN);
    }
    this.#reading = undefined;
  }

  #readSome(count: number): void {
    if (count > 0) for (const object of this.#unread.take(count)) this.#readOne(object);
  }

  #readOne(object: CachedObject | undefined): void {
    if (object === undefined || this.#learned === undefined) return;
    const { record, retired } = this.#read(object, this.#learned);
    this.#table.set(record, retired);
  }
}

// Access keys that have been loaded and not been read yet. Reading one takes many times as long as putting it here, so that a server with
// very many of them answers long before it has read them all.

/** What is sealed of a key begins with this, and then its id. */
const BEFORE_ID = Buffer.from('{"key":{"id":"');

export class UnreadAccessKeys {
  readonly #prefix: string;
  readonly #byName = new Map<string, CachedObject>();
  /** The names of those that have ids. */
  readonly #byId = new Map<string, string>();

  /** `prefix` is what the keys in the store have before the names. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** False for one that has to be read at once, since it could not be found here: it is not taken. */
  add(object: CachedObject): boolean {
    const id = object.peekSealed(BEFORE_ID);
    if (id === undefined || this.#byId.has(id)) return false;
    const name = object.key.slice(this.#prefix.length);
    this.#byId.set(id, name);
    this.#byName.set(name, object);
    return true;
  }

  takeByName(name: string): CachedObject | undefined {
    const object = this.#byName.get(name);
    if (object === undefined) return undefined;
    this.#byName.delete(name);
    const id = object.peekSealed(BEFORE_ID);
    if (id !== undefined) this.#byId.delete(id);
    return object;
  }

  /** The one with the same id. */
  takeLike(object: CachedObject): CachedObject | undefined {
    return this.takeById(object.peekSealed(BEFORE_ID) ?? "");
  }

  takeById(id: string): CachedObject | undefined {
    const name = this.#byId.get(id);
    return name === undefined ? undefined : this.takeByName(name);
  }

  /** At most so many, in the order in which they came. */
  take(count: number): readonly CachedObject[] {
    const taken: CachedObject[] = [];
    for (const name of this.#byName.keys()) {
      if (taken.length === count) break;
      const object = this.takeByName(name);
      if (object !== undefined) taken.push(object);
    }
    return taken;
  }

  clear(): void {
    this.#byName.clear();
    this.#byId.clear();
  }
}
