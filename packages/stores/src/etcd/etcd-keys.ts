// The keys of one Postern in etcd: all have its prefix, so that several servers can share one etcd.

import { prefixEnd } from "@postern/apiserver/storage/key-order";

export type KeyRange = { readonly key: Uint8Array; readonly range_end: Uint8Array };

/** Object keys begin with a slash after the prefix, the server's own keys with a dot. */
export class EtcdKeys {
  readonly #prefix: string;
  readonly #objects: Buffer;
  /** Everything below the prefix, object keys and the server's own: a watch must see all of it to notice every write. */
  readonly everything: KeyRange;
  /** Written to create a revision that every watch is notified of. */
  readonly tick: Uint8Array;
  /** Written to ask every server for the revision that it has reached. */
  readonly ask: Uint8Array;
  /** The running servers, each with the revision that it last reported. */
  readonly replicas: KeyRange;
  /** The schema version of the data below the prefix. */
  readonly schema: Uint8Array;

  /** Throws RangeError unless `prefix` is like `/postern`: not empty, without a slash or a dot at its end. */
  constructor(prefix: string) {
    if (!/[^/.]$/.test(prefix)) throw new RangeError(`invalid key prefix: ${JSON.stringify(prefix)}`);
    this.#prefix = prefix;
    this.#objects = Buffer.from(`${prefix}/`);
    // In byte order, "." comes right before "/".
    this.everything = { key: Buffer.from(`${prefix}.`), range_end: Buffer.from(afterPrefix(`${prefix}/`)) };
    this.tick = Buffer.from(`${prefix}.tick`);
    this.ask = Buffer.from(`${prefix}.ask`);
    const replicas = `${prefix}.replica/`;
    this.replicas = { key: Buffer.from(replicas), range_end: Buffer.from(afterPrefix(replicas)) };
    this.schema = Buffer.from(`${prefix}.schema`);
  }

  /** Throws RangeError if `key` does not begin with a slash. */
  encode(key: string): Uint8Array {
    if (!key.startsWith("/")) throw new RangeError(`keys begin with a slash: ${JSON.stringify(key)}`);
    return Buffer.from(this.#prefix + key);
  }

  /** Undefined if the key is the server's own. */
  decode(key: Uint8Array): string | undefined {
    // Messages contain Buffers, for which a view is free.
    const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
    if (bytes.compare(this.#objects, 0, this.#objects.length, 0, this.#objects.length) !== 0) return undefined;
    return bytes.toString("utf8", this.#objects.length - 1);
  }

  /** The range of the keys below a prefix, after `startAfter`. */
  range(prefix: string, startAfter?: string): KeyRange {
    const under = prefix === "" ? "/" : prefix;
    const from = Buffer.from(this.#prefix + under);
    const end = Buffer.from(afterPrefix(this.#prefix + under));
    if (startAfter === undefined) return { key: from, range_end: end };
    const after = Buffer.from(`${this.#prefix}${startAfter}\0`);
    return { key: Buffer.compare(after, from) > 0 ? after : from, range_end: end };
  }

  replica(id: string): Uint8Array {
    return Buffer.from(`${this.#prefix}.replica/${id}`);
  }

  leader(name: string): Uint8Array {
    return Buffer.from(`${this.#prefix}.leader/${name}`);
  }
}

function afterPrefix(prefix: string): string {
  // Only the empty string and the highest code point have no successor.
  return prefixEnd(prefix) ?? "\u{10ffff}";
}
