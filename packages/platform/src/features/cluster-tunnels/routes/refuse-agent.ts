// Agents that are turned away although they have a credential of a cluster: reported with the Cluster, so that its administrators see it.

import type { PlatformNames } from "@postern/api/platform-names";
import { type ApiError, forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { AgentRecord } from "../agent-records.ts";
import type { AgentTarget } from "../agent-targets.ts";
import type { ClusterTunnels } from "../feature.ts";
import { clusterEvent } from "./cluster-events.ts";

export type RefusalDeps = {
  readonly names: PlatformNames;
  readonly tunnels: Pick<ClusterTunnels, "registry" | "metrics">;
  readonly recordEvent: EventRecorder;
};

type Refused = {
  /** Label of the metric: one of few words. */
  readonly why: string;
  readonly message: string;
  /** For the agent, behind the message. */
  readonly advice: string;
};

/** In the condition Connected, an Event and a metric. Returns the ApiError 403 for the agent. */
export function refuseAgent(
  { remoteAddress }: Pick<ApiRequest, "remoteAddress">,
  target: AgentTarget,
  { why, message, advice }: Refused,
  { names, tunnels, recordEvent }: RefusalDeps,
): ApiError {
  tunnels.metrics.refused(why);
  tunnels.registry.refuse(target.uid, message);
  recordEvent(clusterEvent(names, target, "AgentRefused", `${message} and was refused, from ${remoteAddress}`));
  return forbiddenPathError(`${message}: ${advice}`);
}

/** A credential that was copied to another cluster would lead requests for this one there. Throws ApiError 403. `given`: the uid that the agent says. */
export function mustRunInItsCluster(
  request: Pick<ApiRequest, "remoteAddress">,
  { target, record }: { readonly target: AgentTarget; readonly record: AgentRecord },
  given: string,
  deps: RefusalDeps,
): void {
  if (given === record.peerUid) return;
  const copied = record.identity === undefined ? "key" : "credential";
  const message =
    given === ""
      ? "the agent does not say which cluster it runs in"
      : `an agent in another cluster has a copy of the ${copied}`;
  const advice = "join this cluster with a value of its own";
  throw refuseAgent(request, target, { why: "cluster", message, advice }, deps);
}
