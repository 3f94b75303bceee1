// The objects and bytes of the clusters that run in a thread, each counted by its own watch cache.

import { NOTHING_STORED, StoredUsage, type UsageListener } from "@postern/apiserver/cache/stored-usage";
import { keptMemoryOf } from "../../../budgets/kept-memory.ts";

export type ThreadUsage = Pick<StoredUsage, "of" | "compositions" | "onChange" | "changes"> & {
  /** For the cache of a cluster that starts. */
  add(composition: string): StoredUsage;
  /** The cluster has stopped, and holds nothing. One that has started again meanwhile counts by itself. */
  remove(composition: string, usage: StoredUsage): void;
};

export function createThreadUsage(): ThreadUsage {
  const usages = new Map<string, StoredUsage>();
  const listeners = new Set<UsageListener>();
  let changes = 0;
  return {
    add(composition) {
      const usage = new StoredUsage([], keptMemoryOf);
      usages.set(composition, usage);
      usage.onChange((changed, amount) => {
        if (usages.get(composition) !== usage) return;
        changes += 1;
        for (const listener of listeners) listener(changed, amount);
      });
      return usage;
    },
    remove(composition, usage) {
      if (usages.get(composition) !== usage) return;
      usages.delete(composition);
      changes += 1;
      for (const listener of listeners) listener(composition, NOTHING_STORED);
    },
    get changes() {
      return changes;
    },
    of: (composition) => usages.get(composition)?.of(composition) ?? NOTHING_STORED,
    *compositions() {
      for (const usage of usages.values()) yield* usage.compositions();
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
