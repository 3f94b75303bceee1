// Events about Clusters whose agents come, leave or are refused.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ObjectEvent } from "@postern/apiserver/controllers/event-recorder";

const WARNINGS: readonly string[] = ["AgentRefused", "AgentLost"];

export const clusterEvent = (
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  cluster: { readonly name: string; readonly uid: string },
  reason: "AgentJoined" | "AgentConnected" | "AgentLost" | "AgentRefused",
  message: string,
): ObjectEvent => ({
  involvedObject: { apiVersion: `${managementGroup}/v1`, kind: "Cluster", ...cluster },
  type: WARNINGS.includes(reason) ? "Warning" : "Normal",
  reason,
  message,
});
