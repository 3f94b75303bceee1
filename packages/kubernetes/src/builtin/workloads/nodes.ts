// Nodes as objects: a cluster without nodes serves the kind, because tools list and watch it. Nothing runs on those that clients write.
// Source: k8s.io/kubernetes/pkg/registry/core/node/strategy.go, pkg/apis/core/validation/validation.go (ValidateNode), pkg/printers/internalversion/printers.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isQualifiedName, isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { networkWarnings } from "../address-warnings.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { networkFaults } from "../field-checks.ts";
import { publishedField } from "../published/published-field.ts";
import { quantities } from "../quotas/quantities.ts";
import { statusStrategy, warningHooks } from "./status-strategy.ts";
import { TAINT_EFFECTS } from "./validate-scheduling.ts";

const taint = s.object({
  key: s.string().required().describe("The taint key to be applied to a node."),
  value: s.string().describe("The taint value corresponding to the taint key."),
  effect: s
    .string()
    .required()
    .describe(
      "The effect of the taint on pods that do not tolerate the taint. Valid effects are NoSchedule, PreferNoSchedule and NoExecute.",
    ),
  timeAdded: s.timestamp().nullable().describe("TimeAdded represents the time at which the taint was added."),
});

const condition = s.object({
  type: s.string().required().describe("Type of node condition."),
  status: s.string().required().describe("Status of the condition, one of True, False, Unknown."),
  lastHeartbeatTime: s.timestamp().nullable().describe("Last time we got an update on a given condition."),
  lastTransitionTime: s.timestamp().nullable().describe("Last time the condition transit from one status to another."),
  reason: s.string().describe("(brief) reason for the condition's last transition."),
  message: s.string().describe("Human readable message indicating details about last transition."),
});

const address = s.object({
  type: s.string().required().describe("Node address type, one of Hostname, ExternalIP or InternalIP."),
  address: s.string().required().describe("The node address."),
});

const systemInfo = s.object({
  machineID: s.string().describe("MachineID reported by the node."),
  systemUUID: s.string().describe("SystemUUID reported by the node."),
  bootID: s.string().describe("Boot ID reported by the node."),
  kernelVersion: s.string().describe("Kernel Version reported by the node."),
  osImage: s.string().describe("OS Image reported by the node."),
  containerRuntimeVersion: s.string().describe("ContainerRuntime Version reported by the node."),
  kubeletVersion: s.string().describe("Kubelet Version reported by the node."),
  kubeProxyVersion: s.string().describe("Deprecated: KubeProxy Version reported by the node."),
  operatingSystem: s.string().describe("The Operating System reported by the node."),
  architecture: s.string().describe("The Architecture reported by the node."),
  swap: publishedField<JsonObject>("NodeSwapStatus"),
});

const nodeFields = s
  .object({
    spec: s
      .object({
        podCIDR: s.string().describe("PodCIDR represents the pod IP range assigned to the node."),
        podCIDRs: mergedInPatches(s.set(s.string())).describe(
          "podCIDRs represents the IP ranges assigned to the node for usage by pods on that node.",
        ),
        providerID: s.string().describe("ID of the node assigned by the cloud provider."),
        unschedulable: s.boolean().describe("Unschedulable controls node schedulability of new pods."),
        taints: s.list(taint).describe("If specified, the node's taints."),
        configSource: publishedField<JsonObject>("NodeConfigSource"),
        externalID: s.string().describe("Deprecated. Not all kubelets will set this field."),
      })
      .describe("Spec defines the behavior of a node."),
    status: s
      .object({
        capacity: quantities.describe("Capacity represents the total resources of a node."),
        allocatable: quantities.describe(
          "Allocatable represents the resources of a node that are available for scheduling.",
        ),
        phase: s.string().describe("NodePhase is the recently observed lifecycle phase of the node."),
        conditions: mergedInPatches(s.listMap(condition, ["type"]), "type").describe(
          "Conditions is an array of current observed node conditions.",
        ),
        addresses: mergedInPatches(s.listMap(address, ["type"]), "type").describe(
          "List of addresses reachable to the node.",
        ),
        daemonEndpoints: publishedField<JsonObject>("NodeDaemonEndpoints"),
        nodeInfo: systemInfo.describe("Set of ids/uuids to uniquely identify the node."),
        images: s.list(publishedField<JsonObject>("ContainerImage")).describe("List of container images on this node."),
        volumesInUse: s.list(s.string()).describe("List of attachable volumes in use (mounted) by the node."),
        volumesAttached: s
          .list(publishedField<JsonObject>("AttachedVolume"))
          .describe("List of volumes that are attached to the node."),
        config: publishedField<JsonObject>("NodeConfigStatus"),
        runtimeHandlers: s
          .list(publishedField<JsonObject>("NodeRuntimeHandler"))
          .describe("The available runtime handlers."),
        features: publishedField<JsonObject>("NodeFeatures"),
        declaredFeatures: s
          .list(s.string())
          .describe("DeclaredFeatures represents the features related to feature gates."),
      })
      .describe("Most recently observed status of the node."),
  })
  .describe(
    "Node is a worker node in Kubernetes. Here it is kept as an object: no kubelet follows it, and no pods run on it.",
  );

