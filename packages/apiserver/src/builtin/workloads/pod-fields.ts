// The fields of pods, and of the templates that workloads make them from.
// Source: k8s.io/api/core/v1/types.go (PodSpec, PodStatus, PodTemplateSpec)

import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { localObjectReference } from "../core/object-reference.ts";
import { quantities } from "../quotas/quantities.ts";
import { containerFields, ephemeralContainerFields } from "./container-fields.ts";

/** Its source is one of many, which a patch replaces whole. */
const volumeFields = s.field<{ readonly name: string }>({
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", description: "Name of the volume, a DNS label." } },
  "x-kubernetes-preserve-unknown-fields": true,
});

const tolerationFields = s.object({
  key: s.string().describe("The key of the taint."),
  operator: s.string().describe("Exists or Equal."),
  value: s.string().describe("The value of the taint."),
  effect: s.string().describe("The effect of the taint. Absent: every effect."),
  tolerationSeconds: s.int64().describe("Seconds for which it is tolerated."),
});

const spreadFields = s.object({
  maxSkew: s.int32().required().describe("How uneven it may be."),
  topologyKey: s.string().required().describe("The label of nodes that says where they are."),
  whenUnsatisfiable: s.string().required().describe("DoNotSchedule or ScheduleAnyway."),
  labelSelector: s.anyObject().describe("The pods that are spread."),
  minDomains: s.int32().describe("So many places at least."),
  nodeAffinityPolicy: s.string().describe("Honor or Ignore."),
  nodeTaintsPolicy: s.string().describe("Honor or Ignore."),
  matchLabelKeys: s.list(s.string()).describe("Labels whose values have to be the same."),
});

const named = (what: string) => s.object({ name: s.string().describe(`Name of the ${what}.`) });
const ofMap = s.field<{ readonly [label: string]: string }>({
  type: "object",
  additionalProperties: { type: "string" },
  "x-kubernetes-map-type": "atomic",
});

