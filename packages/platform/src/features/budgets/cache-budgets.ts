// Figures that the watch cache of a server needs to count stored objects, and to keep its history within the memory limit.

import { MANAGEMENT } from "@postern/api/platform-names";
import { HistoryBudget } from "@postern/apiserver/cache/event-ring";
import { StoredUsage } from "@postern/apiserver/cache/stored-usage";
import { compositionPrefix, virtualClusterComposition } from "../../foundation/encryption/internal-records.ts";
import { keptMemoryOf } from "./kept-memory.ts";

const CLUSTERS = compositionPrefix(virtualClusterComposition("")).slice(0, -1);

/** For the options of the cache. Embedded clusters cannot use up the history of the platform. */
export function cacheBudgets(historyBytes: number) {
  const platform = new HistoryBudget(historyBytes);
  const clusters = new HistoryBudget(historyBytes);
  return {
    usage: new StoredUsage([MANAGEMENT], keptMemoryOf),
    history: (viewPrefix: string) => (viewPrefix.startsWith(CLUSTERS) ? clusters : platform),
  };
}
