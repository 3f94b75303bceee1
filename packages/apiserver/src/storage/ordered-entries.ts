// Entries in byte order of their keys, with fast lookup, insertion and removal at a million entries.

import { compareKeys, prefixEnd, sharedLength } from "./key-order.ts";

export type OrderedRange = {
  /** Only keys greater than this one. */
  readonly startAfter?: string;
  /** At most this many entries. */
  readonly limit?: number;
};

/** Beyond this an array is split: moving this many pointers costs less than finding the place. */
const CHUNK_LIMIT = 512;

type Position = { readonly chunk: number; readonly index: number };

export class OrderedEntries<Entry extends { readonly key: string }> {
  /** All but those that `get` has to look for: read for every request, so that no call stands between. */
  readonly byKey: ReadonlyMap<string, Entry>;
  /** How many those are. */
  unmapped = 0;
  readonly #byKey = new Map<string, Entry>();
  /** Sorted, none of them empty. */
  readonly #chunks: Entry[][] = [];

  constructor() {
    this.byKey = this.#byKey;
  }

  get size(): number {
    return this.#byKey.size + this.unmapped;
  }

  get(key: string): Entry | undefined {
    const known = this.#byKey.get(key);
    if (known !== undefined || this.unmapped === 0) return known;
    const { chunk, index } = this.#lowerBound(key);
    const found = this.#chunks[chunk]?.[index];
    if (found?.key !== key) return undefined;
    this.#byKey.set(key, found);
    this.unmapped -= 1;
    return found;
  }

  /** Returns the entry that was there before. */
  set(entry: Entry): Entry | undefined {
    const previous = this.get(entry.key);
    this.#byKey.set(entry.key, entry);
    if (previous === undefined && this.#isLast(entry.key)) {
      this.#push(entry);
      return undefined;
    }
    const { chunk, index } = this.#lowerBound(entry.key);
    const entries = this.#chunks[chunk];
    if (previous !== undefined && entries !== undefined) entries[index] = entry;
    else this.#insert(entry, chunk, index);
    return previous;
  }

  /** Like `set`, for a key known to be the last. The index is built at the first lookup: for very many keys, building it takes most of the time. */
  append(entry: Entry): void {
    this.unmapped += 1;
    this.#push(entry);
  }

  /** Returns the entry that was there. */
  delete(key: string): Entry | undefined {
    const previous = this.get(key);
    if (previous === undefined) return undefined;
    this.#byKey.delete(key);
    const { chunk, index } = this.#lowerBound(key);
    const entries = this.#chunks[chunk];
    entries?.splice(index, 1);
    if (entries?.length === 0) this.#chunks.splice(chunk, 1);
    return previous;
  }

  clear(): void {
    this.#byKey.clear();
    this.#chunks.length = 0;
    this.unmapped = 0;
  }

  /** The entries under `prefix`, copied. */
  list(prefix: string, { startAfter, limit = Number.POSITIVE_INFINITY }: OrderedRange = {}): Entry[] {
    const end = this.#end(prefix);
    const { chunk: first, index: skip } = this.#start(prefix, startAfter);
    const runs: Entry[][] = [];
    let left = limit;
    for (let chunk = first; chunk <= end.chunk && left > 0; chunk++) {
      const entries = this.#chunks[chunk] ?? [];
      const from = chunk === first ? skip : 0;
      const to = Math.min(chunk === end.chunk ? end.index : entries.length, from + left);
      const run = entries.slice(from, Math.max(from, to));
      runs.push(run);
      left -= run.length;
    }
    // Far faster than one entry after the other, or `flat`.
    return runs.length === 1 ? (runs[0] ?? []) : ([] as Entry[]).concat(...runs);
  }

  /** How many entries under `prefix` have a key greater than `startAfter`. */
  count(prefix: string, startAfter?: string): number {
    const start = this.#start(prefix, startAfter);
    const end = this.#end(prefix);
    if (start.chunk > end.chunk) return 0;
    let count = end.index - start.index;
    for (let chunk = start.chunk; chunk < end.chunk; chunk++) count += this.#chunks[chunk]?.length ?? 0;
    return Math.max(count, 0);
  }

  /** Everything there is comes before `key`. */
  #isLast(key: string): boolean {
    const last = this.#chunks.at(-1)?.at(-1);
    return last === undefined || compareKeys(last.key, key) < 0;
  }

  /** Everything there is comes at or after `key`. */
  #isFirst(key: string): boolean {
    const first = this.#chunks[0]?.[0];
    return first === undefined || compareKeys(first.key, key) >= 0;
  }

  #push(entry: Entry): void {
    const tail = this.#chunks.at(-1);
    // Full chunks stay full, so that loading in order packs them.
    if (tail !== undefined && tail.length < CHUNK_LIMIT) tail.push(entry);
    else this.#chunks.push([entry]);
  }

  #insert(entry: Entry, chunk: number, index: number): void {
    const entries = this.#chunks[chunk];
    if (entries === undefined) return;
    entries.splice(index, 0, entry);
    if (entries.length > CHUNK_LIMIT) this.#chunks.splice(chunk + 1, 0, entries.splice(CHUNK_LIMIT >> 1));
  }

  #start(prefix: string, startAfter: string | undefined): Position {
    if (startAfter === undefined || compareKeys(startAfter, prefix) < 0) {
      // Most lists are of all there is: a search looks at many entries that the processor does not have at hand.
      return this.#isFirst(prefix) ? { chunk: 0, index: 0 } : this.#lowerBound(prefix);
    }
    // No string lies between a key and the same key followed by U+0000.
    return this.#lowerBound(`${startAfter}\0`);
  }

  #end(prefix: string): Position {
    const end = prefixEnd(prefix);
    return end === undefined || this.#isLast(end) ? { chunk: this.#chunks.length, index: 0 } : this.#lowerBound(end);
  }

  /** Position of the first key at or after `key`, or the end of the last chunk. */
  #lowerBound(key: string): Position {
    const first = this.#chunks[0]?.[0];
    const last = this.#chunks.at(-1)?.at(-1);
    if (first === undefined || last === undefined) return { chunk: 0, index: 0 };
    // Keys of one resource differ in their ends: every key between the two begins as both do.
    const from = Math.min(sharedLength(first.key, key), sharedLength(last.key, key));
    const chunk = firstIndex(this.#chunks, (entries) => {
      const end = entries[entries.length - 1];
      return end !== undefined && compareKeys(end.key, key, from) >= 0;
    });
    const entries = this.#chunks[chunk];
    if (entries === undefined) return { chunk, index: 0 };
    return { chunk, index: firstIndex(entries, (entry) => compareKeys(entry.key, key, from) >= 0) };
  }
}

/** The first index whose item matches, by bisection: every item after a matching one matches too. */
function firstIndex<Item>(items: readonly Item[], matches: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && matches(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}
