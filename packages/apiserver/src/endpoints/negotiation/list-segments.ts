// Caches joined runs of list items, so that a list consists of hundreds of buffers and not of one per object. A segment is valid while its objects
// are unchanged.

import type { CachedObject } from "../../cache/cached-object.ts";

/** The items of a list as compact JSON, with commas between them, in parts. `isTyped`: they have no type of their own. */
export type ListSegments = { partsOf(items: readonly CachedObject[], isTyped?: boolean): Generator<Uint8Array> };

const COMMA = 0x2c;
const COMMA_BYTES = Buffer.of(COMMA);
/** The maximum number of objects and bytes, but at least one object. */
const SEGMENT_OBJECTS = 256;
const SEGMENT_BYTES = 256 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;

type Segment = {
  readonly items: readonly CachedObject[];
  readonly bytes: Buffer;
  /** Whether it ends where it does whatever comes behind it. */
  readonly isFull: boolean;
};

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
    *partsOf(items, isTyped = false) {
      for (let from = 0; from < items.length; ) {
        const first = items[from] as CachedObject;
        // From where it lies: it alone fills a segment, which would be a copy for each reader.
        if (first.byteLength >= SEGMENT_BYTES) {
          yield* (isTyped ? first.item : first).pieces();
          if (++from < items.length) yield COMMA_BYTES;
          continue;
        }
        let segment = kept.get(first);
        if (segment === undefined || !isNext(segment, items, from)) {
          const to = endOf(items, from);
          segment = join(items.slice(from, to), to < items.length, isTyped);
        }
        // Alone it would be a copy of the object.
        if (segment.items.length > 1) keep(first, segment);
        from += segment.items.length;
        // The comma behind the last one is not part of the list.
        yield from === items.length ? segment.bytes.subarray(0, -1) : segment.bytes;
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

/** Whether it is the one that begins at `from`. */
function isNext({ items: own, isFull }: Segment, items: readonly CachedObject[], from: number): boolean {
  if (!isFull && own.length !== items.length - from) return false;
  for (let at = 0; at < own.length; at++) if (own[at] !== items[from + at]) return false;
  return true;
}

function join(items: readonly CachedObject[], isFull: boolean, isTyped: boolean): Segment {
  const written = isTyped ? items.map(({ item }) => item) : items;
  const size = written.reduce((sum, { byteLength }) => sum + byteLength + 1, 0);
  // Not from Node's pool, which it would keep in memory.
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const item of written) {
    at = item.writeTo(bytes, at);
    bytes[at++] = COMMA;
  }
  return { items, bytes, isFull };
}
