// The fields of pods, and of the templates that workloads make them from.
// Source: k8s.io/api/core/v1/types.go (PodSpec, PodStatus, PodTemplateSpec)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { mergedInPatches, retainingKeys } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { localObjectReference } from "../core/object-reference.ts";
import { publishedField } from "../published/published-field.ts";
import { quantities } from "../quotas/quantities.ts";
import { containerFields, ephemeralContainerFields } from "./container-fields.ts";

/** Its readers take its source as it is. */
const volumeFields = publishedField<{ readonly name: string }>("Volume");
const tolerationFields = publishedField<{
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number | bigint;
}>("Toleration");

const spreadFields = s.object({
  maxSkew: s.int32().required().describe("MaxSkew describes the degree to which pods may be unevenly distributed."),
  topologyKey: s.string().required().describe("TopologyKey is the key of node labels."),
  whenUnsatisfiable: s
    .string()
    .required()
    .describe("WhenUnsatisfiable indicates how to deal with a pod if it doesn't satisfy the spread constraint."),
  labelSelector: publishedField<JsonObject>("LabelSelector"),
  minDomains: s.int32().describe("MinDomains indicates a minimum number of eligible domains."),
  nodeAffinityPolicy: s.string().describe("Honor or Ignore."),
  nodeTaintsPolicy: s.string().describe("Honor or Ignore."),
  matchLabelKeys: s
    .list(s.string())
    .describe("MatchLabelKeys is a set of pod label keys to select the pods over which spreading will be calculated."),
});

const named = (what: string) => s.object({ name: s.string().describe(`Name of the ${what}.`) });
/** Labels that an applier owns whole. */
export const atomicLabels = s.field<{ readonly [label: string]: string }>({
  type: "object",
  additionalProperties: { type: "string" },
  "x-kubernetes-map-type": "atomic",
});

