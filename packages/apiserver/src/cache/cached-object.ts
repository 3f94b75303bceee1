// An object as encoded bytes, ready to be sent, and parsed only on demand.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseWrittenJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Revision, StoredEntry } from "../storage/storage.ts";
import { createMemberReader, type MemberReader } from "./read-members.ts";

/*
 * A stored value is the object's JSON without its resourceVersion (that is the revision of the write, known only afterwards),
 * apiVersion, kind and metadata first, then, behind a newline, the JSON of what must never be served. JSON text holds no raw
 * newline, so the split is unambiguous, and what is served is the bytes before it.
 */
const NEWLINE = 0x0a;
const METADATA = Buffer.from('"metadata":{');
const MEMBER_START = Buffer.from('"resourceVersion":"');
const MEMBER_END = Buffer.from('",');
const ZERO = 0x30;
const OPENING_BRACE = 0x7b;
const OPENING = Buffer.of(OPENING_BRACE);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_BEYOND_ASCII = 0x80;

const utf8 = new TextDecoder();

type Labels = { readonly [key: string]: string };
const NO_LABELS: Labels = {};
/** More take many times the memory of their bytes. */
const MOST_KEPT_LABELS = 16;
const readLabels = createMemberReader({ metadata: { labels: true } });
// They are strings in every object that has been stored.
const labelsOf = (metadata: JsonValue | undefined): Labels =>
  isJsonObject(metadata) ? ((metadata["labels"] as Labels | undefined) ?? NO_LABELS) : NO_LABELS;

/** The stored value of an object. `sealed` is stored beside it and never served. */
export function encodeStoredValue(object: KubeObject, sealed?: JsonObject): Uint8Array {
  // An undefined member is not written. A copy that leaves a member out takes several times as long.
  const metadata = { ...object.metadata, resourceVersion: undefined };
  const served = stringifyJson({ ...inOrder(object), metadata });
  return Buffer.from(sealed === undefined ? served : `${served}\n${stringifyJson(sealed)}`);
}

/** With the members that each object has first. */
function inOrder(object: KubeObject): KubeObject {
  const [first, second, third] = Object.keys(object);
  if (first === "apiVersion" && second === "kind" && third === "metadata") return object;
  const { apiVersion, kind, metadata, ...rest } = object;
  return { apiVersion, kind, metadata, ...rest };
}

/** Makes the objects of many entries that come at once, such as those of a page, which share memory. */
export type EntryReader = (entry: StoredEntry) => CachedObject;

/** In place of a decoded object that is to be kept. */
const KEPT = Symbol("kept");

/** In place of it too: what the writer of this process encoded, without the resourceVersion. */
class Written {
  readonly object: KubeObject;

  constructor(object: KubeObject) {
    this.object = object;
  }
}

/** A stored object as encoded bytes. `decode()` gives the object; do not change what it returns. */
export class CachedObject {
  readonly key: string;
  readonly revision: Revision;
  /** The place of its stored JSON in the arena: a view for each object would take more memory than small objects do. */
  #memory: Buffer;
  #start: number;
  #end: number;
  /** The sealed part is in this buffer, after the newline that follows the JSON. */
  readonly #stored: CachedObject;
  /** End of the sealed part, or of the JSON. */
  #storedEnd: number;
  /** Length of the part before the first member of `metadata`, computed on demand. */
  #head: number | undefined;
  #labels: Labels | undefined;
  #keptBytes: number | undefined;
  /** The result of `decode`, where the creator of this object had it at hand: only in responses, or while followers get its event. */
  #object: KubeObject | Written | typeof KEPT | undefined;

  private constructor(
    key: string,
    revision: Revision,
    memory: Buffer,
    start: number,
    end: number,
    storedEnd = end,
    stored?: CachedObject,
    object?: KubeObject,
  ) {
    this.key = key;
    this.revision = revision;
    this.#memory = memory;
    this.#start = start;
    this.#end = end;
    this.#stored = stored ?? this;
    this.#object = object;
    this.#storedEnd = storedEnd;
  }

