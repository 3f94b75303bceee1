// How much one API surface keeps of what it has made of its records for readers: their definitions and webhooks are the tenant's, and may make of a
// small record a large object, in every version.

export type ConversionMemory = {
  /** The result gives the bytes back, once; undefined where there is no room for them. */
  take(bytes: number): (() => void) | undefined;
};

/** As much as a cluster may have of the store where nobody says otherwise. */
const MAX_BYTES = 512 * 1024 * 1024;

export function fixedConversionMemory(max = MAX_BYTES): ConversionMemory {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > max) return undefined;
      used += bytes;
      return () => {
        used -= bytes;
      };
    },
  };
}

/** Objects that were kept go with their records, when memory is collected, which may be after their surface has gone. */
const collected = new FinalizationRegistry<() => void>((giveBack) => giveBack());

export class ConvertedObjectBudget {
  readonly #memory: ConversionMemory;

  constructor(memory = fixedConversionMemory()) {
    this.#memory = memory;
  }

  /** Whether there was room for `holder`, which is as large as it says. */
  keeps(holder: { readonly byteLength: number }): boolean {
    const giveBack = this.#memory.take(holder.byteLength);
    if (giveBack === undefined) return false;
    collected.register(holder, giveBack);
    return true;
  }
}
