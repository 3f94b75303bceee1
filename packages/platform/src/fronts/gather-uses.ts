// The uses of keys that the other servers of this process have noted, before they are shown.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { GatherUses } from "../features/access-keys/last-use/periodic-writer.ts";
import type { Front } from "./front.ts";

/** Resolves once they are written and known here. An answer with what is known is better than none: it never rejects. */
export const gatherFrom =
  (front: Pick<Front, "gatherUses">, cache: Pick<WatchCache, "refresh">, signal: AbortSignal): GatherUses =>
  async (uids) => {
    if (uids?.length === 0) return;
    await front
      .gatherUses(uids)
      .then(() => cache.refresh({ signal }))
      .catch(() => undefined);
  };
