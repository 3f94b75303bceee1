// The keys of agents: issued for a join value, replaced by the agent itself, and revoked once a newer one has been used.

import type { AgentKey } from "@postern/api/cluster-tunnel";
import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Foundation } from "../../foundation/foundation.ts";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { RevokeAccessKey } from "../access-keys/mint-access-key.ts";
import type { AgentKeyRecord, AgentRecord, AgentRecords } from "./agent-records.ts";
import type { AgentPlace, AgentTarget, AgentTargets } from "./agent-targets.ts";
import type { JoinValues } from "./join-values.ts";

export const AGENT_KEY_TYPE = "NetworkPeer";
/** An agent replaces its key long before. One that was away for longer has to join again. */
const AGENT_KEY_TTL_SECONDS = 90 * 24 * 60 * 60;
/** Replicas of an agent read the new key from their Secret within this time. */
export const OLD_KEY_MS = 5 * 60_000;
/** A uid, and no more than an annotation would hold. */
const PEER_UID = /^[A-Za-z0-9-]{1,64}$/;

export type AgentKeys = {
  /** Exchanges a join value. Rejects with ApiError 403 for one that is not good any more. */
  join(value: string, peerUid: string, signal: AbortSignal): Promise<AgentKey>;
  /** Makes the next key for the holder of the newest. The one that it has stays good until the next one has been used. */
  rotate(agent: KnownAgent, signal: AbortSignal): Promise<AgentKey>;
  /** Notes that a key has opened a tunnel: those before it are revoked soon. */
  used(agent: KnownAgent): Promise<void>;
  /** The agent that a key belongs to. Throws ApiError 403 for any other key. */
  agentOf(key: AccessKeyState | undefined): KnownAgent;
  /** Revokes the keys whose time is over, or all of them. Resolves with the milliseconds until the next is; undefined for none. */
  revoke(clusterUid: string, all: boolean, signal: AbortSignal): Promise<number | undefined>;
};

/** A key of an agent, with what is known of it. */
export type KnownAgent = {
  readonly target: AgentTarget;
  readonly key: AccessKeyState;
  readonly record: AgentRecord;
};

export const JOIN_REFUSED = "the join value is unknown, was used, or has expired: create another one for the cluster";

