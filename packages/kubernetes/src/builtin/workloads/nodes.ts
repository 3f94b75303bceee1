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
} from "@postern/apimachinery/validation/field-error";
import { isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { networkWarnings } from "../address-warnings.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { networkFaults, qualifiedFaults, requiredChoice, textFaults } from "../field-checks.ts";
import { publishedField } from "../published/published-field.ts";
import { quantities } from "../quotas/quantities.ts";
import { TAINT_EFFECTS } from "./pods/validate-scheduling.ts";
import { statusStrategy, warningHooks } from "./status-strategy.ts";

const taint = s.object({
  key: s.string().required(),
  value: s.string(),
  effect: s.string().required(),
  timeAdded: s.timestamp().nullable(),
});

const condition = s.object({
  type: s.string().required(),
  status: s.string().required(),
  lastHeartbeatTime: s.timestamp().nullable(),
  lastTransitionTime: s.timestamp().nullable(),
  reason: s.string(),
  message: s.string(),
});

const address = s.object({
  type: s.string().required(),
  address: s.string().required(),
});

const systemInfo = s.object({
  machineID: s.string(),
  systemUUID: s.string(),
  bootID: s.string(),
  kernelVersion: s.string(),
  osImage: s.string(),
  containerRuntimeVersion: s.string(),
  kubeletVersion: s.string(),
  kubeProxyVersion: s.string(),
  operatingSystem: s.string(),
  architecture: s.string(),
  swap: publishedField<JsonObject>("NodeSwapStatus"),
});

const nodeFields = s.object({
  spec: s.object({
    podCIDR: s.string(),
    podCIDRs: mergedInPatches(s.set(s.string())),
    providerID: s.string(),
    unschedulable: s.boolean(),
    taints: s.list(taint),
    configSource: publishedField<JsonObject>("NodeConfigSource"),
    externalID: s.string(),
  }),
  status: s.object({
    capacity: quantities,
    allocatable: quantities,
    phase: s.string(),
    conditions: mergedInPatches(s.listMap(condition, ["type"]), "type"),
    addresses: mergedInPatches(s.listMap(address, ["type"]), "type"),
    daemonEndpoints: publishedField<JsonObject>("NodeDaemonEndpoints"),
    nodeInfo: systemInfo,
    images: s.list(publishedField<JsonObject>("ContainerImage")),
    volumesInUse: s.list(s.string()),
    volumesAttached: s.list(publishedField<JsonObject>("AttachedVolume")),
    config: publishedField<JsonObject>("NodeConfigStatus"),
    runtimeHandlers: s.list(publishedField<JsonObject>("NodeRuntimeHandler")),
    features: publishedField<JsonObject>("NodeFeatures"),
    declaredFeatures: s.list(s.string()),
  }),
});

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
      ...qualifiedFaults(`${at}.key`, key),
      ...textFaults(`${at}.value`, value, isValidLabelValue),
      ...requiredChoice(`${at}.effect`, effect, TAINT_EFFECTS),
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

const wide = (name: string, of: (node: Node) => string): PrinterColumn => ({
  name,
  type: "string",
  value: (o) => of(o as Node),
});

type SystemInfo = NonNullable<Node["status"]>["nodeInfo"];

/** With the architecture that it is built for. */
function kernelText({ kernelVersion = "", architecture = "" }: NonNullable<SystemInfo> = {}): string {
  return kernelVersion === "" || architecture === "" ? known(kernelVersion) : `${kernelVersion} (${architecture})`;
}

const columns: readonly PrinterColumn[] = [
  { name: "Status", type: "string", value: (o) => statusOf(o as Node) },
  { name: "Roles", type: "string", value: (o) => rolesOf(o as Node) },
  ageColumn,
  {
    name: "Version",
    type: "string",
    value: (o) => (o as Node).status?.nodeInfo?.kubeletVersion ?? "",
  },
  wide("Internal-IP", (node) => addressOf(node, "InternalIP")),
  wide("External-IP", (node) => addressOf(node, "ExternalIP")),
  wide("OS-Image", ({ status }) => known(status?.nodeInfo?.osImage)),
  wide("Kernel-Version", ({ status }) => kernelText(status?.nodeInfo)),
  wide("Container-Runtime", ({ status }) => known(status?.nodeInfo?.containerRuntimeVersion)),
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