export type Node = KindOf<typeof nodeFields>;
export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

const validateTaints = (taints: readonly Taint[], path: string): readonly FieldError[] => {
  const seen = new Set<string>();
  return taints.flatMap(({ key, value = "", effect }, index) => {
    const at = indexPath(path, index);
    const name = JSON.stringify([key, effect]);
    const isTwice = seen.has(name);
    seen.add(name);
    return [
      ...isQualifiedName(key).map((fault) => invalidError(`${at}.key`, key, fault)),
      ...isValidLabelValue(value).map((fault) => invalidError(`${at}.value`, value, fault)),
      ...(effect === ""
        ? [requiredError(`${at}.effect`)]
        : TAINT_EFFECTS.includes(effect)
          ? []
          : [notSupportedError(`${at}.effect`, effect, TAINT_EFFECTS)]),
      ...(isTwice
        ? [
            duplicateError(
              at,
              key,
              `${JSON.stringify({ key, value, effect })}: taints must be unique by key and effect pair`,
            ),
          ]
        : []),
    ];
  });
};

/** Upstream looks for them in the metadata. */
const validate = ({ spec }: Node): readonly FieldError[] => [
  ...validateTaints(spec?.taints ?? [], "metadata.taints"),
  ...(spec?.podCIDRs ?? []).flatMap((network, index) => networkFaults(indexPath("spec.podCIDRs", index), network)),
];

