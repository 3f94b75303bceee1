// The fields of pods, and of the templates that workloads make them from.
// Source: k8s.io/api/core/v1/types.go (PodSpec, PodStatus, PodTemplateSpec)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { mergedInPatches, retainingKeys } from "../../builtin-resource.ts";
import { conditionFields } from "../../condition-fields.ts";
import { localObjectReference } from "../../core/object-reference.ts";
import { publishedField } from "../../published/published-field.ts";
import { quantities } from "../../quotas/quantities.ts";
import { labelSelector } from "../../rbac/rbac-fields.ts";
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
  maxSkew: s.int32().required(),
  topologyKey: s.string().required(),
  whenUnsatisfiable: s.string().required(),
  labelSelector,
  minDomains: s.int32(),
  nodeAffinityPolicy: s.string(),
  nodeTaintsPolicy: s.string(),
  matchLabelKeys: s.list(s.string()),
});

/** Labels that an applier owns whole. */
export const atomicLabels = s.field<{ readonly [label: string]: string }>({
  type: "object",
  additionalProperties: { type: "string" },
  "x-kubernetes-map-type": "atomic",
});

export const podSpecFields = s.object({
  volumes: retainingKeys(mergedInPatches(s.listMap(volumeFields, ["name"]), "name")),
  initContainers: mergedInPatches(s.listMap(containerFields, ["name"]), "name"),
  containers: mergedInPatches(s.listMap(containerFields, ["name"]), "name"),
  ephemeralContainers: mergedInPatches(s.listMap(ephemeralContainerFields, ["name"]), "name"),
  restartPolicy: s.string(),
  terminationGracePeriodSeconds: s.int64(),
  activeDeadlineSeconds: s.int64(),
  dnsPolicy: s.string(),
  nodeSelector: atomicLabels,
  serviceAccountName: s.string(),
  serviceAccount: s.string(),
  automountServiceAccountToken: s.boolean(),
  nodeName: s.string(),
  hostNetwork: s.boolean(),
  hostPID: s.boolean(),
  hostIPC: s.boolean(),
  hostUsers: s.boolean(),
  shareProcessNamespace: s.boolean(),
  securityContext: publishedField<JsonObject>("PodSecurityContext"),
  imagePullSecrets: mergedInPatches(s.listMap(localObjectReference, ["name"]), "name"),
  hostname: s.string(),
  subdomain: s.string(),
  setHostnameAsFQDN: s.boolean(),
  affinity: publishedField<JsonObject>("Affinity"),
  schedulerName: s.string(),
  tolerations: s.list(tolerationFields),
  hostAliases: mergedInPatches(
    s.listMap(
      s.object({
        ip: s.string().required(),
        hostnames: s.list(s.string()),
      }),
      ["ip"],
    ),
    "ip",
  ),
  priorityClassName: s.string(),
  priority: s.int32(),
  preemptionPolicy: s.string(),
  dnsConfig: publishedField<JsonObject>("PodDNSConfig"),
  readinessGates: s.list(publishedField<JsonObject>("PodReadinessGate")),
  runtimeClassName: s.string(),
  enableServiceLinks: s.boolean(),
  overhead: quantities,
  topologySpreadConstraints: mergedInPatches(
    s.listMap(spreadFields, ["topologyKey", "whenUnsatisfiable"]),
    "topologyKey",
  ),
  os: s.object({ name: s.string() }),
  schedulingGates: mergedInPatches(
    s.listMap(
      s.object({
        name: s.string().required(),
      }),
      ["name"],
    ),
    "name",
  ),
  resourceClaims: retainingKeys(
    mergedInPatches(
      s.listMap(
        s.object({
          name: s.string().required(),
          resourceClaimName: s.string(),
          resourceClaimTemplateName: s.string(),
        }),
        ["name"],
      ),
      "name",
    ),
  ),
  resources: publishedField<JsonObject>("ResourceRequirements"),
  hostnameOverride: s.string(),
  schedulingGroup: publishedField<JsonObject>("PodSchedulingGroup"),
});

export type PodSpec = Infer<typeof podSpecFields>;
export type Container = NonNullable<PodSpec["containers"]>[number];

export const podTemplateFields = s.object({
  metadata: s.field<ObjectMeta>(objectMetaSchema),
  spec: podSpecFields,
});

export type PodTemplate = Infer<typeof podTemplateFields>;

export const podStatusFields = s.object({
  phase: s.string(),
  observedGeneration: s.int64(),
  conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration", "lastProbeTime"), ["type"]), "type"),
  message: s.string(),
  reason: s.string(),
  nominatedNodeName: s.string(),
  hostIP: s.string(),
  hostIPs: mergedInPatches(s.list(publishedField<JsonObject>("HostIP")), "ip"),
  podIP: s.string(),
  podIPs: mergedInPatches(s.listMap(s.object({ ip: s.string().required() }), ["ip"]), "ip"),
  startTime: s.timestamp(),
  initContainerStatuses: s.list(publishedField<JsonObject>("ContainerStatus")),
  containerStatuses: s.list(publishedField<JsonObject>("ContainerStatus")),
  ephemeralContainerStatuses: s.list(publishedField<JsonObject>("ContainerStatus")),
  qosClass: s.string(),
  resize: s.string(),
  resourceClaimStatuses: retainingKeys(
    mergedInPatches(s.listMap(publishedField<JsonObject>("PodResourceClaimStatus"), ["name"]), "name"),
  ),
  nodeAllocatableResourceClaimStatuses: s.list(publishedField<JsonObject>("NodeAllocatableResourceClaimStatus")),
  extendedResourceClaimStatus: publishedField<JsonObject>("PodExtendedResourceClaimStatus"),
  allocatedResources: quantities,
  resources: publishedField<JsonObject>("ResourceRequirements"),
});
