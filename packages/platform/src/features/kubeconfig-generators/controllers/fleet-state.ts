// The status of a generator after one look at it.

import { type ConditionState, withCondition } from "@postern/api/conditions";
import type { GeneratedCluster, KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { MAX_CLUSTERS } from "../generator-limits.ts";
import { secretOfCluster } from "../secret-formats.ts";
import type { IssuedTokens } from "./fleet-tokens.ts";
import type { GeneratorFault } from "./generator-actor.ts";

export type FleetState = {
  readonly clusters: readonly GeneratedCluster[];
  readonly selected: number;
  readonly ready: ConditionState;
  /** The key before the present one has no credential in use any more. */
  readonly isPreviousOver: boolean;
  /** Milliseconds until something is due; 0: there is more to do now. */
  readonly nextMs: number;
};

/** The outcome of a look, in milliseconds of `now`. */
export type FleetOutcome = Pick<FleetState, "isPreviousOver" | "nextMs"> & {
  readonly selected: readonly VirtualClusterInstance[];
  readonly tokens: IssuedTokens;
  /** The faults of virtual clusters, by name. Without one, a virtual cluster without a token waits for its turn. */
  readonly faults: ReadonlyMap<string, GeneratorFault>;
  /** The fault of the generator itself. */
  readonly fault: GeneratorFault | undefined;
  readonly now: number;
};

const PENDING: GeneratorFault = { reason: "Pending", message: "its credential is not made yet" };

export function fleetStateOf(generator: KubeconfigGenerator, outcome: FleetOutcome): FleetState {
  const { selected, tokens, faults, now, nextMs, isPreviousOver } = outcome;
  const before = new Map((generator.status?.clusters ?? []).map((cluster) => [cluster.name, cluster]));
  const clusters = selected.slice(0, MAX_CLUSTERS).map(({ metadata: { name = "" } }): GeneratedCluster => {
    const token = tokens.get(name);
    const condition: ConditionState =
      token === undefined
        ? { type: "Ready", holds: false, ...(faults.get(name) ?? PENDING) }
        : { type: "Ready", holds: true, reason: "Current", message: "" };
    return {
      name,
      secret: secretOfCluster(generator, name),
      ...(token === undefined
        ? {}
        : {
            accessKey: token.keyName,
            issuedTimestamp: formatTimestamp(token.issuedAt),
            ...(token.expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(token.expiresAt) }),
          }),
      conditions: withCondition(before.get(name)?.conditions ?? [], condition, now),
    };
  });
  return { clusters, selected: selected.length, ready: readyOf(outcome), nextMs, isPreviousOver };
}

function readyOf({ selected, tokens, faults, fault }: FleetOutcome): ConditionState {
  const message = `${tokens.size} of ${selected.length} virtual clusters`;
  const isComplete = tokens.size === selected.length;
  if (isComplete && fault === undefined) return { type: "Ready", holds: true, reason: "Current", message };
  const first = fault ?? (isComplete ? undefined : faults.values().next().value);
  if (first === undefined) return { type: "Ready", holds: false, reason: PENDING.reason, message };
  return { type: "Ready", holds: false, reason: first.reason, message: `${message}: ${first.message}` };
}