export function createAgentKeys(
  { runtime: { clock } }: Pick<Foundation, "runtime">,
  {
    keys,
    targets,
    joins,
    agents,
    mint,
    revoke,
  }: {
    readonly keys: Pick<AccessKeyIndex, "find" | "whenFound">;
    readonly targets: AgentTargets;
    readonly joins: JoinValues;
    readonly agents: AgentRecords;
    readonly mint: (
      key: { readonly metadata: { readonly generateName: string }; readonly spec: AccessKeySpec },
      signal: AbortSignal,
    ) => Promise<string>;
    readonly revoke: RevokeAccessKey;
  },
): AgentKeys {
  async function issue(place: AgentPlace, signal: AbortSignal): Promise<{ issued: AgentKey; kept: AgentKeyRecord }> {
    const { cluster, namespace } = place;
    const key = await mint(
      {
        metadata: { generateName: "agent-" },
        spec: {
          displayName: `Agent of cluster ${namespace === undefined ? cluster : `${namespace}/${cluster}`}`,
          subject: targets.identityOf(place),
          type: AGENT_KEY_TYPE,
          ttl: AGENT_KEY_TTL_SECONDS,
          // The key alone has no permissions: the route of the tunnel checks the record.
          scope: { roles: [{ role: "network-peer" }] },
        },
      },
      signal,
    );
    await keys.whenFound(key);
    const state = keys.find(key);
    if (state === undefined) throw new Error("the key of the agent is not in the index");
    const { uid, name, expiresAt } = state;
    const expiry = expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(expiresAt) };
    return { issued: { ...placeOf(place), key, ...expiry }, kept: { uid, name, madeAt: clock.now() } };
  }

  async function revokeAll(records: readonly AgentKeyRecord[], signal: AbortSignal): Promise<void> {
    for (const { name } of records) await revoke(name, signal);
  }

  return {
    async join(value, peerUid, signal) {
      const found = joins.find(value);
      if (found === undefined || targets.find(found, found.clusterUid) === undefined) {
        throw forbiddenPathError(JOIN_REFUSED);
      }
      if (!PEER_UID.test(peerUid)) throw forbiddenPathError("the uid of the namespace kube-system is missing");
      if (!(await joins.take(value))) throw forbiddenPathError(JOIN_REFUSED);
      const { clusterUid } = found;
      const { issued, kept } = await issue(found, signal);
      let former: readonly AgentKeyRecord[] = [];
      await agents.change(clusterUid, (record) => {
        former = record?.keys ?? [];
        return { ...placeOf(found), peerUid, keys: [kept] };
      });
      await revokeAll(former, signal);
      return issued;
    },

    async rotate({ target, key, record }, signal) {
      if (record.keys.find(({ uid }) => uid === key.uid)?.until !== undefined) {
        throw forbiddenPathError("a newer key of the agent is in use");
      }
      const { issued, kept } = await issue(record, signal);
      let unused: readonly AgentKeyRecord[] = [];
      const after = await agents.change(target.uid, (now) => {
        const at = now?.keys.findIndex(({ uid }) => uid === key.uid) ?? -1;
        if (now === undefined || at < 0) return undefined;
        unused = now.keys.slice(at + 1);
        return { ...now, keys: [...now.keys.slice(0, at + 1), kept] };
      });
      const isKept = after?.keys.some(({ uid }) => uid === kept.uid) === true;
      await revokeAll(isKept ? unused : [kept], signal);
      if (!isKept) throw forbiddenPathError("the agent has left");
      return issued;
    },

    async used({ target, key }) {
      const until = clock.now() + OLD_KEY_MS;
      const isOld = (record: AgentRecord): boolean => {
        const at = record.keys.findIndex(({ uid }) => uid === key.uid);
        return record.keys.slice(0, Math.max(at, 0)).some((each) => each.until === undefined);
      };
      const known = agents.of(target.uid);
      if (known === undefined || !isOld(known)) return;
      await agents.change(target.uid, (record) => {
        if (record === undefined || !isOld(record)) return undefined;
        const at = record.keys.findIndex(({ uid }) => uid === key.uid);
        return { ...record, keys: record.keys.map((each, index) => (index < at ? { until, ...each } : each)) };
      });
    },

    agentOf(key) {
      if (key === undefined || key.type !== AGENT_KEY_TYPE || key.owner.kind !== "subject") throw notAnAgent();
      const target = targets.ofIdentity(key.owner.name);
      const record = target && agents.of(target.uid);
      if (target === undefined || record?.keys.some(({ uid }) => uid === key.uid) !== true) throw notAnAgent();
      return { target, key, record };
    },

    async revoke(clusterUid, all, signal) {
      const isOver = ({ until }: AgentKeyRecord): boolean => all || (until !== undefined && until <= clock.now());
      const record = agents.of(clusterUid);
      if (record === undefined) return undefined;
      const over = record.keys.filter(isOver);
      // The record goes last: after a fault the rest is found again.
      await revokeAll(over, signal);
      if (all) {
        await agents.remove(clusterUid);
        return undefined;
      }
      if (over.length > 0) {
        await agents.change(clusterUid, (now) =>
          now === undefined
            ? undefined
            : { ...now, keys: now.keys.filter(({ uid }) => over.every((each) => each.uid !== uid)) },
        );
      }
      const ends = record.keys.flatMap(({ until }) => (until === undefined || until <= clock.now() ? [] : [until]));
      return ends.length === 0 ? undefined : Math.min(...ends) - clock.now();
    },
  };
}

const placeOf = ({ cluster, namespace }: AgentPlace): AgentPlace => ({
  cluster,
  ...(namespace === undefined ? {} : { namespace }),
});

const notAnAgent = () =>
  forbiddenPathError("this endpoint is for the agents of clusters, with the key that they got when they joined");
