// An object as the server keeps it: its encoded bytes, ready to be sent, parsed only when somebody has to look inside.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Revision, StoredEntry } from "../storage/storage.ts";
import { type AllocateBytes, allocateAlone, asBuffer } from "./allocate-bytes.ts";

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
  /** The object's JSON with its resourceVersion in it, without a trailing newline. */
  readonly bytes: Uint8Array;
  /** Ends with what is sealed; before that stands what was served when it was stored. */
  readonly #stored: Buffer;
  readonly #sealedLength: number;
  #labels: { readonly [key: string]: string } | undefined;

  private constructor(
    key: string,
    revision: Revision,
    bytes: Uint8Array,
    sealed: { readonly stored: Buffer; readonly length: number },
  ) {
    this.key = key;
    this.revision = revision;
    this.bytes = bytes;
    this.#stored = sealed.stored;
    this.#sealedLength = sealed.length;
  }

  static fromEntry({ key, value, revision }: StoredEntry, allocate: AllocateBytes = allocateAlone): CachedObject {
    const source = asBuffer(value);
    const member = revisionMember(revision);
    // A copy: the entry's value may be a view into the buffer of a whole page of entries.
    const stored = splice(source, source.indexOf(METADATA) + METADATA.length, 0, member, allocate);
    const newline = source.indexOf(NEWLINE);
    if (newline < 0) return new CachedObject(key, revision, stored, { stored, length: 0 });
    const length = source.length - newline - 1;
    return new CachedObject(key, revision, stored.subarray(0, newline + member.length), { stored, length });
  }

  /** An object as an answer shows it, whether it was stored (with its resourceVersion) or not (dry run). */
  static fromObject(key: string, object: KubeObject): CachedObject {
    const revision = Number(object.metadata.resourceVersion ?? 0);
    const bytes = Buffer.from(stringifyJson(object));
    return new CachedObject(key, revision, bytes, { stored: bytes, length: 0 });
  }

  /** The same object under another revision: what a DELETED event shows. */
  atRevision(revision: Revision): CachedObject {
    const bytes = asBuffer(this.bytes);
    const at = bytes.indexOf(METADATA) + METADATA.length;
    const old = revisionMember(this.revision).length;
    return this.#with(revision, splice(bytes, at, old, revisionMember(revision), allocateAlone));
  }

  /** The same object with another encoding of what is served. */
  withBytes(bytes: Uint8Array): CachedObject {
    return this.#with(this.revision, bytes);
  }

  /** Parsed anew on every call: keep the result where it is needed twice. */
  decode(): KubeObject {
    // Only encodeStoredValue writes values, so the bytes are a KubeObject, and no deeper than what clients may send.
    return parseJson(this.bytes, TRUSTED) as KubeObject;
  }

  /** What `encodeStoredValue` was given as `sealed`. */
  decodeSealed(): JsonObject | undefined {
    if (this.#sealedLength === 0) return undefined;
    const sealed = parseJson(this.#stored.subarray(this.#stored.length - this.#sealedLength));
    return isJsonObject(sealed) ? sealed : undefined;
  }

  /** Parsed once and kept, because every list and watch with a label selector asks for them. */
  get labels(): { readonly [key: string]: string } {
    this.#labels ??= this.decode().metadata.labels ?? {};
    return this.#labels;
  }

  #with(revision: Revision, bytes: Uint8Array): CachedObject {
    return new CachedObject(this.key, revision, bytes, { stored: this.#stored, length: this.#sealedLength });
  }
}

function revisionMember(revision: Revision): string {
  return `"resourceVersion":"${revision}",`;
}

/** `source` with `text`, which is ASCII, in place of the `removed` bytes at `at`. */
function splice(source: Buffer, at: number, removed: number, text: string, allocate: AllocateBytes): Buffer {
  const bytes = allocate(source.length - removed + text.length);
  source.copy(bytes, 0, 0, at);
  bytes.write(text, at, "latin1");
  source.copy(bytes, at + text.length, at + removed);
  return bytes;
}