  /** Copies the value, which may be a view into the memory of many, to a place in `memory`. Default: to memory of its own. */
  static fromEntry(
    entry: StoredEntry,
    memory: Buffer = Buffer.allocUnsafeSlow(entry.value.length),
    start = 0,
  ): CachedObject {
    memory.set(entry.value, start);
    return CachedObject.#within(memory, start, entry);
  }

  /**
   * Copies nothing: the objects of a page keep the memory of the page, which is free again when all of them are. That costs a start
   * less, and less memory, than copies do.
   */
  static entryReader(): EntryReader {
    let memory: Buffer<ArrayBufferLike> = Buffer.alloc(0);
    return (entry) => {
      const { buffer, byteOffset } = entry.value;
      if (buffer !== memory.buffer) memory = Buffer.from(buffer);
      return CachedObject.#within(memory, byteOffset, entry);
    };
  }

  static #within(memory: Buffer, start: number, { key, value, revision }: StoredEntry): CachedObject {
    const newline = asBuffer(value).indexOf(NEWLINE);
    const storedEnd = start + value.length;
    return new CachedObject(key, revision, memory, start, newline < 0 ? storedEnd : start + newline, storedEnd);
  }

  /** The buffer of the stored value, shared or its own. */
  get memory(): Buffer {
    return this.#memory;
  }

  /** How much of it that takes. */
  get storedBytes(): number {
    return this.#storedEnd - this.#start;
  }

  /** Copies the stored bytes to a place in other memory, and lies there from now on. Objects made from this one stay where they are. */
  moveTo(memory: Buffer, start: number): void {
    this.#memory.copy(memory, start, this.#start, this.#storedEnd);
    const distance = start - this.#start;
    this.#memory = memory;
    this.#start += distance;
    this.#end += distance;
    this.#storedEnd += distance;
  }

  /** An object as an answer shows it, whether it was stored (with its resourceVersion) or not (dry run). */
  static fromObject(key: string, object: KubeObject): CachedObject {
    const memory = asBuffer(encodeStoredValue(object));
    return new CachedObject(key, Number(object.metadata.resourceVersion ?? 0), memory, 0, memory.length);
  }

  /** The object's JSON with its resourceVersion, without a trailing newline: a new buffer on every call. */
  get bytes(): Uint8Array {
    const target = Buffer.allocUnsafe(this.byteLength);
    this.writeTo(target, 0);
    return target;
  }

  /** The length of `bytes`. */
  get byteLength(): number {
    return this.#end - this.#start + memberLength(this.revision);
  }

  /** Writes `bytes` to `target` from `at` on, and returns where they end. */
  writeTo(target: Buffer, at: number): number {
    const [start, end, length] = [this.#start, this.#end, memberLength(this.revision)];
    this.#head ??= behindMetadata(this.#memory, start, end) - start;
    // All of it where its end belongs, in one call, and then the little before once more from there: part of a buffer costs a view of it.
    this.#memory.copy(target, at + length, start, end);
    target.copyWithin(at, at + length, at + length + this.#head);
    if (length > 0) writeMember(this.revision, target, at + this.#head, length);
    return at + end - start + length;
  }

  /** `bytes`, from where they lie: no copy of a large object is made for each of its readers. */
  pieces(): readonly Uint8Array[] {
    const [start, end] = [this.#start, this.#end];
    this.#head ??= behindMetadata(this.#memory, start, end) - start;
    const metadata = start + this.#head;
    return [this.#memory.subarray(start, metadata), memberOf(this.revision), this.#memory.subarray(metadata, end)];
  }

  /** The object as an item of a list whose kind says what its items are: without its apiVersion and kind. */
  get item(): Pick<CachedObject, "byteLength" | "writeTo" | "pieces"> {
    const [memory, start, end, length] = [this.#memory, this.#start, this.#end, memberLength(this.revision)];
    this.#head ??= behindMetadata(memory, start, end) - start;
    const metadata = start + this.#head;
    const first = this.#head === 0 ? start + 1 : metadata - METADATA.length;
    return {
      byteLength: 1 + end - first + length,
      writeTo: (target, at) => {
        target[at] = OPENING_BRACE;
        const member = at + 1 + memory.copy(target, at + 1, first, metadata);
        if (length > 0) writeMember(this.revision, target, member, length);
        return member + length + memory.copy(target, member + length, metadata, end);
      },
      pieces: () => [
        OPENING,
        memory.subarray(first, metadata),
        memberOf(this.revision),
        memory.subarray(metadata, end),
      ],
    };
  }

  /** The same object under another revision: what a DELETED event shows. */
  atRevision(revision: Revision): CachedObject {
    return this.#like(revision, this.#memory, this.#start, this.#end);
  }

  /** The object as it was stored, whatever else has been made of it for clients. */
  get record(): CachedObject {
    return this.#stored;
  }

  /** The same object as another kind: `head` replaces the first `length` bytes, which end before its metadata. */
  withHead(head: Uint8Array, length: number): CachedObject {
    const memory = Buffer.concat([head, this.#memory.subarray(this.#start + length, this.#end)]);
    return this.#like(this.revision, memory, 0, memory.length);
  }

  /** The same object with more or less to be seen of it. */
  withContent(object: KubeObject): CachedObject {
    const memory = asBuffer(encodeStoredValue(object));
    return this.#like(this.revision, memory, 0, memory.length);
  }

  #like(revision: Revision, memory: Buffer, start: number, end: number): CachedObject {
    return new CachedObject(this.key, revision, memory, start, end, end, this.#stored);
  }

  /** The same object for a response, for readers of its content: `object` is the result of `decode`. */
  decodedAs(object: KubeObject): CachedObject {
    const [start, end] = [this.#start, this.#end];
    return new CachedObject(this.key, this.revision, this.#memory, start, end, this.#storedEnd, this.#stored, object);
  }

  /** Parsed on every call, except for responses and while decoded objects are kept: keep the result if you need it twice. */
  decode(): KubeObject {
    if (this.#object instanceof Written) this.#object = withRevision(this.#object.object, this.revision);
    const known = this.#object;
    if (known !== undefined && known !== KEPT) return known;
    // Only encodeStoredValue writes values, so the bytes are a KubeObject, and no deeper than what clients may send.
    const object = parseWrittenJson(utf8.decode(this.bytes)) as KubeObject;
    if (known === KEPT) this.#object = object;
    return object;
  }

  /**
   * From now on it is parsed once for all observers of its event, and not at all where `written` is what its value encodes. The
   * memory must be released again.
   */
  keepDecoded(written?: KubeObject): void {
    this.#object ??= written === undefined ? KEPT : new Written(written);
  }

  letGoOfDecoded(): void {
    this.#object = undefined;
  }

  /** Members of what `decode` gives, but for the resourceVersion. */
  read(reader: MemberReader): JsonObject {
    const known = this.#object;
    if (known === undefined || known === KEPT) return reader.read(this.#memory, this.#start, this.#end);
    return reader.select(known instanceof Written ? known.object : known);
  }

  /** The value that `encodeStoredValue` was given as `sealed`. */
  decodeSealed(): JsonObject | undefined {
    const { start, end } = this.#sealed;
    if (start >= end) return undefined;
    const sealed = parseWrittenJson(this.#stored.#memory.toString("utf8", start, end));
    return isJsonObject(sealed) ? sealed : undefined;
  }

  /**
   * The text between `before` and the next quote where the sealed part begins with `before`, without parsing anything: for searches
   * in very many objects. Undefined where it begins otherwise, or has a text there that is not its own bytes.
   */
  peekSealed(before: Uint8Array): string | undefined {
    const memory = this.#stored.#memory;
    const { start, end } = this.#sealed;
    for (let index = 0; index < before.length; index++) if (memory[start + index] !== before[index]) return undefined;
    const from = start + before.length;
    for (let to = from; to < end; to++) {
      const byte = memory[to] ?? BACKSLASH;
      if (byte === QUOTE) return memory.toString("latin1", from, to);
      if (byte === BACKSLASH || byte >= FIRST_BEYOND_ASCII) return undefined;
    }
    return undefined;
  }

  /** How many strings, names of members included, its JSON has after `member`, without parsing it. Escaped quotes count as well. */
  stringsAfter(member: Buffer): number {
    const first = this.#memory.indexOf(member, this.#start);
    if (first < 0) return 0;
    let quotes = 0;
    for (let at = first; at < this.#end; at++) if (this.#memory[at] === QUOTE) quotes++;
    return quotes / 2;
  }

  /** Whether the served JSON contains these bytes, without parsing: for members that few of very many objects have. */
  has(bytes: Buffer): boolean {
    return this.#memory.subarray(this.#start, this.#end).includes(bytes);
  }

  /** False only if the object has no member of this name, with its quotes, as far as can be seen without parsing. */
  mayHave(member: Buffer): boolean {
    return (this.#object !== undefined && this.#object !== KEPT) || this.has(member);
  }

  /** Whether the sealed part contains these bytes, without parsing: for markers that few of very many objects have. */
  hasSealed(bytes: Buffer): boolean {
    const { start, end } = this.#sealed;
    return start < end && this.#stored.#memory.subarray(start, end).includes(bytes);
  }

  /** Read once and kept if they are few, because every list and watch with a label selector asks for them. */
  get labels(): Labels {
    if (this.#labels !== undefined) return this.#labels;
    const labels = labelsOf(this.read(readLabels)["metadata"]);
    if (Object.keys(labels).length <= MOST_KEPT_LABELS) this.#labels = labels;
    return labels;
  }

  /** The result of `reckon` for the object, which is called once: objects come, go and are compared with their successors. */
  keptBytes(reckon: (object: CachedObject) => number): number {
    this.#keptBytes ??= reckon(this);
    return this.#keptBytes;
  }

  get #sealed(): { readonly start: number; readonly end: number } {
    return { start: this.#stored.#end + 1, end: this.#stored.#storedEnd };
  }
}

/** With its members in the order of `bytes`. */
const withRevision = (object: KubeObject, revision: Revision): KubeObject => ({
  ...inOrder(object),
  metadata: Object.assign({ resourceVersion: "" }, object.metadata, { resourceVersion: String(revision) }),
});

/** Length of the member with the revision. 0 for an object without one, such as the result of a dry run. */
function memberLength(revision: Revision): number {
  if (revision === 0) return 0;
  let digits = 1;
  for (let rest = revision; rest >= 10; rest /= 10) digits++;
  return MEMBER_START.length + digits + MEMBER_END.length;
}

function memberOf(revision: Revision): Uint8Array {
  const member = Buffer.allocUnsafe(memberLength(revision));
  if (member.length > 0) writeMember(revision, member, 0, member.length);
  return member;
}

/** Byte by byte: making a text of it, and writing that, takes longer. */
function writeMember(revision: Revision, target: Buffer, at: number, length: number): void {
  for (let index = 0; index < MEMBER_START.length; index++) target[at + index] = MEMBER_START[index] ?? 0;
  let end = at + length - MEMBER_END.length;
  for (let index = 0; index < MEMBER_END.length; index++) target[end + index] = MEMBER_END[index] ?? 0;
  for (let rest = revision; rest > 0; rest = Math.floor(rest / 10)) target[--end] = ZERO + (rest % 10);
}

/**
 * Index of the first member of `metadata`, or `start` if the text is no object. Searched step by step, since it is near: a call into Node would cost
 * more.
 */
function behindMetadata(memory: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    let matching = 0;
    while (matching < METADATA.length && memory[at + matching] === METADATA[matching]) matching++;
    if (matching === METADATA.length) return at + matching;
  }
  return start;
}

/** The same memory, with the methods of a Buffer. Making another view of it costs as much as copying a small object. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
