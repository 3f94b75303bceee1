// Access keys that have been loaded and not been read yet. Reading one takes many times as long as putting it here, so that a server with
// very many of them answers long before it has read them all.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";

/** What is sealed of a key begins with this, and then its id. */
const BEFORE_ID = Buffer.from('{"key":{"id":"');

export class UnreadAccessKeys {
  readonly #prefix: string;
  readonly #byName = new Map<string, CachedObject>();
  /** The names of those that have ids. */
  readonly #byId = new Map<string, string>();

  /** `prefix` is what the keys in the store have before the names. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** False for one that has to be read at once, since it could not be found here: it is not taken. */
  add(object: CachedObject): boolean {
    const id = object.peekSealed(BEFORE_ID);
    if (id === undefined || this.#byId.has(id)) return false;
    const name = object.key.slice(this.#prefix.length);
    this.#byId.set(id, name);
    this.#byName.set(name, object);
    return true;
  }

  takeByName(name: string): CachedObject | undefined {
    const object = this.#byName.get(name);
    if (object === undefined) return undefined;
    this.#byName.delete(name);
    const id = object.peekSealed(BEFORE_ID);
    if (id !== undefined) this.#byId.delete(id);
    return object;
  }

  /** The one with the same id. */
  takeLike(object: CachedObject): CachedObject | undefined {
    return this.takeById(object.peekSealed(BEFORE_ID) ?? "");
  }

  takeById(id: string): CachedObject | undefined {
    const name = this.#byId.get(id);
    return name === undefined ? undefined : this.takeByName(name);
  }

  /** At most so many, in the order in which they came. */
  take(count: number): readonly CachedObject[] {
    const taken: CachedObject[] = [];
    for (const name of this.#byName.keys()) {
      if (taken.length === count) break;
      const object = this.takeByName(name);
      if (object !== undefined) taken.push(object);
    }
    return taken;
  }
}
