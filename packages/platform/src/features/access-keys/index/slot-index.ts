// Finds numbered slots by the hashes of their texts, in arrays of numbers: a Map takes several times the memory, and the collector visits each of its
// entries.

const NOWHERE = -1;
/** In place of the slot before: the slot is not in the index. */
const ABSENT = -2;
const FEWEST = 16;

/** Chains of slots with the same remainder of their hash. Different texts may have one hash, so that callers compare texts. */
export class SlotIndex {
  /** By the lowest bits of a hash: the first slot of its chain. */
  #heads = new Int32Array(FEWEST).fill(NOWHERE);
  /** By slot. */
  #hashes = new Int32Array(FEWEST);
  #next = new Int32Array(FEWEST);
  #previous = new Int32Array(FEWEST).fill(ABSENT);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Makes room for slots below `slots`. */
  reserve(slots: number): void {
    if (slots <= this.#hashes.length) return;
    let length = this.#hashes.length;
    while (length < slots) length *= 2;
    this.#hashes = longer(this.#hashes, length);
    this.#next = longer(this.#next, length);
    const known = this.#previous.length;
    this.#previous = longer(this.#previous, length).fill(ABSENT, known);
    this.#heads = new Int32Array(length).fill(NOWHERE);
    for (let slot = 0; slot < known; slot++) if (this.has(slot)) this.#link(slot, this.#hashes[slot] ?? 0);
  }

  has(slot: number): boolean {
    return slot < this.#previous.length && this.#previous[slot] !== ABSENT;
  }

  /** A slot that is not there. It is found before those that were added earlier. */
  add(slot: number, hash: number): void {
    this.reserve(slot + 1);
    this.#hashes[slot] = hash;
    this.#link(slot, hash);
    this.#size += 1;
  }

  /** Returns whether it was there. */
  remove(slot: number): boolean {
    if (!this.has(slot)) return false;
    const [next = NOWHERE, previous = NOWHERE] = [this.#next[slot], this.#previous[slot]];
    if (previous === NOWHERE) this.#heads[this.#chainOf(this.#hashes[slot] ?? 0)] = next;
    else this.#next[previous] = next;
    if (next !== NOWHERE) this.#previous[next] = previous;
    this.#previous[slot] = ABSENT;
    this.#size -= 1;
    return true;
  }

  /** The first slot with the hash, or -1. */
  first(hash: number): number {
    return this.#withHash(this.#heads[this.#chainOf(hash)] ?? NOWHERE, hash);
  }

  /** The next one after `slot`, or -1. */
  after(slot: number): number {
    return this.#withHash(this.#next[slot] ?? NOWHERE, this.#hashes[slot] ?? 0);
  }

  clear(): void {
    this.#heads = new Int32Array(FEWEST).fill(NOWHERE);
    this.#hashes = new Int32Array(FEWEST);
    this.#next = new Int32Array(FEWEST);
    this.#previous = new Int32Array(FEWEST).fill(ABSENT);
    this.#size = 0;
  }

  #withHash(from: number, hash: number): number {
    let slot = from;
    while (slot !== NOWHERE && this.#hashes[slot] !== hash) slot = this.#next[slot] ?? NOWHERE;
    return slot;
  }

  #link(slot: number, hash: number): void {
    const chain = this.#chainOf(hash);
    const next = this.#heads[chain] ?? NOWHERE;
    this.#next[slot] = next;
    this.#previous[slot] = NOWHERE;
    if (next !== NOWHERE) this.#previous[next] = slot;
    this.#heads[chain] = slot;
  }

  #chainOf(hash: number): number {
    return hash & (this.#heads.length - 1);
  }
}

function longer(numbers: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(numbers);
  return copy;
}

/** Hash of the text from index `from`. `seed` is secret, so that clients cannot choose names with equal hashes. */
export function hashOf(text: string, seed: number, from = 0): number {
  let hash = seed;
  for (let at = from; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // Every bit of the hash depends on every bit of this (MurmurHash3's last step).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