/** A range or provider that is set stays; all else but labels, annotations, taints and the mark of a cordon is the node's own. */
function validateChange({ spec = {} }: Node, { spec: old = {} }: Node): readonly FieldError[] {
  const isSet = (range: readonly string[] | undefined): boolean => (range ?? []).length > 0;
  return [
    ...(isSet(old.podCIDRs) && !equalJson(spec.podCIDRs, old.podCIDRs)
      ? [forbiddenError("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')]
      : []),
    ...((old.providerID ?? "") !== "" && spec.providerID !== old.providerID
      ? [forbiddenError("spec.providerID", 'node updates may not change providerID except from "" to valid')]
      : []),
  ];
}

// Stored objects have passed the schema of their kind, here and below.
const statusOf = ({ spec, status }: Node): string => {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${state},SchedulingDisabled` : state;
};

const ROLE_PREFIX = "node-role.kubernetes.io/";

const rolesOf = ({ metadata }: Node): string => {
  const roles = Object.keys(metadata.labels ?? {})
    .filter((label) => label.startsWith(ROLE_PREFIX) && label.length > ROLE_PREFIX.length)
    .map((label) => label.slice(ROLE_PREFIX.length));
  return roles.length === 0 ? "<none>" : roles.sort().join(",");
};

const addressOf = ({ status }: Node, kind: string): string =>
  status?.addresses?.find(({ type }) => type === kind)?.address ?? "<none>";

const known = (value: string | undefined): string => (value === undefined || value === "" ? "<unknown>" : value);

const wide = (name: string, description: string, of: (node: Node) => string): PrinterColumn => ({
  name,
  type: "string",
  priority: 1,
  description,
  value: (o) => of(o as Node),
});

type SystemInfo = NonNullable<Node["status"]>["nodeInfo"];

/** With the architecture that it is built for. */
function kernelText({ kernelVersion = "", architecture = "" }: NonNullable<SystemInfo> = {}): string {
  return kernelVersion === "" || architecture === "" ? known(kernelVersion) : `${kernelVersion} (${architecture})`;
}

const columns: readonly PrinterColumn[] = [
  { name: "Status", type: "string", description: "The status of the node.", value: (o) => statusOf(o as Node) },
  { name: "Roles", type: "string", description: "The roles of the node.", value: (o) => rolesOf(o as Node) },
  ageColumn,
  {
    name: "Version",
    type: "string",
    description: "Kubelet Version reported by the node.",
    value: (o) => (o as Node).status?.nodeInfo?.kubeletVersion ?? "",
  },
  wide("Internal-IP", "List of addresses reachable to the node.", (node) => addressOf(node, "InternalIP")),
  wide("External-IP", "List of addresses reachable to the node.", (node) => addressOf(node, "ExternalIP")),
  wide("OS-Image", "OS Image reported by the node.", ({ status }) => known(status?.nodeInfo?.osImage)),
  wide("Kernel-Version", "Kernel Version reported by the node.", ({ status }) => kernelText(status?.nodeInfo)),
  wide("Container-Runtime", "ContainerRuntime Version reported by the node.", ({ status }) =>
    known(status?.nodeInfo?.containerRuntimeVersion),
  ),
];

/** Where only one of podCIDR and podCIDRs was written, the other follows it. */
function withRanges(node: Node): Node {
  const { podCIDR = "", podCIDRs = [] } = node.spec ?? {};
  if (podCIDR === "" && podCIDRs.length === 0) return node;
  const [first = podCIDR] = podCIDRs;
  return {
    ...node,
    spec: { ...node.spec, podCIDR: podCIDR || first, podCIDRs: podCIDRs.length === 0 ? [first] : podCIDRs },
  };
}

/** All capacity is allocatable unless the client says less; absent times are null, as Go writes them. */
function withStatusDefaults(node: Node): Node {
  const { status } = node;
  if (status === undefined) return node;
  const { capacity, allocatable = capacity, conditions } = status;
  const timed = conditions?.map((each) => ({ lastHeartbeatTime: null, lastTransitionTime: null, ...each }));
  return {
    ...node,
    status: {
      ...status,
      ...(allocatable === undefined ? {} : { allocatable }),
      ...(timed === undefined ? {} : { conditions: timed }),
    },
  };
}

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" } as const;

/**
 * A new node takes no pods until the node controller has seen it.
 * Source: k8s.io/kubernetes/plugin/pkg/admission/nodetaint/admission.go
 */
function withNotReady({ spec, ...node }: Node): Node {
  const { taints = [] } = spec ?? {};
  const has = taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect);
  return { ...node, spec: has ? { ...spec } : { ...spec, taints: [...taints, NOT_READY] } };
}

const nodeStrategy = statusStrategy<Node>(validate, validateChange);

const nodeWarnings = ({ spec = {} }: Node): readonly string[] => [
  ...((spec.externalID ?? "") === "" ? [] : ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
  ...(spec.podCIDRs ?? []).flatMap((network, index) => networkWarnings(indexPath("spec.podCIDRs", index), network)),
];

export const nodes: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  shortNames: ["no"],
  namespaced: false,
  hasStatus: true,
  takesNewStatus: true,
  schema: kindSchema(nodeFields.schema),
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => withRanges(withStatusDefaults(object as Node)) as KubeObject,
  computedFields: { "spec.unschedulable": (o) => String((o as Node).spec?.unschedulable === true) },
  columns,
  strategy: {
    ...nodeStrategy,
    ...warningHooks(nodeWarnings),
    // A kubelet sends its status when it registers.
    async prepareForCreate(node: Node, context: RequestContext) {
      const made = (await nodeStrategy.prepareForCreate?.(node, context)) ?? node;
      return withNotReady({ ...made, status: { ...made.status, ...node.status } });
    },
  },
});
