// The kinds that a cluster has beside those of every API surface: what charts and controllers need in order to install (ADR 69).

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { asGoWrites, isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { pruneNulls } from "@postern/apimachinery/schema/default";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { apiServices } from "./apiregistration/api-services.ts";
import { horizontalPodAutoscalers, horizontalPodAutoscalersV1 } from "./autoscaling/horizontal-pod-autoscalers.ts";
import { componentStatuses } from "./core/component-statuses.ts";
import type { ClaimPermissions } from "./devices/claim-permissions.ts";
import { deviceClasses } from "./devices/device-classes.ts";
import { resourceClaimTemplates } from "./devices/resource-claim-templates.ts";
import { resourceClaims } from "./devices/resource-claims.ts";
import { resourceSlices } from "./devices/resource-slices.ts";
import { flowSchemas } from "./flowcontrol/flow-schemas.ts";
import { priorityLevelConfigurations } from "./flowcontrol/priority-levels.ts";
import { ingressClasses, ingresses } from "./networking/ingresses.ts";
import { networkPolicies } from "./networking/network-policies.ts";
import { ipAddresses, serviceCidrs } from "./networking/service-networks.ts";
import { runtimeClasses } from "./node/runtime-classes.ts";
import { podDisruptionBudgets } from "./policy/pod-disruption-budgets.ts";
import { limitRanges } from "./quotas/limit-ranges.ts";
import { resourceQuotas } from "./quotas/resource-quotas.ts";
import { endpointSlices } from "./services/endpoint-slices.ts";
import { endpoints } from "./services/endpoints.ts";
import type { ServiceAddresses } from "./services/service-addresses.ts";
import { storedServices } from "./services/services.ts";
import { csiDrivers } from "./storage/csi-drivers.ts";
import { csiNodes } from "./storage/csi-nodes.ts";
import { csiStorageCapacities } from "./storage/csi-storage-capacities.ts";
import { priorityClasses, storageClasses } from "./storage/storage-kinds.ts";
import { volumeAttachments } from "./storage/volume-attachments.ts";
import { volumeAttributesClasses } from "./storage/volume-attributes-classes.ts";
import { daemonSets, deployments, replicaSets, statefulSets } from "./workloads/apps/apps.ts";
import { controllerRevisions } from "./workloads/apps/controller-revisions.ts";
import { replicationControllers } from "./workloads/apps/replication-controllers.ts";
import { cronJobs, jobs } from "./workloads/jobs/batch.ts";
import { nodes } from "./workloads/nodes.ts";
import { assignablePods, bindings } from "./workloads/pods/pod-bindings.ts";
import type { EvictionDeps } from "./workloads/pods/pod-evictions.ts";
import { pods, podTemplates } from "./workloads/pods/pods.ts";
import { persistentVolumeClaims, persistentVolumes } from "./workloads/volumes/volumes.ts";

/** Kinds that have no meaning without nodes. */
const WORKLOADS: readonly ResourceDefinition[] = [
  nodes,
  pods,
  podTemplates,
  replicationControllers,
  persistentVolumeClaims,
  persistentVolumes,
  deployments,
  replicaSets,
  statefulSets,
  daemonSets,
  controllerRevisions,
  jobs,
  cronJobs,
  horizontalPodAutoscalers,
  horizontalPodAutoscalersV1,
];

export const isWorkload = ({ group, plural }: Pick<ResourceDefinition, "group" | "plural">): boolean =>
  WORKLOADS.some((workload) => workload.group === group && workload.plural === plural);

/** Objects are in the form in which Go writes them before they get their defaults: with the members that its structs always have. */
export function inGoForm(definition: ResourceDefinition): ResourceDefinition {
  const { group, version, kind, schema, setDefaults = (object) => object } = definition;
  if (!isProtobufKind(formatApiVersion({ group, version }), kind)) return definition;
  return {
    ...definition,
    // Absent lists are null in Go; only kinds that have them so in their schema keep that.
    setDefaults: (object) => setDefaults(pruneNulls(asGoWrites(object), schema) as KubeObject),
  };
}

const OTHER_WORKLOADS = WORKLOADS.filter((workload) => workload !== pods).map(inGoForm);
const OTHER_KINDS = [
  componentStatuses,
  endpoints,
  endpointSlices,
  resourceQuotas,
  limitRanges,
  ingresses,
  ingressClasses,
  networkPolicies,
  podDisruptionBudgets,
  priorityClasses,
  storageClasses,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  volumeAttachments,
  volumeAttributesClasses,
  serviceCidrs,
  ipAddresses,
  flowSchemas,
  priorityLevelConfigurations,
  runtimeClasses,
  deviceClasses,
  resourceSlices,
  apiServices,
].map(inGoForm);

export const clusterKinds = (
  addresses: ServiceAddresses,
  evictions: EvictionDeps,
  permissions: ClaimPermissions,
): readonly ResourceDefinition[] => [
  inGoForm(storedServices(addresses)),
  ...OTHER_KINDS,
  bindings(evictions.pods),
  inGoForm(assignablePods(evictions)),
  inGoForm(resourceClaims(permissions)),
  inGoForm(resourceClaimTemplates(permissions)),
  ...OTHER_WORKLOADS,
];
