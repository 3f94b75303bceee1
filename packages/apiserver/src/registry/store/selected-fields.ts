// Values that field selectors compare, of recent objects: many watches ask for the same fields of the object of an event.

import type { CachedObject } from "../../cache/cached-object.ts";

/** As many as one commit has, and the objects before them. */
const MAX_OBJECTS = 64;
/** The values of the most recent object are kept in any case. */
const MAX_CHARACTERS = 1 << 20;

export class SelectedFields {
  /** By object, the oldest first. A converted object is another object than its record. */
  readonly #known = new Map<CachedObject, Map<string, string>>();
  #characters = 0;

  /** `read` gives the value of the field `id`. */
  of(object: CachedObject, id: string, read: () => string): string {
    const known = this.#known.get(object) ?? new Map<string, string>();
    const before = known.get(id);
    if (before !== undefined) return before;
    const value = read();
    known.set(id, value);
    this.#known.set(object, known);
    this.#characters += value.length;
    for (const [oldest, forgotten] of this.#known) {
      const fits = this.#known.size <= MAX_OBJECTS && this.#characters <= MAX_CHARACTERS;
      // An event is about two objects: what there is now, and what there was before.
      if (fits || this.#known.size <= 2) break;
      this.#known.delete(oldest);
      for (const text of forgotten.values()) this.#characters -= text.length;
    }
    return value;
  }
}
