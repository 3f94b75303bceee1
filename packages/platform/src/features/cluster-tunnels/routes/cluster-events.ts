// Events about the objects whose agents come, leave or are refused.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ObjectEvent } from "@postern/apiserver/controllers/event-recorder";
import type { AgentTarget } from "../agent-targets.ts";

type ClusterEventReason = "AgentJoined" | "AgentConnected" | "AgentLost" | "AgentRefused" | "AgentKeysChanged";

const WARNINGS: readonly ClusterEventReason[] = ["AgentRefused", "AgentLost"];

export const clusterEvent = (
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  { kind, cluster, namespace, uid }: Omit<AgentTarget, "annotations">,
  reason: ClusterEventReason,
  message: string,
): ObjectEvent => ({
  involvedObject: {
    ...{ apiVersion: `${managementGroup}/v1`, kind, name: cluster, uid },
    ...(namespace === undefined ? {} : { namespace }),
  },
  type: WARNINGS.includes(reason) ? "Warning" : "Normal",
  reason,
  message,
});
