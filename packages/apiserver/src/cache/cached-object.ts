// An object as the server keeps it: its encoded bytes, ready to be sent, parsed only when somebody has to look inside.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Revision, StoredEntry } from "../storage/storage.ts";
import { type AllocateBytes, allocateAlone, asBuffer, type Place } from "./allocate-bytes.ts";
import type { MemberReader } from "./read-members.ts";

/*
 * A stored value is the object's JSON without its resourceVersion (that is the revision of the write, known only afterwards),
 * apiVersion, kind and metadata first, then, behind a newline, the JSON of what must never be served. JSON text holds no raw
 * newline, so the split is unambiguous, and what is served is the bytes before it.
 */
const NEWLINE = 0x0a;
const METADATA = Buffer.from('"metadata":{');

/** Looking for depth costs as much as parsing. */
const TRUSTED = { maxDepth: Number.POSITIVE_INFINITY };

/** The stored value of an object. `sealed` is kept beside it and never served. */
export function encodeStoredValue(object: KubeObject, sealed?: JsonObject): Uint8Array {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = metadata;
  const served = stringifyJson({ apiVersion, kind, metadata: meta, ...rest });
  return Buffer.from(sealed === undefined ? served : `${served}\n${stringifyJson(sealed)}`);
}

export class CachedObject {
  readonly key: string;
  readonly revision: Revision;
  /** Where its JSON lies. Views of it are made when they are asked for: kept, they would take more memory than small objects do. */
  readonly #memory: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** What is sealed lies in the memory of this one, behind the newline that follows its JSON. */
  readonly #stored: CachedObject;
  /** Where what is sealed ends, or else the JSON. */
  readonly #storedEnd: number;
  #labels: { readonly [key: string]: string } | undefined;

  private constructor(
    key: string,
    revision: Revision,
    { memory, start }: Place,
    end: number,
    storedEnd = end,
    stored?: CachedObject,
  ) {
    this.key = key;
    this.revision = revision;
    this.#memory = memory;
    this.#start = start;
    this.#end = end;
    this.#stored = stored ?? this;
    this.#storedEnd = storedEnd;
  }

  static fromEntry({ key, value, revision }: StoredEntry, allocate: AllocateBytes = allocateAlone): CachedObject {
    const source = asBuffer(value);
    const member = revisionMember(revision);
    // A copy: the entry's value may be a view into the buffer of a whole page of entries.
    const place = allocate(source.length + member.length);
    insert(source, behindMetadata(source), member, place);
    const newline = source.indexOf(NEWLINE);
    const end = place.start + member.length;
    return new CachedObject(key, revision, place, end + (newline < 0 ? source.length : newline), end + source.length);
  }

  /** An object as an answer shows it, whether it was stored (with its resourceVersion) or not (dry run). */
  static fromObject(key: string, object: KubeObject): CachedObject {
    const revision = Number(object.metadata.resourceVersion ?? 0);
    const memory = Buffer.from(stringifyJson(object));
    return new CachedObject(key, revision, { memory, start: 0 }, memory.length);
  }

  /** The object's JSON with its resourceVersion in it, without a trailing newline: a new view of the same memory on every call. */
  get bytes(): Uint8Array {
    return this.#memory.subarray(this.#start, this.#end);
  }

  /** That of `bytes`. */
  get byteLength(): number {
    return this.#end - this.#start;
  }

  /** The same object under another revision: what a DELETED event shows. */
  atRevision(revision: Revision): CachedObject {
    const source = asBuffer(this.bytes);
    const at = behindMetadata(source);
    const member = revisionMember(revision);
    const others = Buffer.concat([source.subarray(0, at), source.subarray(at + revisionMember(this.revision).length)]);
    const place = allocateAlone(others.length + member.length);
    insert(others, at, member, place);
    const end = place.memory.length;
    return new CachedObject(this.key, revision, place, end, end, this.#stored);
  }

  /** The same object with another encoding of what is served. */
  withBytes(bytes: Uint8Array): CachedObject {
    const place = { memory: asBuffer(bytes), start: 0 };
    return new CachedObject(this.key, this.revision, place, bytes.length, bytes.length, this.#stored);
  }

  /** Parsed anew on every call: keep the result where it is needed twice. */
  decode(): KubeObject {
    // Only encodeStoredValue writes values, so the bytes are a KubeObject, and no deeper than what clients may send.
    return parseJson(this.bytes, TRUSTED) as KubeObject;
  }

  /** Members of what `decode` gives. */
  read(reader: MemberReader): JsonObject {
    return reader(this.#memory, this.#start, this.#end);
  }

  /** Members of what `decodeSealed` gives; none where nothing is sealed. */
  readSealed(reader: MemberReader): JsonObject {
    const { start, end } = this.#sealed;
    return start >= end ? {} : reader(this.#stored.#memory, start, end);
  }

  /** What `encodeStoredValue` was given as `sealed`. */
  decodeSealed(): JsonObject | undefined {
    const { start, end } = this.#sealed;
    if (start >= end) return undefined;
    const sealed = parseJson(this.#stored.#memory.subarray(start, end));
    return isJsonObject(sealed) ? sealed : undefined;
  }

  /** Parsed once and kept, because every list and watch with a label selector asks for them. */
  get labels(): { readonly [key: string]: string } {
    this.#labels ??= this.decode().metadata.labels ?? {};
    return this.#labels;
  }

  get #sealed(): { readonly start: number; readonly end: number } {
    return { start: this.#stored.#end + 1, end: this.#stored.#storedEnd };
  }
}

function revisionMember(revision: Revision): string {
  return `"resourceVersion":"${revision}",`;
}

/**
 * Where the first member of `metadata` begins, or 0 in what is no object. Found step by step, since it is near: a call into Node costs
 * more than the way there.
 */
function behindMetadata(source: Buffer): number {
  for (let at = 0; at < source.length; at++) {
    let matching = 0;
    while (matching < METADATA.length && source[at + matching] === METADATA[matching]) matching++;
    if (matching === METADATA.length) return at + matching;
  }
  return 0;
}

/** Writes `source` to `place`, with `text`, which is ASCII, in between at `at`. */
function insert(source: Buffer, at: number, text: string, { memory, start }: Place): void {
  // All of it where its end belongs, in one call, and then the little before over again: part of a buffer costs another view of it.
  memory.set(source, start + text.length);
  for (let index = 0; index < at; index++) memory[start + index] = source[index] ?? 0;
  for (let index = 0; index < text.length; index++) memory[start + at + index] = text.charCodeAt(index);
}
