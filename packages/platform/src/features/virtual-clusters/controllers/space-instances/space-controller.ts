// Brings every space into its desired state, and deletes its content with it.

import type { SpaceInstance } from "@postern/api/space-instance";
import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { faultOf, type UpstreamFault } from "../../../../foundation/upstream/upstream-failure.ts";
import { insideRoles } from "../../inside-roles.ts";
import { spaceFinalizer } from "../../kinds/space-instances/strategy.ts";
import { isAsleep, SLEEPING_HEALTH } from "../../sleep.ts";
import type { SpaceRegistry } from "../../space-registry.ts";
import { createInstanceController, type InstanceFaults } from "../instance-controller.ts";
import { spaceStatus } from "./space-status.ts";

/** Spaces that could not be reached, or that are on their way out, are looked at again after this at the latest. */
const WAITING_MS = 5_000;

export const createSpaceController = (
  port: Omit<ControllerPort, "resources">,
  { names, own }: Pick<Foundation, "names" | "own">,
  needs: {
    readonly spaces: SpaceRegistry;
    /** Stops a space on the built-in cluster, which is started again when it is next opened. By uid. */
    readonly stop: (uid: string) => Promise<void>;
    /** One that is in a cluster that others run may cease to be reached: it is looked at again after this. */
    readonly recheckMs: number;
    /** The faults of spaces on the built-in cluster. */
    readonly faults?: InstanceFaults | undefined;
  },
): Controller => {
  const { spaces, stop, recheckMs, faults } = needs;
  const clusters = own("Cluster");
  return createInstanceController<SpaceInstance>(
    port,
    { instances: own("SpaceInstance"), clusters },
    {
      queueName: "space_instance",
      finalizer: spaceFinalizer(names),
      isRemote: (instance) => spaces.spaceOf(instance).isRemote,
      faults,
      recheckMs: { unready: Math.min(WAITING_MS, recheckMs), remote: recheckMs },
      statusOf: spaceStatus,

      async bringUp(instance, signal) {
        try {
          const space = spaces.spaceOf(instance);
          const { isRemote } = space;
          if (!isRemote && isAsleep(instance, names)) {
            await stop(instance.metadata.uid ?? "");
            return { isRemote, health: SLEEPING_HEALTH };
          }
          await space.provision(instance.spec?.template?.metadata ?? {}, signal);
          await space.bindRoles(insideRoles(instance, names), signal);
          return { isRemote, health: await space.health(signal) };
        } catch (error) {
          return { isRemote: true, health: { ready: false, ...faultOfSpace(error) } };
        }
      },

      async remove(instance, signal) {
        const { cluster = "", namespace = "" } = instance.spec?.clusterRef ?? {};
        // Objects in a cluster that is no longer connected cannot be removed from here.
        if (clusters.view.get(clusters.keys.of("", cluster)) === undefined) return undefined;
        try {
          if (await spaces.spaceOf(instance).remove(signal)) return undefined;
          return { reason: "NamespaceTerminating", message: `its namespace ${namespace} is still terminating` };
        } catch (error) {
          const { reason, message } = faultOfSpace(error);
          return {
            reason,
            message: `it will be deleted when its namespace ${namespace} is, but ${message}; to leave that behind, delete the cluster ${cluster} from the platform`,
          };
        }
      },
    },
  );
};

/** Why a space is not ready. Throws what says nothing about the space. */
function faultOfSpace(error: unknown): UpstreamFault {
  if (!(error instanceof ApiError)) throw error;
  if (OUT_OF_REACH.includes(error.code)) return faultOf(error);
  // The namespace belongs to another object.
  if (isApiError(error, "Conflict")) return { reason: "NamespaceTaken", message: error.message };
  throw error;
}

/** Its cluster cannot be reached, does not do what it should, or does not answer. */
const OUT_OF_REACH: readonly number[] = [502, 503, 504];
