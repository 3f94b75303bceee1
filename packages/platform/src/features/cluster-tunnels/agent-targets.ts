// The objects that agents connect: Clusters, and virtual clusters that others run.

import type { PlatformNames } from "@postern/api/platform-names";
import { isTunnelled } from "@postern/api/virtual-cluster-instance";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import {
  clusterIdentity,
  parseClusterIdentity,
  parseVirtualClusterIdentity,
  virtualClusterIdentity,
} from "../authorization/caller.ts";

/** As records store it. */
export type AgentPlace = {
  /** Name of the Cluster, or of the VirtualClusterInstance. */
  readonly cluster: string;
  /** The namespace of the VirtualClusterInstance. Absent for a Cluster. */
  readonly namespace?: string;
};

export const placeOf = ({ cluster, namespace }: AgentPlace): AgentPlace => ({
  cluster,
  ...(namespace === undefined ? {} : { namespace }),
});

export type AgentTarget = AgentPlace & {
  readonly kind: "Cluster" | "VirtualClusterInstance";
  readonly uid: string;
  readonly annotations: { readonly [name: string]: string };
};

export type AgentTargets = {
  /** The object with the uid, while an agent may connect for it. */
  find(place: AgentPlace, uid: string): AgentTarget | undefined;
  /** The user name under which the key of its agent acts. */
  identityOf(place: AgentPlace): string;
  /** Inverse of `identityOf`, with the object that has the name now. */
  ofIdentity(user: string): AgentTarget | undefined;
};

export function createAgentTargets(
  names: Pick<PlatformNames, "name">,
  lookup: Pick<ObjectLookup, "cluster" | "virtualClusterInstance">,
): AgentTargets {
  function current({ cluster, namespace }: AgentPlace): AgentTarget | undefined {
    if (namespace === undefined) {
      const found = lookup.cluster(cluster);
      return found?.spec?.networkPeer === true ? targetOf(found, "Cluster") : undefined;
    }
    const found = lookup.virtualClusterInstance(namespace, cluster);
    return found !== undefined && isTunnelled(found) ? targetOf(found, "VirtualClusterInstance") : undefined;
  }
  return {
    find(place, uid) {
      const found = current(place);
      return found?.uid === uid ? found : undefined;
    },
    identityOf: ({ cluster, namespace }) =>
      namespace === undefined ? clusterIdentity(names, cluster) : virtualClusterIdentity(names, namespace, cluster),
    ofIdentity(user) {
      const cluster = parseClusterIdentity(names, user);
      if (cluster !== undefined) return current({ cluster });
      const own = parseVirtualClusterIdentity(names, user);
      return own && current({ cluster: own.instance, namespace: own.namespace });
    },
  };
}

function targetOf(object: KubeObject, kind: AgentTarget["kind"]): AgentTarget | undefined {
  const { name = "", namespace, uid = "", annotations = {} } = object.metadata;
  if (isBeingDeleted(object)) return undefined;
  return { kind, cluster: name, ...(namespace === undefined ? {} : { namespace }), uid, annotations };
}
