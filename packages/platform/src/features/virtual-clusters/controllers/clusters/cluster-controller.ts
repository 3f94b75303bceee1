// Says in the status of every connected cluster whether it is reached, and cuts the connections to those that are gone.

import { type Cluster, isLocalCluster } from "@postern/api/cluster";
import { withCondition } from "@postern/api/conditions";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { followView } from "@postern/apiserver/cache/view-informer";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { faultOf } from "../../../../foundation/upstream/upstream-failure.ts";
import { type AgentStatus, agentStatus, withAgentConditions } from "../../../cluster-tunnels/tunnel-conditions.ts";
import type { TunnelRegistry } from "../../../cluster-tunnels/tunnel-registry.ts";
import type { KubernetesBackends } from "../../kubernetes-backend/kubernetes-backends.ts";
import type { VirtualClusterHealth } from "../../virtual-cluster-backend.ts";
import { readyCondition } from "../ready-condition.ts";

export type ClusterControllerDeps = {
  readonly clusters: ControlledResource;
  /** Version that the server itself answers with. */
  readonly localVersion: string;
  readonly reached: Pick<KubernetesBackends, "ofCluster" | "remove">;
  /** The tunnels of clusters whose agents connect. */
  readonly tunnels: Pick<TunnelRegistry, "of" | "refusedBy" | "onChange">;
  /** A cluster may fall silent, and one that was silent may come back: each is looked at again after this. */
  readonly recheckMs: number;
};

export function createClusterController(
  port: Omit<ControllerPort, "resources">,
  { clusters, localVersion, reached, tunnels, recheckMs }: ClusterControllerDeps,
): Controller {
  const { clock, scheduler } = port.runtime;
  const { view, keys } = clusters;
  const uids = new Map<string, string>();
  // Each waits for its cluster alone.
  const queue = new WorkQueue(port, { name: "cluster", process, laneOf: (key) => key });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have gone through the schema of their kind.
    const cluster = view.get(key)?.decode() as Cluster | undefined;
    forgetOthers(key, cluster?.metadata.uid);
    if (cluster === undefined) return;
    const isLocal = isLocalCluster(cluster);
    const health: VirtualClusterHealth = isLocal
      ? { ready: true, version: localVersion }
      : await healthOf(cluster, signal);
    const transform = (current: KubeObject) => {
      // The store holds what the schema of the kind has let through.
      const { metadata, status } = current as Cluster;
      const agent =
        cluster.spec?.networkPeer === true ? agentStatus(tunnels, metadata.uid ?? "", status?.agent) : undefined;
      return { ...current, status: clusterStatus(current, health, agent, clock.now()) };
    };
    await updateStatus(port, clusters, cluster, transform, signal);
    if (!isLocal) queue.addAfter(key, recheckMs);
  }

  function forgetOthers(key: string, uid: string | undefined): void {
    const before = uids.get(key);
    if (before !== undefined && before !== uid) reached.remove(before);
    if (uid === undefined) uids.delete(key);
    else uids.set(key, uid);
  }

  async function healthOf(cluster: Cluster, signal: AbortSignal): Promise<VirtualClusterHealth> {
    try {
      return await reached.ofCluster(cluster).health(signal);
    } catch (error) {
      if (!isApiError(error)) throw error;
      return { ready: false, ...faultOf(error) };
    }
  }

  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      const present = new Set(objects.map(({ key }) => key));
      for (const key of [...present, ...uids.keys()]) queue.add(key);
    },
    put: ({ key }) => queue.add(key),
    delete: ({ key }) => queue.add(key),
  });
  const connecting = tunnels.onChange((changed) => {
    for (const [key, uid] of uids) if (uid === changed) queue.add(key);
  });
  return createQueueController(queue, [following, connecting]);
}

/** `now` in milliseconds. A cluster that has never been reached is pending; one that no longer is has failed. */
function clusterStatus(
  current: KubeObject,
  health: VirtualClusterHealth,
  connection: AgentStatus | undefined,
  now: number,
): NonNullable<Cluster["status"]> {
  // The store holds what the schema of the kind has let through.
  const { status } = current as Cluster;
  const { reason: _reason, message: _message, agent: _agent, online: _online, ...others } = status ?? {};
  const kept = {
    ...others,
    ...(connection === undefined ? {} : { online: connection.online }),
    ...(connection?.agent === undefined ? {} : { agent: connection.agent }),
  };
  const ready = withCondition(kept.conditions ?? [], readyCondition(health), now);
  const conditions = withAgentConditions(ready, connection?.conditions ?? [], now);
  if (health.ready) return { ...kept, phase: "Initialized", version: health.version, conditions };
  const phase = kept.version === undefined ? "Pending" : "Failed";
  return { ...kept, phase, reason: health.reason, message: health.message, conditions };
}
