// Counts the objects of clusters that run in threads, and notifies the front of changes.

import type { CountedViews } from "@postern/apiserver/cache/counted-views";
import { CLUSTERS_PREFIX } from "../messages/cluster-prefix.ts";

export type CountedClusters = CountedViews & {
  /** Calls back after each change under the prefix of a resource. */
  follow(viewPrefix: string, listener: () => void): Disposable;
};

export function createCountedClusters(): CountedClusters {
  const listeners = new Map<string, Set<() => void>>();
  return {
    isCounted: (viewPrefix) => viewPrefix.startsWith(CLUSTERS_PREFIX),
    changed(viewPrefix) {
      for (const listener of listeners.get(viewPrefix) ?? []) listener();
    },
    follow(viewPrefix, listener) {
      const known = listeners.get(viewPrefix) ?? new Set();
      listeners.set(viewPrefix, known.add(listener));
      return {
        [Symbol.dispose]() {
          known.delete(listener);
          if (known.size === 0) listeners.delete(viewPrefix);
        },
      };
    },
  };
}
