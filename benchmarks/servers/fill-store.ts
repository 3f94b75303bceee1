// Fills the database of a stopped server, far faster than requests could.

import type { Storage } from "@postern/apiserver/storage/storage";

/** Concurrent writes: the store commits many together. */
const IN_FLIGHT = 4_000;

/** Creates the entries with the numbers from 0 on. */
export async function fillStore(
  storage: Storage,
  count: number,
  entryOf: (number: number) => { readonly key: string; readonly value: Uint8Array },
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const { key, value } = entryOf(next++);
      await storage.create(key, value);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}