export const podSpecFields = s.object({
  volumes: retainingKeys(mergedInPatches(s.listMap(volumeFields, ["name"]), "name")).describe(
    "List of volumes that can be mounted by containers belonging to the pod.",
  ),
  initContainers: mergedInPatches(s.listMap(containerFields, ["name"]), "name").describe(
    "List of initialization containers belonging to the pod. Init containers are executed in order prior to containers being started.",
  ),
  containers: mergedInPatches(s.listMap(containerFields, ["name"]), "name").describe(
    "List of containers belonging to the pod. Containers cannot currently be added or removed.",
  ),
  ephemeralContainers: mergedInPatches(s.listMap(ephemeralContainerFields, ["name"]), "name").describe(
    "List of ephemeral containers run in this pod.",
  ),
  restartPolicy: s
    .string()
    .describe("Restart policy for all containers within the pod. One of Always, OnFailure, Never."),
  terminationGracePeriodSeconds: s
    .int64()
    .describe(
      "Optional duration in seconds the pod needs to terminate gracefully. May be decreased in delete request.",
    ),
  activeDeadlineSeconds: s
    .int64()
    .describe(
      "Optional duration in seconds the pod may be active on the node relative to StartTime before the system will actively try to mark it failed and kill associated containers.",
    ),
  dnsPolicy: s.string().describe('Set DNS policy for the pod. Defaults to "ClusterFirst".'),
  nodeSelector: atomicLabels.describe("NodeSelector is a selector which must be true for the pod to fit on a node."),
  serviceAccountName: s
    .string()
    .describe("ServiceAccountName is the name of the ServiceAccount to use to run this pod."),
  serviceAccount: s
    .string()
    .describe(
      "DeprecatedServiceAccount is a deprecated alias for ServiceAccountName. Deprecated: Use serviceAccountName instead.",
    ),
  automountServiceAccountToken: s
    .boolean()
    .describe(
      "AutomountServiceAccountToken indicates whether a service account token should be automatically mounted.",
    ),
  nodeName: s.string().describe("NodeName indicates in which node this pod is scheduled."),
  hostNetwork: s.boolean().describe("Host networking requested for this pod. Use the host's network namespace."),
  hostPID: s.boolean().describe("Use the host's pid namespace. Optional: Default to false."),
  hostIPC: s.boolean().describe("Use the host's ipc namespace. Optional: Default to false."),
  hostUsers: s.boolean().describe("Use the host's user namespace. Optional: Default to true."),
  shareProcessNamespace: s
    .boolean()
    .describe("Share a single process namespace between all of the containers in a pod."),
  securityContext: publishedField<JsonObject>("PodSecurityContext"),
  imagePullSecrets: mergedInPatches(s.listMap(localObjectReference, ["name"]), "name").describe(
    "ImagePullSecrets is an optional list of references to secrets in the same namespace to use for pulling any of the images used by this PodSpec.",
  ),
  hostname: s
    .string()
    .describe(
      "Specifies the hostname of the Pod If not specified, the pod's hostname will be set to a system-defined value.",
    ),
  subdomain: s
    .string()
    .describe(
      'If specified, the fully qualified Pod hostname will be "<hostname>.<subdomain>.<pod namespace>.svc.<cluster domain>".',
    ),
  setHostnameAsFQDN: s
    .boolean()
    .describe(
      "If true the pod's hostname will be configured as the pod's FQDN, rather than the leaf name (the default).",
    ),
  affinity: publishedField<JsonObject>("Affinity"),
  schedulerName: s.string().describe("If specified, the pod will be dispatched by specified scheduler."),
  tolerations: s.list(tolerationFields).describe("If specified, the pod's tolerations."),
  hostAliases: mergedInPatches(
    s.listMap(
      s.object({
        ip: s.string().required().describe("IP address."),
        hostnames: s.list(s.string()).describe("Hostnames for the above IP address."),
      }),
      ["ip"],
    ),
    "ip",
  ).describe(
    "HostAliases is an optional list of hosts and IPs that will be injected into the pod's hosts file if specified.",
  ),
  priorityClassName: s.string().describe("If specified, indicates the pod's priority."),
  priority: s
    .int32()
    .describe("The priority value. Various system components use this field to find the priority of the pod."),
  preemptionPolicy: s
    .string()
    .describe(
      "PreemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority.",
    ),
  dnsConfig: publishedField<JsonObject>("PodDNSConfig"),
  readinessGates: s
    .list(publishedField<JsonObject>("PodReadinessGate"))
    .describe("If specified, all readiness gates will be evaluated for pod readiness."),
  runtimeClassName: s
    .string()
    .describe(
      "RuntimeClassName refers to a RuntimeClass object in the node.k8s.io group, which should be used to run this pod.",
    ),
  enableServiceLinks: s
    .boolean()
    .describe(
      "EnableServiceLinks indicates whether information about services should be injected into pod's environment variables, matching the syntax of Docker links.",
    ),
  overhead: quantities.describe(
    "Overhead represents the resource overhead associated with running a pod for a given RuntimeClass.",
  ),
  topologySpreadConstraints: mergedInPatches(
    s.listMap(spreadFields, ["topologyKey", "whenUnsatisfiable"]),
    "topologyKey",
  ).describe("TopologySpreadConstraints describes how a group of pods ought to spread across topology domains."),
  os: named("operating system").describe("PodOS defines the OS parameters of a pod."),
  schedulingGates: mergedInPatches(
    s.listMap(
      s.object({
        name: s
          .string()
          .required()
          .describe("Name of the scheduling gate. Each scheduling gate must have a unique name field."),
      }),
      ["name"],
    ),
    "name",
  ).describe("SchedulingGates is an opaque list of values that if specified will block scheduling the pod."),
  resourceClaims: retainingKeys(
    mergedInPatches(
      s.listMap(
        s.object({
          name: s
            .string()
            .required()
            .describe("Name uniquely identifies this resource claim inside the pod. This must be a DNS_LABEL."),
          resourceClaimName: s
            .string()
            .describe("ResourceClaimName is the name of a ResourceClaim object in the same namespace as this pod."),
          resourceClaimTemplateName: s
            .string()
            .describe(
              "ResourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace as this pod.",
            ),
        }),
        ["name"],
      ),
      "name",
    ),
  ).describe("Claims lists the names of resources, defined in spec.resourceClaims, that are used by this container."),
  resources: publishedField<JsonObject>("ResourceRequirements"),
  hostnameOverride: s
    .string()
    .describe("HostnameOverride specifies an explicit override for the pod's hostname as perceived by the pod."),
  schedulingGroup: publishedField<JsonObject>("PodSchedulingGroup"),
});

