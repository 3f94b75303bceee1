// The key of an agent. Exchanged for the join value, kept, and replaced from time to time by one of the replicas; or exchanged by each of them for a token
// of its ServiceAccount, and kept nowhere.

import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKey } from "@postern/api/cluster-tunnel";
import type { AgentLog } from "./agent-log.ts";
import type { AgentState, AgentStore } from "./agent-state.ts";
import { createHeldKey, type KeyOptions } from "./held-key.ts";
import type { OwnIdentity } from "./own-cluster.ts";
import { PlatformRefusal, type PlatformRequests } from "./platform-requests.ts";

export type AgentKeys = {
  /** The key, after the join where there is none yet. */
  current(options?: KeyOptions): Promise<string>;
  /** Replaces the key where it is old. `isWanted`: in any case. Resolves with whether it is another one now. */
  rotate(options: { readonly isWanted: boolean }, signal: AbortSignal): Promise<boolean>;
};

export type AgentKeysDeps = {
  readonly store: AgentStore;
  readonly requests: Pick<PlatformRequests, "join" | "nextKey" | "exchange">;
  /** The identity of the agent in its own cluster; undefined where there is none. */
  readonly identity: () => Promise<OwnIdentity | undefined>;
  readonly log: AgentLog;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Called with the CA certificates of the platform in PEM, as the state has them now. */
  readonly onAuthority: (pem: string) => void;
};

const ROTATE_AFTER_MS = 7 * 24 * 60 * 60_000;
const CLAIM_MS = 60_000;
const READ_AGAIN_MS = 30_000;
/** Another replica may have used the value, and is about to write the key. */
const OTHER_REPLICA_MS = 2_000;
const WRITE_ATTEMPTS = 20;

export function createAgentKeys(deps: AgentKeysDeps): AgentKeys {
  const { store, requests, identity, log, now, signal, onAuthority } = deps;
  const held = createHeldKey(deps);
  let state: AgentState | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  async function read(): Promise<AgentState> {
    state = await store.read();
    readAt = performance.now();
    // Another replica may have learned of a rotation of the CA.
    const { "ca.crt": authority } = state;
    if (authority !== undefined) onAuthority(authority);
    return state;
  }

  const stateWith = ({ key, expirationTimestamp, certificateAuthority, ...issued }: AgentKey) => {
    const isHeld = issued.identity !== undefined;
    return {
      key: isHeld ? undefined : key,
      // One that trusts public CAs keeps doing so.
      ...(certificateAuthority === undefined || state?.["ca.crt"] === undefined
        ? {}
        : { "ca.crt": certificateAuthority }),
      "key-made": isHeld ? undefined : new Date(now()).toISOString(),
      "key-expires": isHeld ? undefined : expirationTimestamp,
      "key-claimed": undefined,
      identity: issued.identity,
      cluster: isHeld ? issued.cluster : undefined,
      namespace: isHeld ? issued.namespace : undefined,
      join: undefined,
    };
  };

  /** The key, or how to get one, is in no other place: it has to be written. */
  async function keep(issued: AgentKey): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await store.write(stateWith(issued))) return void (await read());
        await read();
      } catch (error) {
        log.warn("the key is not kept yet", { reason: error instanceof Error ? error.message : String(error) });
      }
      if (attempt === WRITE_ATTEMPTS) throw new Error("the new key of the agent could not be kept: join again");
      await sleep(500, undefined, { signal });
    }
  }

  async function join(value: string): Promise<string> {
    try {
      const issued = await requests.join(value, await identity(), signal);
      await keep(issued);
      const isHeld = issued.identity !== undefined;
      log.info("joined", { cluster: issued.cluster, credential: isHeld ? "ServiceAccount token" : "stored key" });
      const { identityFault: reason } = issued;
      if (reason !== undefined) log.warn("the token is not accepted: the key is stored", { reason });
      if (isHeld) held.take(issued);
      return issued.key;
    } catch (error) {
      if (!(error instanceof PlatformRefusal)) throw error;
      await sleep(OTHER_REPLICA_MS, undefined, { signal });
      const found = await read();
      if (found.key === undefined && found.identity === undefined) throw error;
      return await keyOf(found, { isRefused: true });
    }
  }

  async function keyOf(found: AgentState, options: KeyOptions): Promise<string> {
    if (found.identity !== undefined) return await held.current(found, options);
    if (found.key === undefined) throw new Error("there is neither a key nor a join value: join the cluster again");
    return found.key;
  }

  return {
    async current(options = {}) {
      const { isRefused = false } = options;
      const isOld = state === undefined || isRefused || performance.now() - readAt > READ_AGAIN_MS;
      const found = isOld ? await read() : (state ?? {});
      const isJoined = found.key !== undefined || found.identity !== undefined;
      // A new value in the Secret means that an administrator joins the cluster again.
      if (found.join !== undefined && (!isJoined || isRefused)) return await join(found.join);
      return await keyOf(found, options);
    },
    async rotate({ isWanted }, stop) {
      const found = await read();
      if (found.identity !== undefined) {
        if (isWanted) await held.current(found, { isRefused: true });
        return isWanted;
      }
      const { key } = found;
      if (key === undefined) return false;
      const ageMs = now() - Date.parse(found["key-made"] ?? "");
      const leftMs = Date.parse(found["key-expires"] ?? "") - now();
      const isDue = isWanted || ageMs > ROTATE_AFTER_MS || leftMs < ROTATE_AFTER_MS;
      if (!isDue || Date.parse(found["key-claimed"] ?? "") > now()) return false;
      if (!(await store.write({ "key-claimed": new Date(now() + CLAIM_MS).toISOString() }))) return false;
      const issued = await requests.nextKey(key, stop);
      await keep(issued);
      log.info("key replaced");
      return true;
    },
  };
}
