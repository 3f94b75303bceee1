// The conditions of a Cluster, or of a virtual cluster that others run, that are about its agent.

import type { Cluster } from "@postern/api/cluster";
import { releaseGap } from "@postern/api/cluster-tunnel";
import { type Condition, type ConditionState, withCondition } from "@postern/api/conditions";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { steadyRoundTrip } from "./tunnel.ts";
import { AGENT_NOT_CONNECTED, type TunnelRegistry } from "./tunnel-registry.ts";

export type AgentStatus = {
  readonly online: boolean;
  readonly agent: NonNullable<Cluster["status"]>["agent"];
  readonly conditions: readonly ConditionState[];
};

/** `before`: as the status shows it now. */
export function agentStatus(
  tunnels: Pick<TunnelRegistry, "of" | "refusedBy">,
  uid: string,
  before: NonNullable<Cluster["status"]>["agent"],
): AgentStatus {
  const open = tunnels.of(uid);
  const refused = tunnels.refusedBy(uid);
  const [first] = open;
  if (first === undefined) {
    const fault = refused === undefined ? AGENT_NOT_CONNECTED : { reason: "AgentRefused", message: refused };
    return { online: false, agent: undefined, conditions: [{ type: "Connected", holds: false, ...fault }] };
  }
  const { version } = first.agent;
  const times = open.flatMap(({ roundTripMs }) => (roundTripMs === undefined ? [] : [roundTripMs]));
  const roundTrip = times.length === 0 ? undefined : Math.round(Math.min(...times));
  const also = refused === undefined ? "" : `; ${refused} and was refused`;
  return {
    online: true,
    agent: {
      version,
      connections: open.length,
      ...(roundTrip === undefined
        ? {}
        : { roundTripMilliseconds: steadyRoundTrip(roundTrip, before?.roundTripMilliseconds) }),
    },
    conditions: [
      { type: "Connected", holds: true, reason: "AgentConnected", message: `Agent ${version} is connected${also}` },
      outdated(version),
    ],
  };
}

const AGENT_CONDITIONS: readonly string[] = ["Connected", "AgentOutdated"];

/** `agent`: empty where no agent is to connect. They end with spec.networkPeer, and AgentOutdated with the connection. `now` in milliseconds. */
export function withAgentConditions(
  conditions: readonly Condition[],
  agent: readonly ConditionState[],
  now: number,
): readonly Condition[] {
  const types = agent.map(({ type }) => type);
  const left = conditions.filter(({ type }) => types.includes(type) || !AGENT_CONDITIONS.includes(type));
  return agent.reduce<readonly Condition[]>((list, state) => withCondition(list, state, now), left);
}

function outdated(version: string): ConditionState {
  const reason = releaseGap(BUILD_INFO.version, version);
  const words = `agent ${version}, server ${BUILD_INFO.version}`;
  return reason === undefined
    ? { type: "AgentOutdated", holds: false, reason: "VersionsMatch", message: `They work together: ${words}` }
    : {
        type: "AgentOutdated",
        holds: true,
        reason,
        message: `They are more than one minor release apart: ${words}`,
      };
}