export type PodSpec = Infer<typeof podSpecFields>;
export type Container = NonNullable<PodSpec["containers"]>[number];

export const podTemplateFields = s.object({
  metadata: s
    .field<ObjectMeta>(objectMetaSchema)
    .describe(
      "ObjectMeta is metadata that all persisted resources must have, which includes all objects users must create.",
    ),
  spec: podSpecFields.describe("PodSpec is a description of a pod."),
});

export type PodTemplate = Infer<typeof podTemplateFields>;

export const podStatusFields = s.object({
  phase: s
    .string()
    .describe("The phase of a Pod is a simple, high-level summary of where the Pod is in its lifecycle."),
  observedGeneration: s.int64().describe("Most recent generation observed by the controller."),
  conditions: mergedInPatches(
    s.listMap(conditionFields("observedGeneration", "lastProbeTime"), ["type"]),
    "type",
  ).describe("Latest available observations of the object's current state."),
  message: s.string().describe("A human readable message indicating details about why the pod is in this condition."),
  reason: s
    .string()
    .describe("A brief CamelCase message indicating details about why the pod is in this state. e.g. 'Evicted'"),
  nominatedNodeName: s
    .string()
    .describe(
      "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods.",
    ),
  hostIP: s
    .string()
    .describe(
      "hostIP holds the IP address of the host to which the pod is assigned. Empty if the pod has not started yet.",
    ),
  hostIPs: mergedInPatches(s.list(publishedField<JsonObject>("HostIP")), "ip").describe(
    "hostIPs holds the IP addresses allocated to the host. If this field is specified, the first entry must match the hostIP field.",
  ),
  podIP: s.string().describe("IP address."),
  podIPs: mergedInPatches(
    s.listMap(s.object({ ip: s.string().required().describe("IP address.") }), ["ip"]),
    "ip",
  ).describe(
    "podIPs holds the IP addresses allocated to the pod. If this field is specified, the 0th entry must match the podIP field.",
  ),
  startTime: s.timestamp().describe("RFC 3339 date and time at which the object was acknowledged by the Kubelet."),
  initContainerStatuses: s
    .list(publishedField<JsonObject>("ContainerStatus"))
    .describe("Statuses of init containers in this pod."),
  containerStatuses: s
    .list(publishedField<JsonObject>("ContainerStatus"))
    .describe("Statuses of containers in this pod."),
  ephemeralContainerStatuses: s
    .list(publishedField<JsonObject>("ContainerStatus"))
    .describe("Statuses for any ephemeral containers that have run in this pod."),
  qosClass: s
    .string()
    .describe(
      "The Quality of Service (QOS) classification assigned to the pod based on resource requirements See PodQOSClass type for available QOS classes",
    ),
  resize: s
    .string()
    .describe(
      "Status of resources resize desired for pod's containers. It is empty if no resources resize is pending.",
    ),
  resourceClaimStatuses: retainingKeys(
    mergedInPatches(s.listMap(publishedField<JsonObject>("PodResourceClaimStatus"), ["name"]), "name"),
  ).describe("Status of resource claims."),
  nodeAllocatableResourceClaimStatuses: s
    .list(publishedField<JsonObject>("NodeAllocatableResourceClaimStatus"))
    .describe("Status of the claims of resources that the node allocates."),
  extendedResourceClaimStatus: publishedField<JsonObject>("PodExtendedResourceClaimStatus"),
  allocatedResources: quantities.describe(
    "AllocatedResources is the total requests allocated for this pod by the node.",
  ),
  resources: publishedField<JsonObject>("ResourceRequirements"),
});
