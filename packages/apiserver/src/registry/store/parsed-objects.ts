// Recently written objects, parsed: one request reads its object several times, and clients often change an object again soon.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";

/** Of their JSON: parsed they take some times as much. */
const MAX_BYTES = 256 * 1024;
const MAX_OBJECTS = 64;

type Parsed = { readonly cached: CachedObject; readonly object: KubeObject };

/** Of all resources of one API surface. */
export class ParsedObjects {
  /** By the key in the store, the oldest first. An object that was replaced is another CachedObject, and is parsed again. */
  readonly #known = new Map<string, Parsed>();
  #bytes = 0;

  /** The result of `cached.decode()`, shared by all callers: it must not be changed. */
  of(cached: CachedObject): KubeObject {
    const known = this.#known.get(cached.key);
    return known?.cached === cached ? known.object : this.keep(cached, cached.decode());
  }

  /** `object` is what `cached.decode()` would give. */
  keep(cached: CachedObject, object: KubeObject): KubeObject {
    this.#drop(cached.key);
    if (cached.byteLength > MAX_BYTES / 4) return object;
    this.#known.set(cached.key, { cached, object });
    this.#bytes += cached.byteLength;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_OBJECTS && this.#bytes <= MAX_BYTES) break;
      this.#drop(oldest);
    }
    return object;
  }

  #drop(key: string): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#bytes -= known.cached.byteLength;
  }
}
