// The keys of agents: issued for a join value or a token of the agent's ServiceAccount, replaced by the agent itself, and revoked once a newer one has
// been used.

import type { AgentKey, AgentProof } from "@postern/api/cluster-tunnel";
import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Foundation } from "../../foundation/foundation.ts";
import { TokenError } from "../../foundation/issuers/signed-token.ts";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { RevokeAccessKey } from "../access-keys/mint-access-key.ts";
import { checkIdentity, identityIn, keysFault, type ProvenIdentity } from "./agent-identity.ts";
import type { AgentKeyRecord, AgentRecord, AgentRecords } from "./agent-records.ts";
import { type AgentPlace, type AgentTarget, type AgentTargets, placeOf } from "./agent-targets.ts";
import type { JoinValues } from "./join-values.ts";
import { isRunning, keptBeside } from "./live-agent-keys.ts";

export const AGENT_KEY_TYPE = "NetworkPeer";
/** An agent replaces its key long before. One that was away for longer has to join again. */
const STORED_TTL_SECONDS = 90 * 24 * 60 * 60;
/** The TTL of a key that stays in the memory of one pod. Tunnels end with their key: logs that are followed break off this often at most. */
const IDENTITY_TTL_SECONDS = 24 * 60 * 60;
/** Replicas of an agent read the new key from their Secret within this time. */
export const OLD_KEY_MS = 5 * 60_000;
/** A uid, and no more than an annotation would hold. */
const PEER_UID = /^[A-Za-z0-9-]{1,64}$/;

export type AgentKeys = {
  /** Exchanges a join value. `proof`: the identity whose tokens are exchanged from then on. Rejects with ApiError 403 for a value that is not good any more. */
  join(value: string, peerUid: string, proof: AgentProof | undefined, signal: AbortSignal): Promise<AgentKey>;
  /** The agent that a token belongs to; undefined for a token of another one. */
  identify(place: AgentPlace, token: string): Promise<IdentifiedAgent | undefined>;
  /** Makes a key for one pod of the agent. `jwks`: keys of its cluster's issuer from now on. */
  exchange(agent: IdentifiedAgent, jwks: string | undefined, signal: AbortSignal): Promise<ExchangedToken>;
  /** Makes the next key for the holder of the newest. The one that it has stays good until the next one has been used. */
  rotate(agent: KnownAgent, signal: AbortSignal): Promise<AgentKey>;
  /** Notes that a key has opened a tunnel: those before it are revoked soon. */
  used(agent: KnownAgent): Promise<void>;
  /** The agent that a key belongs to. Throws ApiError 403 for any other key. */
  agentOf(key: AccessKeyState | undefined): KnownAgent;
  /** Revokes the keys whose time is over, or all of them. Resolves with the milliseconds until the next is; undefined for none. */
  revoke(clusterUid: string, which: "ended" | "all", signal: AbortSignal): Promise<number | undefined>;
};

/** A key of an agent, with what is known of it. */
export type KnownAgent = {
  readonly target: AgentTarget;
  readonly key: AccessKeyState;
  readonly record: AgentRecord;
};

/** An agent that its ServiceAccount's token belongs to. */
export type IdentifiedAgent = {
  readonly target: AgentTarget;
  readonly record: AgentRecord;
  readonly holder: string;
  /** Why it gets no key all the same. */
  readonly fault: string | undefined;
};

