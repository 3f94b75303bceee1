// Where the bytes of cached objects lie.

/** Memory from `start` on. It is written once and never changes afterwards. */
export type Place = { readonly memory: Buffer; readonly start: number };

export type AllocateBytes = (length: number) => Place;

/** Memory of its own for each: it is free again as soon as the object is. For objects that come one by one. */
export const allocateAlone: AllocateBytes = (length) => ({ memory: Buffer.allocUnsafeSlow(length), start: 0 });

const SLAB_BYTES = 64 << 10;

/**
 * Memory in slabs, which saves what a buffer of its own costs beside its bytes (about 200 of them), but is free only when all objects
 * of a slab are. For many objects that come at once.
 */
export function createSlabAllocator(): AllocateBytes {
  let memory = Buffer.alloc(0);
  let used = 0;
  return (length) => {
    if (length > SLAB_BYTES >> 2) return allocateAlone(length);
    if (used + length > memory.length) {
      memory = Buffer.allocUnsafeSlow(SLAB_BYTES);
      used = 0;
    }
    const start = used;
    used += length;
    return { memory, start };
  };
}

/** The same memory, with the methods of a Buffer. Making another view of it costs as much as copying a small object. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
