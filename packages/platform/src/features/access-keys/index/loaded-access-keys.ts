// All access keys. After a start they are read on demand and between requests, without a difference for callers.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { StoredContent } from "@postern/apiserver/cache/watch-cache";
import type { ClockEpoch } from "@postern/apiserver/runtime/clock-epochs";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { AccessKeyReader, ReadAccessKey } from "../record/access-key-reader.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";
import { AccessKeyTable } from "./access-key-table.ts";

/** Takes some milliseconds. */
const KEYS_PER_TURN = 100;

export class LoadedAccessKeys implements Disposable {
  readonly #prefix: string;
  readonly #read: AccessKeyReader;
  readonly #table: AccessKeyTable;
  /** When those that are not read yet were learned. */
  #learned: ClockEpoch = 0;
  #reading: Promise<void> | undefined;
  #isDisposed = false;

  /** `prefix` is what the keys in the store have before the names; `seed` is for hashes, and secret. */
  constructor(prefix: string, read: AccessKeyReader, seed = 0) {
    this.#prefix = prefix;
    this.#read = read;
    this.#table = new AccessKeyTable(seed, (object) => read(object, this.#learned));
  }

  /** In place of all there are. */
  replace(objects: readonly CachedObject[], learned: ClockEpoch): void {
    this.#learned = learned;
    this.#table.clear();
    this.#table.addUnread(objects, this.#prefix.length);
    void this.whenRead();
  }

  /** Whether nothing is left to be read, so that asking for all takes no time. */
  get isRead(): boolean {
    return this.#table.unread === 0;
  }

  /** Resolves when it is. */
  async whenRead(): Promise<void> {
    if (this.isRead) return;
    this.#reading ??= this.#readOn();
    await this.#reading;
  }

  /** Returns the key as it is now, and as it was before. */
  put(
    object: CachedObject,
    learned: ClockEpoch,
    content?: StoredContent,
  ): ReadAccessKey & { readonly known: ReadAccessKey | undefined } {
    const name = object.key.slice(this.#prefix.length);
    const record = this.byName(name);
    const known = record && { record, retired: this.retiredOf(name) };
    const read = this.#read(object, learned, known, content);
    this.#table.set(read.record, read.retired);
    return { ...read, known };
  }

  /** Returns the key as it was. */
  remove(name: string): ReadAccessKey | undefined {
    const retired = this.retiredOf(name);
    const record = this.#table.remove(name);
    return record && { record, retired };
  }

  byName(name: string): AccessKeyRecord | undefined {
    return this.#table.byName(name);
  }

  retiredOf(name: string): readonly AccessKeyRecord[] {
    // With the key.
    if (!this.isRead) this.#table.byName(name);
    return this.#table.retiredOf(name);
  }

  byId(id: string): AccessKeyRecord | undefined {
    // Otherwise it may be that of a value that a rotation replaced.
    return this.#table.byId(id) ?? this.#readAll().byId(id);
  }

  /** As byId, for as much as can be known without reading all others. */
  byIdAtHand(id: string): AccessKeyRecord | undefined {
    return this.#table.byId(id);
  }

  byUid(uid: string): AccessKeyRecord | undefined {
    return this.#table.byUid(uid);
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

  usageOf(owner: AccessKeyOwner): StoredAmount {
    return this.#readAll().usageOf(owner);
  }

  childrenOf(uid: string): readonly AccessKeyRecord[] {
    return this.#readAll().childrenOf(uid);
  }

  scopedTo(project: string): readonly AccessKeyRecord[] {
    return this.#readAll().scopedTo(project);
  }

  /** Safe while keys come and go. Keys that have not been read yet are read when their turn comes. */
  all(): IterableIterator<AccessKeyRecord> {
    return this.#table.all();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
  }

  #readAll(): AccessKeyTable {
    this.#table.readSome(Number.POSITIVE_INFINITY);
    return this.#table;
  }

  async #readOn(): Promise<void> {
    while (!this.isRead) {
      await nextTurn();
      if (this.#isDisposed) return;
      this.#table.readSome(KEYS_PER_TURN);
    }
    this.#reading = undefined;
  }
}