export type ExchangedToken = {
  readonly issued: AgentKey;
  /** Whether the keys of the cluster's issuer are others than before. */
  readonly hasOtherKeys: boolean;
};

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
    readonly keys: Pick<AccessKeyIndex, "find" | "whenFound" | "byUid" | "refusalOf">;
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
  /** `holder`: the pod that keeps the key in its memory; undefined for a key that the cluster stores. */
  async function issue(
    place: AgentPlace,
    holder: string | undefined,
    signal: AbortSignal,
  ): Promise<{ issued: AgentKey; kept: AgentKeyRecord }> {
    const { cluster, namespace } = place;
    const key = await mint(
      {
        metadata: { generateName: "agent-" },
        spec: {
          displayName: `Agent of cluster ${namespace === undefined ? cluster : `${namespace}/${cluster}`}`,
          subject: targets.identityOf(place),
          type: AGENT_KEY_TYPE,
          ttl: holder === undefined ? STORED_TTL_SECONDS : IDENTITY_TTL_SECONDS,
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
    const held = holder === undefined || expiresAt === undefined ? {} : { holder, expiresAt };
    return { issued: { ...placeOf(place), key, ...expiry }, kept: { uid, name, madeAt: clock.now(), ...held } };
  }

  async function revokeAll(records: readonly AgentKeyRecord[], signal: AbortSignal): Promise<void> {
    for (const { name } of records) await revoke(name, signal);
  }

  /** An agent whose token is not good keeps its key as others do. */
  async function identityOrFault(proof: AgentProof): Promise<ProvenIdentity | string> {
    try {
      return await identityIn(proof, clock.now());
    } catch (error) {
      if (error instanceof TokenError) return error.message;
      throw error;
    }
  }

  function whyRefused(value: string): string {
    const spent = joins.spent(value);
    const how =
      spent === undefined
        ? "is unknown, or a newer one has replaced it"
        : spent.used === undefined
          ? "has expired: it is valid for an hour"
          : `was used at ${formatTimestamp(spent.used.at)}, and is valid once`;
    return `the join value ${how}: join the cluster again`;
  }

  /** Disabling or deleting a key of the agent ends its identity as well, until the next join. */
  function isRevoked({ keys: records }: AgentRecord): boolean {
    return records.some((each) => {
      if (!isRunning(each, clock.now())) return false;
      const state = keys.byUid(each.uid);
      return state === undefined || keys.refusalOf(state) !== undefined;
    });
  }

  return {
    async join(value, peerUid, proof, signal) {
      const found = joins.find(value);
      if (found === undefined || targets.find(found, found.clusterUid) === undefined) {
        throw forbiddenPathError(whyRefused(value));
      }
      if (!PEER_UID.test(peerUid)) throw forbiddenPathError("the uid of the namespace kube-system is missing");
      const proven = proof && (await identityOrFault(proof));
      if (!(await joins.take(value, peerUid))) throw forbiddenPathError(whyRefused(value));
      const { clusterUid } = found;
      const { identity, holder } = typeof proven === "object" ? proven : {};
      const { issued, kept } = await issue(found, holder, signal);
      let former: readonly AgentKeyRecord[] = [];
      await agents.change(clusterUid, (record) => {
        former = record?.keys ?? [];
        return { ...placeOf(found), peerUid, ...(identity === undefined ? {} : { identity }), keys: [kept] };
      });
      await revokeAll(former, signal);
      if (identity !== undefined) return { ...issued, identity: "token" };
      return typeof proven === "string" ? { ...issued, identityFault: proven } : issued;
    },

    async identify(place, token) {
      const target = targets.ofIdentity(targets.identityOf(place));
      const record = target && agents.of(target.uid);
      if (target === undefined || record?.identity === undefined) return undefined;
      const checked = await checkIdentity(token, record.identity, clock.now());
      if (checked === undefined) return undefined;
      const { holder, fault } = checked;
      const revoked = "a key of the agent was disabled or deleted: join the cluster again";
      return { target, record, holder, fault: fault ?? (isRevoked(record) ? revoked : undefined) };
    },

    async exchange({ target, record, holder }, jwks, signal) {
      const { issued, kept } = await issue(record, holder, signal);
      const isGood = jwks !== undefined && keysFault(jwks) === undefined;
      let hasOtherKeys = false;
      let left: readonly AgentKeyRecord[] = [];
      const after = await agents.change(target.uid, (now) => {
        // Another join has come between.
        if (now?.identity === undefined || now.identity.accountUid !== record.identity?.accountUid) return undefined;
        const stay = keptBeside(now.keys, holder, clock.now());
        left = now.keys.filter((each) => !stay.includes(each));
        hasOtherKeys = isGood && jwks !== now.identity.jwks;
        return { ...now, identity: { ...now.identity, ...(isGood ? { jwks } : {}) }, keys: [...stay, kept] };
      });
      const isKept = after?.keys.some(({ uid }) => uid === kept.uid) === true;
      await revokeAll(isKept ? left : [kept], signal);
      if (!isKept) throw forbiddenPathError("the agent has left");
      return { issued: { ...issued, identity: "token" }, hasOtherKeys };
    },

    async rotate({ target, key, record }, signal) {
      const own = record.keys.find(({ uid }) => uid === key.uid);
      // A key of a day must not become one of months.
      if (own?.holder !== undefined)
        throw forbiddenPathError("the agent gets its keys for its ServiceAccount's tokens");
      if (own?.until !== undefined) throw forbiddenPathError("a newer key of the agent is in use");
      const { issued, kept } = await issue(record, undefined, signal);
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
      /** Keys before this one, of the same holder. */
      const older = ({ keys: records }: AgentRecord): readonly AgentKeyRecord[] => {
        const at = records.findIndex(({ uid }) => uid === key.uid);
        return records.slice(0, Math.max(at, 0)).filter(({ holder }) => holder === records[at]?.holder);
      };
      const isLeft = (record: AgentRecord): boolean => older(record).some((each) => each.until === undefined);
      const known = agents.of(target.uid);
      if (known === undefined || !isLeft(known)) return;
      await agents.change(target.uid, (record) => {
        if (record === undefined || !isLeft(record)) return undefined;
        const over = older(record);
        return { ...record, keys: record.keys.map((each) => (over.includes(each) ? { until, ...each } : each)) };
      });
    },

    agentOf(key) {
      if (key === undefined || key.type !== AGENT_KEY_TYPE || key.owner.kind !== "subject") throw notAnAgent();
      const target = targets.ofIdentity(key.owner.name);
      const record = target && agents.of(target.uid);
      if (target === undefined || record?.keys.some(({ uid }) => uid === key.uid) !== true) throw notAnAgent();
      return { target, key, record };
    },

    async revoke(clusterUid, which, signal) {
      const record = agents.of(clusterUid);
      if (record === undefined) return undefined;
      const endOf = ({ until, expiresAt }: AgentKeyRecord): number =>
        Math.min(until ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY);
      const over = record.keys.filter((each) => which === "all" || endOf(each) <= clock.now());
      // The record goes last: after a fault the rest is found again.
      await revokeAll(over, signal);
      if (which === "all") {
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
      const next = Math.min(...record.keys.filter((each) => !over.includes(each)).map(endOf));
      return Number.isFinite(next) ? next - clock.now() : undefined;
    },
  };
}

const notAnAgent = () =>
  forbiddenPathError("this endpoint is for the agents of clusters, with the key that they got when they joined");
