// Says once that a server of the platform is too far from the agent's own release: the server says the same in the condition AgentOutdated.

import { releaseGap } from "@postern/api/cluster-tunnel";
import type { AgentLog } from "./agent-log.ts";

/** The function takes the version that a server has answered with. */
export function createVersionCheck(own: string, log: Pick<AgentLog, "warn">): (server: string) => void {
  const known = new Set<string>();
  return (server) => {
    const gap = releaseGap(server, own);
    if (gap === undefined || known.has(server)) return;
    known.add(server);
    log.warn("agent and server are more than one minor release apart", {
      agent: own,
      server,
      advice:
        gap === "AgentTooOld"
          ? "apply the manifests of the agent again"
          : "upgrade the platform, or use an older agent",
    });
  };
}
