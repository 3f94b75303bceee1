// How much one API surface keeps of what it has made of its records for readers: their definitions and webhooks are the tenant's, and may make of a
// small record a large object, in every version.

/** As much as a cluster may have of the store where nobody says otherwise. */
const MAX_BYTES = 512 * 1024 * 1024;

export class ShownMemory {
  readonly #max: number;
  #used = 0;
  /** What was kept is gone with its record, when memory is collected. */
  readonly #collected = new FinalizationRegistry<number>((bytes) => {
    this.#used -= bytes;
  });

  constructor(max = MAX_BYTES) {
    this.#max = max;
  }

  /** Whether there was room for `holder`, which is as large as it says. */
  keeps(holder: { readonly byteLength: number }): boolean {
    const { byteLength } = holder;
    if (this.#used + byteLength > this.#max) return false;
    this.#used += byteLength;
    this.#collected.register(holder, byteLength);
    return true;
  }
}
