// Brings every virtual cluster instance to where it should be, and removes all that it has when it goes.

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { type Condition, withCondition } from "../../api/conditions.ts";
import {
  type Phase,
  renderTemplate,
  type VirtualClusterInstance,
  type VirtualClusterInstanceStatus,
} from "../../api/virtual-cluster-instance.ts";
import { type BackendRegistry, reasonOf } from "../../clusters/backend-registry.ts";
import { hashOfObjects, ObjectsError } from "../../clusters/embedded/apply-objects.ts";
import { insideRoles } from "../../clusters/inside-roles.ts";
import { isAsleep, SLEEPING, SLEEPING_HEALTH } from "../../clusters/sleep.ts";
import type { VirtualClusterBackend, VirtualClusterHealth } from "../../clusters/virtual-cluster-backend.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { virtualClusterFinalizer } from "../../resources/virtual-cluster-instances/strategy.ts";
import { type AppliedObjects, createInstanceController } from "../instance-controller.ts";
import { readyCondition } from "../ready-condition.ts";

export type VirtualClusterControllerDeps = {
  readonly names: PlatformNames;
  readonly instances: ControlledResource;
  readonly clusters: ControlledResource;
  readonly backends: BackendRegistry;
  /** Removes everything that an instance has beside its object. By uid; may be called again. */
  readonly remove: (uid: string, signal: AbortSignal) => Promise<void>;
  /** Stops an embedded virtual cluster, which is started again when it is next opened. By uid. */
  readonly stop: (uid: string) => Promise<void>;
  /** Virtual clusters that could not be reached, and those that others run, are looked at again after this. */
  readonly recheckMs: number;
};

export const createVirtualClusterController = (
  port: Omit<ControllerPort, "resources">,
  { names, instances, clusters, backends, remove, stop, recheckMs }: VirtualClusterControllerDeps,
): Controller =>
  createInstanceController<VirtualClusterInstance>(
    port,
    { instances, clusters },
    {
      queueName: "virtual_cluster_instance",
      finalizer: virtualClusterFinalizer(names),
      recheckMs: { unready: recheckMs, remote: recheckMs },
      statusOf: instanceStatus,

      async bringUp(instance, signal) {
        try {
          const backend = backends.backendOf(instance);
          const { isRemote } = backend;
          if (!isRemote && isAsleep(instance, names)) {
            await stop(instance.metadata.uid ?? "");
            return { isRemote, health: SLEEPING_HEALTH };
          }
          const before = await backend.health(signal);
          if (!before.ready) await backend.provision(signal);
          // Whoever finds it ready gets in. Others may not let us bind, and are ready all the same.
          if (!isRemote && instance.status?.phase !== "Ready")
            await backend.bindRoles(insideRoles(instance, names), signal);
          const health = before.ready ? before : await backend.health(signal);
          return { isRemote, health, objects: await objectsIn(instance, backend, signal) };
        } catch (error) {
          if (!isRefusal(error)) throw error;
          return { isRemote: true, health: { ready: false, ...reasonOf(error) } };
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
  { spec, status }: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  signal: AbortSignal,
): Promise<AppliedObjects | undefined> {
  const text = spec?.template?.objects ?? "";
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

const OBJECTS_APPLIED = "ObjectsApplied";

const objectsCondition = ({ fault }: AppliedObjects) =>
  fault === undefined
    ? { type: OBJECTS_APPLIED, holds: true, reason: "Applied", message: "all objects of the template are applied" }
    : { type: OBJECTS_APPLIED, holds: false, reason: "NotApplied", message: fault };

/** A backend that says no; anything else is a fault, and the work is tried again. */
const isRefusal = (error: unknown): error is ApiError => isApiError(error, "ServiceUnavailable");

// The status of a virtual cluster instance, from how its backend is.

/** `now` in milliseconds. */
function instanceStatus(
  instance: VirtualClusterInstance,
  health: VirtualClusterHealth,
  now: number,
  objects?: AppliedObjects,
): VirtualClusterInstanceStatus {
  const { reason: _reason, message: _message, virtualCluster: _rendered, ...kept } = instance.status ?? {};
  const rendered = renderTemplate(instance);
  return {
    ...kept,
    phase: phaseOf(health),
    ...(health.ready ? { kubernetesVersion: health.version } : { reason: health.reason, message: health.message }),
    serviceUID: instance.metadata.uid ?? "",
    ...(rendered === undefined ? {} : { virtualCluster: rendered }),
    ...(objects === undefined ? {} : { deployHash: objects.hash }),
    conditions: withObjects(withCondition(kept.conditions ?? [], readyCondition(health), now), objects, now),
  };
}

const withObjects = (
  conditions: readonly Condition[],
  objects: AppliedObjects | undefined,
  now: number,
): readonly Condition[] =>
  objects === undefined ? conditions : withCondition(conditions, objectsCondition(objects), now);

function phaseOf(health: VirtualClusterHealth): Phase {
  if (health.ready) return "Ready";
  return health.reason === SLEEPING ? "Sleeping" : "Pending";
}
