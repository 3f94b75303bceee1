// Caches joined runs of list items, so that a list consists of hundreds of buffers and not of one per object. A segment is valid while its objects
// are unchanged.

import type { CachedObject } from "../../cache/cached-object.ts";

/** The items of a list as compact JSON, with commas between them, in parts. */
export type ListSegments = { partsOf(items: readonly CachedObject[]): Generator<Buffer> };

const COMMA = 0x2c;
/** The maximum number of objects and bytes, but at least one object. */
const SEGMENT_OBJECTS = 256;
const SEGMENT_BYTES = 256 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;

type Segment = { readonly items: readonly CachedObject[]; readonly bytes: Buffer };

/** Forgets what has not been asked for the longest beyond `maxBytes`. */
export function createListSegments(maxBytes: number = MAX_BYTES): ListSegments {
  /** By their first objects, in the order of their last use. */
  const kept = new Map<CachedObject, Segment>();
  let keptBytes = 0;

  function keep(first: CachedObject, segment: Segment): void {
    const { bytes } = kept.get(first) ?? { bytes: [] };
    keptBytes += segment.bytes.length - bytes.length;
    kept.delete(first);
    kept.set(first, segment);
    for (const [oldest, { bytes: given }] of kept) {
      if (keptBytes <= maxBytes) return;
      kept.delete(oldest);
      keptBytes -= given.length;
    }
  }

  return {
    *partsOf(items) {
      for (let from = 0; from < items.length; ) {
        const to = endOf(items, from);
        const first = items[from] as CachedObject;
        let segment = kept.get(first);
        // Alone it would be a copy of the object.
        if (segment === undefined || !isOf(segment, items, from, to)) segment = join(items.slice(from, to));
        if (to - from > 1) keep(first, segment);
        // The comma behind the last one is not part of the list.
        yield to === items.length ? segment.bytes.subarray(0, -1) : segment.bytes;
        from = to;
      }
    },
  };
}

function endOf(items: readonly CachedObject[], from: number): number {
  let size = 0;
  let to = from;
  for (; to < items.length && to - from < SEGMENT_OBJECTS; to++) {
    size += (items[to]?.byteLength ?? 0) + 1;
    if (size > SEGMENT_BYTES && to > from) break;
  }
  return to;
}

function isOf(segment: Segment, items: readonly CachedObject[], from: number, to: number): boolean {
  if (segment.items.length !== to - from) return false;
  return segment.items.every((item, at) => item === items[from + at]);
}

function join(items: readonly CachedObject[]): Segment {
  const size = items.reduce((sum, { byteLength }) => sum + byteLength + 1, 0);
  // Not from a pool, of which it would keep the rest from being given back.
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const item of items) {
    at = item.writeTo(bytes, at);
    bytes[at++] = COMMA;
  }
  return { items, bytes };
}
