// Controllers of tunnels.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createRecordReaper } from "../../../foundation/store/expiring-records.ts";
import type { ClusterTunnels } from "../feature.ts";
import { createAgentController } from "./agent-controller.ts";

export const clusterTunnelControllers = (
  port: ControllerPort,
  { names, objects, records }: Foundation,
  { tunnels }: { readonly tunnels: ClusterTunnels },
): readonly Controller[] => [
  createAgentController(port, {
    ...tunnels,
    names,
    targetViews: [objects("clusters"), objects("virtualclusterinstances")],
    agentView: records("cluster-agents"),
  }),
  createRecordReaper(port, tunnels.joinRecords),
];
