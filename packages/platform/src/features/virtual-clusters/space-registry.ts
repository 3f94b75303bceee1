// Finds the backend of a space, from its cluster.

import { isLocalCluster } from "@postern/api/cluster";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { unreachableError } from "../../foundation/upstream/upstream-failure.ts";
import type { SpaceBackend } from "./kubernetes-backend/space-backend.ts";

export type SpaceRegistry = {
  /** Throws ApiError 503 if the space cannot be reached now, or not by this release. */
  spaceOf(instance: SpaceInstance): SpaceBackend;
};

export function createSpaceRegistry(deps: {
  readonly lookup: Pick<ObjectLookup, "cluster">;
  /** By the uid of the instance, and the name of its namespace. */
  readonly embedded: (uid: string, namespace: string) => SpaceBackend;
  /** In a connected cluster. Absent: connected clusters are not supported. */
  readonly connected?: (instance: SpaceInstance) => SpaceBackend;
}): SpaceRegistry {
  const { lookup, embedded, connected } = deps;
  return {
    spaceOf(instance) {
      const { cluster: name = "", namespace = "" } = instance.spec?.clusterRef ?? {};
      const cluster = name === "" ? undefined : lookup.cluster(name);
      if (cluster === undefined) {
        throw unreachableError({
          reason: "ClusterNotFound",
          message: `cluster ${JSON.stringify(name)} does not exist`,
        });
      }
      if (isLocalCluster(cluster)) return embedded(instance.metadata.uid ?? "", namespace);
      if (connected !== undefined) return connected(instance);
      const message = `this release does not reach spaces in connected clusters such as ${JSON.stringify(name)}`;
      throw unreachableError({ reason: "BackendNotServed", message });
    },
  };
}
