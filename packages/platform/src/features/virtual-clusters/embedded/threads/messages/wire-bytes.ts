// Bytes as messages between threads. A message copies the whole buffer behind an array, so that parts of larger buffers are cut out before.

import type { ListResult, StorageEvent, StoredEntry } from "@postern/apiserver/storage/storage";

/** With a buffer of its own, which is not shared with anything. */
export const copyOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** Fewer bytes are copied once more in less time than a buffer is moved. */
const MOVED_BYTES = 16 * 1024;

/** The buffer that a message moves. */
export const movedFrom = (bytes: Uint8Array<ArrayBuffer>): readonly ArrayBuffer[] =>
  bytes.length < MOVED_BYTES ? [] : [bytes.buffer];

/** The same bytes if they fill their buffer: a message makes the copy. */
export const wholeBuffer = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : copyOf(bytes);

/** Entries whose values lie in one buffer, one after the other. */
export type PackedEntries = {
  readonly keys: readonly string[];
  readonly revisions: readonly number[];
  readonly lengths: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
};

export type PackedList = PackedEntries & Pick<ListResult, "revision" | "remaining">;

export function packEntries(entries: readonly StoredEntry[]): PackedEntries {
  let total = 0;
  for (const { value } of entries) total += value.length;
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const { value } of entries) {
    bytes.set(value, at);
    at += value.length;
  }
  return {
    keys: entries.map(({ key }) => key),
    revisions: entries.map(({ revision }) => revision),
    lengths: entries.map(({ value }) => value.length),
    bytes,
  };
}

export function unpackEntries({ keys, revisions, lengths, bytes }: PackedEntries): readonly StoredEntry[] {
  let at = 0;
  return keys.map((key, index) => {
    const length = lengths[index] ?? 0;
    const value = bytes.subarray(at, at + length);
    at += length;
    return { key, value, revision: revisions[index] ?? 0 };
  });
}

/** Events of one watch. The previous entries follow in the same order where the watch asked for them. */
export type PackedEvents = PackedEntries & {
  /** Deletions, by index: their values are empty. */
  readonly deleted: readonly number[];
  readonly previous: PackedEntries | undefined;
  /** Whether each has one. */
  readonly hasPrevious: readonly boolean[];
};

const NO_BYTES = new Uint8Array(0);

export function packEvents(events: readonly StorageEvent[], withPrevious: boolean): PackedEvents {
  const entries = events.map((event) =>
    event.type === "put" ? event.entry : { key: event.key, value: NO_BYTES, revision: event.revision },
  );
  const previous = withPrevious ? events.map((event) => event.previous) : [];
  return {
    ...packEntries(entries),
    deleted: events.flatMap(({ type }, index) => (type === "delete" ? [index] : [])),
    previous: withPrevious ? packEntries(previous.filter((entry) => entry !== undefined)) : undefined,
    hasPrevious: previous.map((entry) => entry !== undefined),
  };
}

/** A deletion without its previous entry has one without bytes. */
export function unpackEvents({ deleted, previous, hasPrevious, ...packed }: PackedEvents): readonly StorageEvent[] {
  const deletions = new Set(deleted);
  const before = previous === undefined ? [] : unpackEntries(previous);
  let at = 0;
  return unpackEntries(packed).map((entry, index): StorageEvent => {
    const earlier = hasPrevious[index] === true ? before[at++] : undefined;
    const { key, revision } = entry;
    return deletions.has(index)
      ? { type: "delete", key, revision, previous: earlier ?? { key, value: NO_BYTES, revision: 0 } }
      : { type: "put", entry, previous: earlier };
  });
}

/** The buffers of packed entries, to be moved with them. */
export const buffersOf = (...packed: readonly (PackedEntries | undefined)[]): readonly ArrayBuffer[] =>
  packed.flatMap((each) => (each === undefined || each.bytes.length === 0 ? [] : [each.bytes.buffer]));
