// Brings every virtual cluster instance into its desired state, and deletes its content with it.

import { isTunnelled, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { faultOf } from "../../../../foundation/upstream/upstream-failure.ts";
import { agentStatus } from "../../../cluster-tunnels/tunnel-conditions.ts";
import type { TunnelRegistry } from "../../../cluster-tunnels/tunnel-registry.ts";
import type { BackendRegistry } from "../../backend-registry.ts";
import { hashOfObjects, ObjectsError } from "../../embedded/apply-objects.ts";
import { insideRoles } from "../../inside-roles.ts";
import { virtualClusterFinalizer } from "../../kinds/virtual-cluster-instances/strategy.ts";
import { renderTemplate } from "../../render-template.ts";
import { isAsleep, SLEEPING_HEALTH } from "../../sleep.ts";
import type { VirtualClusterBackend } from "../../virtual-cluster-backend.ts";
import {
  type AppliedObjects,
  createInstanceController,
  type InstanceConnections,
  type InstanceFaults,
} from "../instance-controller.ts";
import { instanceStatus, type MadeFrom, OBJECTS_APPLIED } from "./instance-status.ts";

type VirtualClusterNeeds = {
  readonly backends: BackendRegistry;
  /** Removes everything that an instance has beside its object. By uid; may be called again. */
  readonly remove: (uid: string, signal: AbortSignal) => Promise<void>;
  /** Stops an embedded virtual cluster, which is started again when it is next opened. By uid. */
  readonly stop: (uid: string) => Promise<void>;
  /** Virtual clusters that could not be reached, and those that others run, are looked at again after this. */
  readonly recheckMs: number;
  /** The faults of embedded clusters. */
  readonly faults?: InstanceFaults | undefined;
  /** The agents of virtual clusters that connect. Absent: none does. */
  readonly agents?: {
    readonly tunnels: Pick<TunnelRegistry, "of" | "refusedBy">;
    readonly connections: InstanceConnections;
  };
};

export const createVirtualClusterController = (
  port: Omit<ControllerPort, "resources">,
  { names, own, lookup }: Pick<Foundation, "names" | "own" | "lookup">,
  { backends, remove, stop, recheckMs, faults, agents }: VirtualClusterNeeds,
): Controller =>
  createInstanceController<VirtualClusterInstance>(
    port,
    { instances: own("VirtualClusterInstance"), clusters: own("Cluster"), templates: own("VirtualClusterTemplate") },
    {
      queueName: "virtual_cluster_instance",
      finalizer: virtualClusterFinalizer(names),
      // Its deletion asks nothing of others.
      isRemote: (instance) => !isBeingDeleted(instance) && backends.backendOf(instance).isRemote,
      faults,
      connections: agents?.connections,
      recheckMs: { unready: recheckMs, remote: recheckMs },
      statusOf: (instance, health, now, objects) =>
        instanceStatus(instance, madeFrom(instance, { names, lookup }), {
          health,
          now,
          objects,
          agent:
            agents !== undefined && isTunnelled(instance)
              ? agentStatus(agents.tunnels, instance.metadata.uid ?? "", undefined).conditions
              : [],
        }),

      async bringUp(instance, signal) {
        try {
          const backend = backends.backendOf(instance);
          const { isRemote } = backend;
          const { template, fault } = madeFrom(instance, { names, lookup });
          if (template === undefined && fault !== undefined) {
            return { isRemote, health: { ready: false, reason: "TemplateNotApplied", message: fault } };
          }
          if (!isRemote && isAsleep(instance, names)) {
            await stop(instance.metadata.uid ?? "");
            return { isRemote, health: SLEEPING_HEALTH };
          }
          const before = await backend.health(signal);
          if (!before.ready) await backend.provision(signal);
          // A user who finds it ready gets in. Other clusters may refuse bindings, and are ready all the same.
          if (!isRemote && instance.status?.phase !== "Ready")
            await backend.bindRoles(insideRoles(instance, names), signal);
          const health = before.ready ? before : await backend.health(signal);
          return { isRemote, health, objects: await objectsIn(instance, template?.objects ?? "", backend, signal) };
        } catch (error) {
          if (!isRefusal(error)) throw error;
          return { isRemote: true, health: { ready: false, ...faultOf(error) } };
        }
      },

      async remove({ metadata: { uid = "" } }, signal) {
        await remove(uid, signal);
        return undefined;
      },
    },
  );

/** Applies the objects of the template where they are not yet, or no longer, those that were applied. */
async function objectsIn(
  { status }: VirtualClusterInstance,
  text: string,
  backend: VirtualClusterBackend,
  signal: AbortSignal,
): Promise<AppliedObjects | undefined> {
  if (text.trim() === "" || backend.applyObjects === undefined) return undefined;
  const hash = hashOfObjects(text);
  const isApplied = status?.conditions?.some(({ type, status: holds }) => type === OBJECTS_APPLIED && holds === "True");
  if (status?.deployHash === hash && isApplied === true) return undefined;
  try {
    await backend.applyObjects(text, signal);
    return { hash };
  } catch (error) {
    if (!(error instanceof ObjectsError)) throw error;
    return { hash, fault: error.message };
  }
}

/** If a template can no longer be rendered, the virtual cluster keeps what it was rendered to before. */
function madeFrom(instance: VirtualClusterInstance, deps: Pick<Foundation, "names" | "lookup">): MadeFrom {
  const { template, faults, missing } = renderTemplate(instance, deps);
  const fault =
    missing ??
    (faults.length === 0 ? undefined : faults.map(({ field, message }) => `${field}: ${message}`).join("; "));
  if (fault === undefined) return { ...(template === undefined ? {} : { template }) };
  const before = instance.status?.virtualCluster;
  return { fault, ...(before === undefined ? {} : { template: before }) };
}

/** A backend that says no; anything else is a fault, and the work is tried again. */
const isRefusal = (error: unknown): error is ApiError =>
  isApiError(error, "ServiceUnavailable") || isApiError(error, "InsufficientStorage");
