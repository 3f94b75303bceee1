// Tunnels that the agents of clusters open: their join values, keys and connections.

import type { Foundation } from "../../foundation/foundation.ts";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import type { KeyMint } from "../access-keys/kinds/mint-keys.ts";
import { type AgentKeys, createAgentKeys } from "./agent-keys.ts";
import { type AgentRecords, createAgentRecords } from "./agent-records.ts";
import { type AgentTargets, createAgentTargets } from "./agent-targets.ts";
import { createJoinValues, type JoinValues } from "./join-values.ts";
import { gaugeTunnels, type TunnelMetrics } from "./tunnel-metrics.ts";
import { createTunnelRegistry, type TunnelRegistry } from "./tunnel-registry.ts";

export type ClusterTunnels = Disposable & {
  /** The id of this server process, by which an agent distinguishes servers. */
  readonly serverId: string;
  readonly registry: TunnelRegistry;
  readonly joins: JoinValues;
  readonly joinRecords: ExpiringRecords;
  readonly agents: AgentRecords;
  readonly keys: AgentKeys;
  readonly targets: AgentTargets;
  readonly metrics: TunnelMetrics;
};

export function openClusterTunnels(
  base: Foundation,
  { keys, mint }: { readonly keys: AccessKeys; readonly mint: KeyMint },
): ClusterTunnels {
  const { storage, runtime, names, lookup, metrics, records } = base;
  const { random, scheduler } = runtime;
  const joinRecords = { ...records("cluster-joins"), storage };
  const joins = createJoinValues(joinRecords, runtime, keys.secrets.format);
  const agents = createAgentRecords(records("cluster-agents"), storage);
  const targets = createAgentTargets(names, lookup);
  const registry = createTunnelRegistry(scheduler, () =>
    lookup.clusters().flatMap(({ metadata: { uid = "" }, spec }) => (spec?.networkPeer === true ? [uid] : [])),
  );
  return {
    serverId: Buffer.from(random.bytes(8)).toString("hex"),
    registry,
    joins,
    joinRecords,
    agents,
    targets,
    keys: createAgentKeys(base, { keys: keys.index, targets, joins, agents, mint: mint.mint, revoke: mint.revoke }),
    metrics: gaugeTunnels(metrics, registry),
    [Symbol.dispose]() {
      registry[Symbol.dispose]();
      joins[Symbol.dispose]();
    },
  };
}
