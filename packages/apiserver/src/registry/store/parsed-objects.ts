// Recently used objects, parsed: one request reads its object several times, and objects that were used are often used again soon.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";
import { SelectedFields } from "./selected-fields.ts";

export type ParsedLimits = {
  /** Bytes of their JSON: parsed they take some times as much. An object with more than a quarter of this is not remembered. */
  readonly bytes: number;
  readonly objects: number;
};

const DEFAULT_LIMITS: ParsedLimits = { bytes: 256 * 1024, objects: 64 };

type Parsed = { readonly cached: CachedObject; readonly object: KubeObject };

export class ParsedObjects {
  readonly fields = new SelectedFields();
  readonly #limits: ParsedLimits;
  /** By the key in the store, the oldest first. An object that was replaced is another CachedObject, and is parsed again. */
  readonly #known = new Map<string, Parsed>();
  #bytes = 0;

  constructor(limits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /** The result of `cached.decode()`, shared by all callers: it must not be changed. */
  of(cached: CachedObject): KubeObject {
    const known = this.#known.get(cached.key);
    return known?.cached === cached ? known.object : this.keep(cached, cached.decode());
  }

  /** `object` is what `cached.decode()` would give. */
  keep(cached: CachedObject, object: KubeObject): KubeObject {
    this.#drop(cached.key);
    const { bytes, objects } = this.#limits;
    if (cached.byteLength > bytes / 4) return object;
    this.#known.set(cached.key, { cached, object });
    this.#bytes += cached.byteLength;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= objects && this.#bytes <= bytes) break;
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
