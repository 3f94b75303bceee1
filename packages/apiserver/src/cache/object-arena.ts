// The memory of the objects of one view: many objects share a buffer, and the last objects in a large buffer are moved together.

import type { StoredEntry } from "../storage/storage.ts";
import { CachedObject } from "./cached-object.ts";

/** A piece of memory begins with few bytes where a view has few, so that a thousand views with an object each take little. */
const MIN_PIECE_BYTES = 4 << 10;
const MAX_PIECE_BYTES = 256 << 10;
/** Pieces are so much smaller than all objects of the view together. */
const PIECES = 8;
/** The largest share of a buffer for one object; larger objects have a buffer of their own. */
const MAX_SHARE = 8;
/** Bytes that any view may hold without an object in them. */
const SPARE_BYTES = 64 << 10;

const NOTHING = Buffer.alloc(0);

/**
 * An object in a buffer of its own costs a call of malloc, and more bytes of JavaScript and C++ than most objects have; where objects come and
 * go beside others that stay, it leaves a hole in the C heap as well. A piece of memory is let go by the collector once no object lies in it
 * that anybody holds: nothing is written twice, so that an object may be held for as long as anybody likes.
 */
export class ObjectArena {
  /** Where the next object goes, from `#used` on. */
  #piece: Buffer = NOTHING;
  #used = 0;
  /** Bytes of the view's present objects by the memory that they share with others, as few do in most views. */
  #present: Map<Buffer, number> | undefined;
  #presentBytes = 0;
  #heldBytes = 0;

  /** All buffers that contain a present object of the view. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** More than half of it is of objects that are no longer present. */
  get isSparse(): boolean {
    return this.#heldBytes > 2 * this.#presentBytes + SPARE_BYTES;
  }

  /** The object of an entry, whose value is copied. It is present until `remove`. */
  add(entry: StoredEntry): CachedObject {
    const { memory, start } = this.#place(entry.value.length);
    const object = CachedObject.fromEntry(entry, memory, start);
    this.keep(object);
    return object;
  }

  /** One that has its memory already, such as that of its page, is present from now on. */
  keep({ memory, storedBytes }: CachedObject): void {
    this.#presentBytes += storedBytes;
    if (memory.length === storedBytes) this.#heldBytes += storedBytes;
    else this.#change(memory, storedBytes);
  }

  /** Another took its place, or it was deleted; history may hold it still. */
  remove({ memory, storedBytes }: CachedObject): void {
    this.#presentBytes -= storedBytes;
    if (memory.length === storedBytes) this.#heldBytes -= storedBytes;
    else this.#change(memory, -storedBytes);
  }

  /** Moves those of these present objects that have much memory almost to themselves. */
  pack(objects: readonly CachedObject[]): void {
    for (const object of objects) {
      const { memory, storedBytes } = object;
      const present = this.#present?.get(memory);
      if (present === undefined || memory === this.#piece || present > memory.length / 2) continue;
      this.remove(object);
      const place = this.#place(storedBytes);
      object.moveTo(place.memory, place.start);
      this.keep(object);
    }
  }

  clear(): void {
    this.#present = undefined;
    this.#presentBytes = 0;
    this.#heldBytes = 0;
  }

  #change(memory: Buffer, bytes: number): void {
    this.#present ??= new Map();
    const known = this.#present.get(memory) ?? 0;
    if (known === 0) this.#heldBytes += memory.length;
    if (known + bytes > 0) this.#present.set(memory, known + bytes);
    else {
      this.#present.delete(memory);
      this.#heldBytes -= memory.length;
    }
  }

  #place(length: number): { readonly memory: Buffer; readonly start: number } {
    const wanted = Math.min(Math.max(this.#presentBytes / PIECES, MIN_PIECE_BYTES), MAX_PIECE_BYTES);
    if (length > wanted / MAX_SHARE) return { memory: Buffer.allocUnsafeSlow(length), start: 0 };
    if (this.#used + length > this.#piece.length) {
      // Whole pages of the system.
      this.#piece = Buffer.allocUnsafeSlow(Math.floor(wanted / MIN_PIECE_BYTES) * MIN_PIECE_BYTES);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return { memory: this.#piece, start };
  }
}
