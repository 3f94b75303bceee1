// Where in etcd the keys of one Postern lie: everything under its own prefix, which several Posterns can share one etcd by.

import { prefixEnd } from "@postern/apiserver/storage/key-order";

export type KeyRange = { readonly key: Uint8Array; readonly range_end: Uint8Array };

/** Keys of the store begin with a slash, as object keys do; what the server keeps for itself lies beside them, after a dot. */
export class EtcdKeys {
  readonly #prefix: string;
  readonly #objects: Buffer;
  /** Everything that is written under the prefix, ours and the server's own: what a watch must see to know of every write. */
  readonly everything: KeyRange;
  /** Written to create a revision that every watch is notified of. */
  readonly tick: Uint8Array;
  /** Written to have every server say how far it is. */
  readonly ask: Uint8Array;
  /** The servers that are there, each with how far it has said it is. */
  readonly replicas: KeyRange;
  /** The schema version of the data under the prefix. */
  readonly schema: Uint8Array;

  /** Throws RangeError unless `prefix` is such as `/postern`: not empty, without a slash or a dot at its end. */
  constructor(prefix: string) {
    if (!/[^/.]$/.test(prefix)) throw new RangeError(`not a prefix of keys: ${JSON.stringify(prefix)}`);
    this.#prefix = prefix;
    this.#objects = Buffer.from(`${prefix}/`);
    // "." comes right before "/" in the order of bytes.
    this.everything = { key: Buffer.from(`${prefix}.`), range_end: Buffer.from(afterPrefix(`${prefix}/`)) };
    this.tick = Buffer.from(`${prefix}.tick`);
    this.ask = Buffer.from(`${prefix}.ask`);
    const replicas = `${prefix}.replica/`;
    this.replicas = { key: Buffer.from(replicas), range_end: Buffer.from(afterPrefix(replicas)) };
    this.schema = Buffer.from(`${prefix}.schema`);
  }

  /** Throws RangeError when `key` does not begin with a slash. */
  encode(key: string): Uint8Array {
    if (!key.startsWith("/")) throw new RangeError(`keys begin with a slash: ${JSON.stringify(key)}`);
    return Buffer.from(this.#prefix + key);
  }

  /** Undefined where the key is the server's own. */
  decode(key: Uint8Array): string | undefined {
    // Messages carry Buffers; a view costs nothing where they do not.
    const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
    if (bytes.compare(this.#objects, 0, this.#objects.length, 0, this.#objects.length) !== 0) return undefined;
    return bytes.toString("utf8", this.#objects.length - 1);
  }

  /** The range under a prefix of keys, after `startAfter`. */
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
  // Only the empty string and the highest code point have nothing after them.
  return prefixEnd(prefix) ?? "\u{10ffff}";
}
