// The objects and bytes of the clusters that run in a thread, each counted by its own watch cache.

import { NOTHING_STORED, StoredUsage, type UsageListener } from "@postern/apiserver/cache/stored-usage";
import { keptMemoryOf } from "../../../../budgets/kept-memory.ts";

export type ThreadUsage = Pick<StoredUsage, "of" | "compositions" | "onChange" | "onObject"> & {
  /** For the cache of a cluster that starts. */
  add(composition: string): StoredUsage;
  /** The cluster has stopped, and holds nothing. One that has started again meanwhile counts by itself. */
  remove(composition: string, usage: StoredUsage): void;
};

export function createThreadUsage(): ThreadUsage {
  const usages = new Map<string, StoredUsage>();
  const listeners = new Set<UsageListener>();
  const objectListeners = new Set<(key: string) => void>();
  return {
    add(composition) {
      const usage = new StoredUsage([], keptMemoryOf);
      usages.set(composition, usage);
      usage.onChange((changed, amount) => {
        if (usages.get(composition) !== usage) return;
        for (const listener of listeners) listener(changed, amount);
      });
      usage.onObject((key) => {
        for (const listener of objectListeners) listener(key);
      });
      return usage;
    },
    remove(composition, usage) {
      if (usages.get(composition) !== usage) return;
      usages.delete(composition);
      for (const listener of listeners) listener(composition, NOTHING_STORED);
    },
    of: (composition) => usages.get(composition)?.of(composition) ?? NOTHING_STORED,
    *compositions() {
      for (const usage of usages.values()) yield* usage.compositions();
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    onObject(listener) {
      objectListeners.add(listener);
      return { [Symbol.dispose]: () => void objectListeners.delete(listener) };
    },
  };
}