export const podSpecFields = s.object({
  volumes: mergedInPatches(s.listMap(volumeFields, ["name"]), "name").describe("Volumes, each with its source."),
  initContainers: mergedInPatches(s.listMap(containerFields, ["name"]), "name").describe(
    "Run first, one after the other.",
  ),
  containers: mergedInPatches(s.listMap(containerFields, ["name"]), "name").describe("The containers; at least one."),
  ephemeralContainers: mergedInPatches(s.listMap(ephemeralContainerFields, ["name"]), "name").describe(
    "Containers that were added to look at the others.",
  ),
  restartPolicy: s.string().describe("Always, OnFailure or Never."),
  terminationGracePeriodSeconds: s.int64().describe("Seconds that the pod has to end."),
  activeDeadlineSeconds: s.int64().describe("Seconds that the pod may run."),
  dnsPolicy: s.string().describe("ClusterFirst, ClusterFirstWithHostNet, Default or None."),
  nodeSelector: ofMap.describe("The labels that its node must have."),
  serviceAccountName: s.string().describe("The ServiceAccount of its programs."),
  serviceAccount: s.string().describe("The former name of serviceAccountName."),
  automountServiceAccountToken: s.boolean().describe("Whether its programs get a token."),
  nodeName: s.string().describe("The node it is on."),
  hostNetwork: s.boolean().describe("Whether it has the network of its node."),
  hostPID: s.boolean().describe("Whether it sees the processes of its node."),
  hostIPC: s.boolean().describe("Whether it shares the memory of its node."),
  hostUsers: s.boolean().describe("Whether it has the users of its node."),
  shareProcessNamespace: s.boolean().describe("Whether its containers see each other's processes."),
  securityContext: s.anyObject().describe("What its containers may do on the node."),
  imagePullSecrets: mergedInPatches(s.listMap(localObjectReference, ["name"]), "name").describe(
    "Secrets with which images are pulled.",
  ),
  hostname: s.string().describe("Its host name."),
  subdomain: s.string().describe("The subdomain of its host name."),
  setHostnameAsFQDN: s.boolean().describe("Whether its host name is the whole name."),
  affinity: s.anyObject().describe("Which nodes, and which other pods, it should be near to or far from."),
  schedulerName: s.string().describe("Who chooses its node."),
  tolerations: s.list(tolerationFields).describe("Taints of nodes that it tolerates."),
  hostAliases: mergedInPatches(
    s.listMap(
      s.object({
        ip: s.string().required().describe("The address."),
        hostnames: s.list(s.string()).describe("Names for it."),
      }),
      ["ip"],
    ),
    "ip",
  ).describe("Names for addresses."),
  priorityClassName: s.string().describe("Its PriorityClass."),
  priority: s.int32().describe("Its priority."),
  preemptionPolicy: s.string().describe("PreemptLowerPriority or Never."),
  dnsConfig: s.anyObject().describe("Settings for names."),
  readinessGates: s.list(s.anyObject()).describe("Conditions that have to hold before it is ready."),
  runtimeClassName: s.string().describe("Its RuntimeClass."),
  enableServiceLinks: s.boolean().describe("Whether services become variables."),
  overhead: quantities.describe("What the pod needs beside its containers."),
  topologySpreadConstraints: mergedInPatches(
    s.listMap(spreadFields, ["topologyKey", "whenUnsatisfiable"]),
    "topologyKey",
  ).describe("How pods are spread."),
  os: named("operating system").describe("linux or windows."),
  schedulingGates: mergedInPatches(
    s.listMap(s.object({ name: s.string().required().describe("Name of the gate.") }), ["name"]),
    "name",
  ).describe("What has to go before a node is chosen."),
  resourceClaims: mergedInPatches(
    s.listMap(
      s.object({
        name: s.string().required().describe("Name of the claim in the pod."),
        resourceClaimName: s.string().describe("Name of a ResourceClaim."),
        resourceClaimTemplateName: s.string().describe("Name of a ResourceClaimTemplate."),
      }),
      ["name"],
    ),
    "name",
  ).describe("Claims for devices."),
  resources: s.anyObject().describe("Amounts for the whole pod."),
});

export type PodSpec = Infer<typeof podSpecFields>;
export type Container = NonNullable<PodSpec["containers"]>[number];

export const podTemplateFields = s.object({
  metadata: s.field<ObjectMeta>(objectMetaSchema).describe("Labels and annotations of the pods."),
  spec: podSpecFields.describe("The pods."),
});

export type PodTemplate = Infer<typeof podTemplateFields>;

export const podStatusFields = s.object({
  phase: s.string().describe("Pending, Running, Succeeded, Failed or Unknown."),
  observedGeneration: s.int64().describe("The generation that was last looked at."),
  conditions: mergedInPatches(s.listMap(conditionFields, ["type"]), "type").describe("The state in words."),
  message: s.string().describe("Why it is so, for people to read."),
  reason: s.string().describe("Why it is so, in one word."),
  nominatedNodeName: s.string().describe("The node that is being made free for it."),
  hostIP: s.string().describe("The address of its node."),
  hostIPs: s.list(s.anyObject()).describe("The addresses of its node."),
  podIP: s.string().describe("Its address."),
  podIPs: mergedInPatches(
    s.listMap(s.object({ ip: s.string().required().describe("The address.") }), ["ip"]),
    "ip",
  ).describe("Its addresses."),
  startTime: s.timestamp().describe("When its node took it."),
  initContainerStatuses: s.list(s.anyObject()).describe("The state of its init containers."),
  containerStatuses: s.list(s.anyObject()).describe("The state of its containers."),
  ephemeralContainerStatuses: s.list(s.anyObject()).describe("The state of its ephemeral containers."),
  qosClass: s.string().describe("Guaranteed, Burstable or BestEffort."),
  resize: s.string().describe("How far a change of its amounts has come."),
  resourceClaimStatuses: s.list(s.anyObject()).describe("The state of its claims."),
});
