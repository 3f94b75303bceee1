// Revokes the keys of agents: old ones after their replacement, all of them once no agent may connect for the Cluster any more. Has an agent
// replace its key when the Cluster asks for it.

import { AGENT_ROTATE_PATH } from "@postern/api/cluster-tunnel";
import type { PlatformNames } from "@postern/api/platform-names";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { AgentRecord } from "../agent-records.ts";
import type { ClusterTunnels } from "../feature.ts";

export type AgentControllerDeps = Pick<ClusterTunnels, "registry" | "targets" | "joins" | "agents" | "keys"> & {
  readonly names: Pick<PlatformNames, "key">;
  /** The views of Clusters and of VirtualClusterInstances. */
  readonly targetViews: readonly ViewPrefix[];
  readonly agentView: ViewPrefix;
};

/** Annotation of a Cluster: keys made before this time are to be replaced. RFC 3339. */
export const ROTATE_ANNOTATION = "rotate-agent-key";

export function createAgentController(
  port: Omit<ControllerPort, "resources">,
  { names, registry, targets, joins, agents, keys, targetViews, agentView }: AgentControllerDeps,
): Controller {
  const { scheduler } = port.runtime;
  // By the uid of the Cluster. An agent that does not answer holds up no other.
  const queue = new WorkQueue(port, { name: "cluster_agent", process, laneOf: (uid) => uid });

  async function process(uid: string, signal: AbortSignal): Promise<void> {
    const record = agents.of(uid);
    if (record === undefined) return;
    const found = targets.find(record, uid);
    if (found === undefined) {
      await keys.revoke(uid, "all", signal);
      await joins.remove(uid);
      registry.close(uid);
      return;
    }
    const next = await keys.revoke(uid, "ended", signal);
    if (next !== undefined) queue.addAfter(uid, next);
    const wanted = parseTimestamp(found.annotations[names.key(ROTATE_ANNOTATION)] ?? "") ?? 0;
    if ((record.keys.at(-1)?.madeAt ?? 0) < wanted) await rotate(uid, record, signal);
  }

  /** Where no agent is connected, the next one that is brings the key back here. */
  async function rotate(uid: string, { identity }: AgentRecord, signal: AbortSignal): Promise<void> {
    const open = registry.of(uid);
    // Replicas share a key that the cluster stores. Keys of tokens are each pod's own.
    const asked =
      identity === undefined ? open.slice(0, 1) : new Map(open.map((each) => [each.agent.id, each])).values();
    for (const tunnel of asked) {
      const status = await tunnel.ask("POST", AGENT_ROTATE_PATH, signal);
      if (status >= 300) throw new Error(`the agent did not replace its key: ${status}`);
    }
  }

  const uidOf = (object: { decode(): { metadata: { uid?: string } } }): string => object.decode().metadata.uid ?? "";
  const feeds = [
    ...targetViews.map((view) =>
      followView(view, scheduler, {
        replace(objects) {
          for (const object of objects) queue.add(uidOf(object));
        },
        put: (object) => queue.add(uidOf(object)),
        delete: (object) => queue.add(uidOf(object)),
      }),
    ),
    followView(agentView, scheduler, {
      replace() {
        for (const uid of agents.uids()) queue.add(uid);
      },
      put: ({ key }) => queue.add(key.slice(agentView.prefix.length)),
    }),
    registry.onChange((uid) => queue.add(uid)),
  ];
  return createQueueController(queue, feeds);
}
