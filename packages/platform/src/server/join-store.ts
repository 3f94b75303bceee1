// A server's place among those that share its store: whether what it knows is the newest there is, and how it hears what others have written.

import { hostname } from "node:os";
import {
  ALWAYS_FRESH,
  bothFresh,
  FRESHNESS_BOUND_MS,
  type Freshness,
  followFreshness,
} from "@postern/apiserver/cache/freshness";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Replicas } from "@postern/apiserver/storage/replicas";
import type { ServerStore } from "../foundation/store/open-server-store.ts";

export type StoreMembership = {
  /** For elections: the machine and the process, or the thread. */
  readonly identity: string;
  readonly freshness: Freshness;
  /** Undefined: no other server can be on this store. */
  readonly replicas: Replicas | undefined;
  /** Resolves once this server knows what is in the store, and the others know of it. Until then all requests are refused. */
  confirmed(): Promise<void>;
};

/** Called before the objects are loaded, so that these are known to be the newest as soon as they are there. */
export function joinStore(
  parts: {
    readonly store: Pick<ServerStore, "isShared" | "enter">;
    readonly cache: WatchCache;
    readonly runtime: Runtime;
    /** The id of a further thread of the process. Undefined: this is the first. */
    readonly threadId: string | undefined;
    readonly signal: AbortSignal;
  },
  teardown: Teardown,
): StoreMembership {
  const { store, cache, runtime, threadId, signal } = parts;
  const followed = store.isShared ? teardown.use(followFreshness({ cache, runtime })) : undefined;
  const identity = threadId ?? `${hostname()}-${process.pid}`;
  const replicas = store.enter?.({
    id: threadId ?? `${identity}-${Buffer.from(runtime.random.bytes(6)).toString("hex")}`,
    waitFor: async (revision) => await cache.waitFor(revision, { timeoutMs: FRESHNESS_BOUND_MS }),
    revision: () => cache.revision,
    refresh: () => cache.refresh({ signal, timeoutMs: FRESHNESS_BOUND_MS }),
    boundMs: FRESHNESS_BOUND_MS,
  });
  if (replicas !== undefined) teardown.use(replicas);
  const alone = followed ?? ALWAYS_FRESH;
  return {
    identity,
    freshness: replicas === undefined ? alone : bothFresh(alone, replicas),
    replicas,
    async confirmed() {
      await followed?.confirmed;
      await replicas?.entered;
    },
  };
}
