// Makes a ClusterProfile of a VirtualClusterInstance: everything but the address of the platform.
// Source: sigs.k8s.io/cluster-inventory-api/config/crd/bases/multicluster.x-k8s.io_clusterprofiles.yaml; KEP 4322; KEP 2149 (cluster.clusterset.k8s.io)

import {
  CLUSTER_INVENTORY_GROUP,
  CLUSTER_MANAGER_LABEL,
  type ClusterProfile,
  type ClusterProfileCondition,
} from "@postern/api/cluster-profile";
import type { PlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";

/** Well-known property: an ID of the cluster that no other cluster has, as DNS label. */
const CLUSTER_ID = "cluster.clusterset.k8s.io";

/** Limits of the definition of the kind. Messages and reasons come from clusters of others. */
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const MAX_REASON = 1024;
const MAX_MESSAGE = 32_768;

export function clusterProfileOf(
  { metadata, spec, status }: VirtualClusterInstance,
  names: Pick<PlatformNames, "name">,
): ClusterProfile {
  const { name = "", uid = "" } = metadata;
  const version = status?.kubernetesVersion;
  return {
    apiVersion: `${CLUSTER_INVENTORY_GROUP}/v1alpha1`,
    kind: "ClusterProfile",
    metadata: metadataOf(metadata, names.name),
    spec: { displayName: spec?.displayName || name, clusterManager: { name: names.name } },
    status: {
      conditions: [controlPlaneHealthy(status, metadata), joined(metadata)],
      ...(version === undefined ? {} : { version: { kubernetes: version } }),
      properties: [{ name: CLUSTER_ID, value: uid }],
    },
  };
}

type Metadata = VirtualClusterInstance["metadata"];

/** Annotations, owners and finalizers are about the instance. */
function metadataOf(metadata: Metadata, manager: string): Metadata {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, labels } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const shown = {
    ...{ name, namespace, uid, resourceVersion, generation, creationTimestamp },
    ...{ deletionTimestamp, deletionGracePeriodSeconds },
    labels: { ...labels, [CLUSTER_MANAGER_LABEL]: manager },
  };
  // JSON has no undefined members.
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) as Metadata;
}

function controlPlaneHealthy(
  status: VirtualClusterInstance["status"],
  { creationTimestamp }: Metadata,
): ClusterProfileCondition {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const { reason = "", message = "", lastTransitionTime } = ready ?? {};
  const state = ready?.status;
  return {
    type: "ControlPlaneHealthy",
    status: state === "True" || state === "False" ? state : "Unknown",
    lastTransitionTime: lastTransitionTime ?? creationTimestamp ?? null,
    reason: reason.length <= MAX_REASON && REASON.test(reason) ? reason : "Unknown",
    message: message.slice(0, MAX_MESSAGE),
  };
}

const joined = ({ creationTimestamp, deletionTimestamp }: Metadata): ClusterProfileCondition =>
  deletionTimestamp === undefined || deletionTimestamp === null
    ? {
        type: "Joined",
        status: "True",
        lastTransitionTime: creationTimestamp ?? null,
        reason: "Created",
        message: "the virtual cluster exists",
      }
    : {
        type: "Joined",
        status: "False",
        lastTransitionTime: deletionTimestamp,
        reason: "Deleting",
        message: "the virtual cluster is being deleted",
      };
