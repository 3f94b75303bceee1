// Controllers of clusters, virtual clusters and spaces.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import { SERVED_VERSION } from "../../../foundation/served-version.ts";
import type { ClusterTunnels } from "../../cluster-tunnels/feature.ts";
import type { VirtualClusters } from "../feature.ts";
import { createAuthorityReminders } from "./authority-reminders.ts";
import { createClusterController } from "./clusters/cluster-controller.ts";
import { createInsideBindingsController } from "./inside-bindings/inside-bindings-controller.ts";
import { createSpaceController } from "./space-instances/space-controller.ts";
import { createVirtualClusterController } from "./virtual-cluster-instances/virtual-cluster-controller.ts";

type Needs = { readonly clusters: VirtualClusters; readonly tunnels: ClusterTunnels };

const recheckMsOf = ({ configuration }: Foundation): number => configuration.proxy.healthCheckIntervalSeconds * 1000;

export function virtualClusterControllers(
  port: ControllerPort,
  base: Foundation,
  {
    clusters: { backends, embedded, reached, controlPlaneKeys, faults, authorityEnds: ends },
    tunnels: { registry: tunnels, agents },
  }: Needs,
): readonly Controller[] {
  const clusters = base.own("Cluster");
  const recheckMs = recheckMsOf(base);
  return [
    createClusterController(port, {
      clusters,
      localVersion: SERVED_VERSION.gitVersion,
      reached,
      tunnels,
      recheckMs,
    }),
    createVirtualClusterController(port, base, {
      backends,
      async remove(uid, signal) {
        await controlPlaneKeys.revokeVirtualCluster(uid, signal);
        await embedded.remove(uid, signal);
        reached.remove(uid);
      },
      stop: (uid) => embedded.stop(uid),
      recheckMs,
      faults,
      agents: {
        tunnels,
        connections: {
          onChange: (listener) =>
            tunnels.onChange((uid) => {
              const { namespace, cluster = "" } = agents.of(uid) ?? {};
              if (namespace !== undefined) listener(namespace, cluster);
            }),
        },
      },
    }),
    createInsideBindingsController(port, base, backends),
    createAuthorityReminders(port, base, { embedded, ends }),
  ];
}

export const spaceController = (
  port: ControllerPort,
  base: Foundation,
  { clusters: { spaces, embedded, faults } }: Pick<Needs, "clusters">,
): Controller =>
  createSpaceController(port, base, {
    spaces,
    stop: (uid) => embedded.stop(uid),
    recheckMs: recheckMsOf(base),
    faults,
  });
