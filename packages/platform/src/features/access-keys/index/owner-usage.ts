// How many keys, and how many bytes, owners have: added up when an owner is asked about, and then with each change.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { NOTHING_STORED, type StoredAmount, sumOf } from "@postern/apiserver/cache/stored-usage";
import { type AccessKeyOwner, accountOfOwner } from "../access-key-owner.ts";

/** Estimated memory of a record, and of what is found by its scope, beside the bytes of the key. */
export const keptMemoryOfKey = (key: CachedObject): number =>
  KEPT_BYTES + (key.storedBytes <= SMALL_KEY ? 0 : KEPT_STRING_BYTES * key.stringsAfter(SPEC));

const KEPT_BYTES = 300;
/** A string of the spec, with the arrays, objects and entries of indexes that it is in. */
const KEPT_STRING_BYTES = 100;
/** Bytes of a key whose spec has few strings. */
const SMALL_KEY = 1_500;
const SPEC = Buffer.from('"spec":{');

/** The part that one key adds to the usage of its owner. */
export const amountOfKey = (key: CachedObject): StoredAmount => ({
  objects: 1,
  bytes: key.storedBytes,
  kept: keptMemoryOfKey(key),
});

type OwnedKey = { readonly owner: AccessKeyOwner; readonly amount: StoredAmount };

/** Owners whose usage is remembered. */
const MAX_OWNERS = 10_000;

export class OwnerUsage {
  /** By kind and name, the longest known first. */
  readonly #known = new Map<string, StoredAmount>();

  /** `keysOf` gives all keys of the owner. */
  of(owner: AccessKeyOwner, keysOf: (owner: AccessKeyOwner) => readonly OwnedKey[]): StoredAmount {
    const account = accountOfOwner(owner);
    const known = this.#known.get(account);
    if (known !== undefined) return known;
    const usage = keysOf(owner).reduce((sum, { amount }) => sumOf(sum, amount), NOTHING_STORED);
    const [longestKnown] = this.#known.size < MAX_OWNERS ? [] : this.#known.keys();
    if (longestKnown !== undefined) this.#known.delete(longestKnown);
    this.#known.set(account, usage);
    return usage;
  }

  /** `sign` is 1 for a key that came, -1 for one that went. */
  add(key: OwnedKey, sign: 1 | -1): void {
    if (this.#known.size === 0) return;
    const account = accountOfOwner(key.owner);
    const known = this.#known.get(account);
    if (known !== undefined) this.#known.set(account, sumOf(known, key.amount, sign));
  }

  clear(): void {
    this.#known.clear();
  }
}
