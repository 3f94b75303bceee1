// A key that stays in the memory of this process: exchanged for a token of the agent's ServiceAccount, again before it ends.

import type { AgentKey } from "@postern/api/cluster-tunnel";
import type { AgentLog } from "./agent-log.ts";
import type { AgentState } from "./agent-state.ts";
import type { OwnIdentity } from "./own-cluster.ts";
import type { PlatformRequests } from "./platform-requests.ts";

export type KeyOptions = {
  /** The last key was refused: it is read or exchanged anew. Default: false. */
  readonly isRefused?: boolean;
};

export type HeldKey = {
  /** The key, exchanged anew where it is old. */
  current(place: Pick<AgentState, "cluster" | "namespace">, options: KeyOptions): Promise<string>;
  /** Holds the key of the join. */
  take(issued: AgentKey): void;
};

export type HeldKeyDeps = {
  readonly requests: Pick<PlatformRequests, "exchange">;
  readonly identity: () => Promise<OwnIdentity | undefined>;
  readonly log: AgentLog;
  readonly now: () => number;
  readonly signal: AbortSignal;
};

/** A share of the time that a key has left. */
const RENEWED_AFTER = 2 / 3;
/** Bounds for a clock that is wrong. */
const RENEWED_MS = { least: 10 * 60_000, most: 16 * 60 * 60_000 };
/** After an exchange that failed, while the key is still good. */
const RETRY_MS = 60_000;

export function createHeldKey({ requests, identity, log, now, signal }: HeldKeyDeps): HeldKey {
  let held: { readonly key: string; renewAt: number } | undefined;

  function take({ key, expirationTimestamp }: AgentKey): void {
    const left = (Date.parse(expirationTimestamp ?? "") - now()) * RENEWED_AFTER;
    const { least, most } = RENEWED_MS;
    held = { key, renewAt: performance.now() + Math.max(least, Math.min(most, Number.isNaN(left) ? most : left)) };
  }

  async function exchange({ cluster = "", namespace }: Pick<AgentState, "cluster" | "namespace">): Promise<string> {
    const own = await identity();
    if (own === undefined)
      throw new Error("there is no token for the platform: apply the manifests of the agent again");
    const issued = await requests.exchange({ cluster, ...(namespace === undefined ? {} : { namespace }) }, own, signal);
    take(issued);
    log.info("token exchanged for a key", { cluster: issued.cluster });
    return issued.key;
  }

  return {
    take,
    async current(place, { isRefused = false }) {
      const before = held;
      if (before === undefined || isRefused) return await exchange(place);
      if (performance.now() < before.renewAt) return before.key;
      try {
        return await exchange(place);
      } catch (error) {
        before.renewAt = performance.now() + RETRY_MS;
        log.warn("the key was not replaced", { reason: error instanceof Error ? error.message : String(error) });
        return before.key;
      }
    },
  };
}
