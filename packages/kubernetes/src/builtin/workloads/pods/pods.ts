// Pods as objects: they are kept, and run nowhere.
// Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go, pkg/printers/internalversion/printers.go (printPod)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { type FieldError, forbiddenError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../../builtin-resource.ts";
import { listAt, objectAt, optionalObjectAt } from "../json-members.ts";
import { labelSelectorText } from "../selector-text.ts";
import { statusStrategy } from "../status-strategy.ts";
import { EPHEMERAL_SUBRESOURCE, validateEphemeralChange, validateEphemeralContainers } from "./ephemeral-containers.ts";
import { NODE_SUBRESOURCES } from "./node-subresources.ts";
import { podTableColumns } from "./pod-columns.ts";
import { withPodDefaults, withPodValues, withTemplateDefaults } from "./pod-defaults.ts";
import { type PodSpec, podSpecFields, podStatusFields, podTemplateFields } from "./pod-fields.ts";
import { qosClassOf } from "./pod-resources.ts";
import { podStatusWarnings, validatePodStatus, withKeptStatus } from "./pod-status.ts";
import { newPodWarnings, podWarnings } from "./pod-warnings.ts";
import { validateImages, validatePodSpec, validateTemplate } from "./validate-pod.ts";

const podFields = s.object({
  spec: podSpecFields,
  status: podStatusFields,
});

export type Pod = KindOf<typeof podFields>;

/** Leaves out the fields of a pod that may change: upstream lets no others through, since a kubelet would not follow. */
function withoutChangeable(spec: PodSpec | undefined): JsonValue {
  const {
    activeDeadlineSeconds: _,
    tolerations: _t,
    terminationGracePeriodSeconds: _g,
    schedulingGates: _s,
    ...rest
  } = spec ?? {};
  const withoutImages = (containers: PodSpec["containers"]) =>
    containers?.map(({ image: _image, ...other }) => other) ?? [];
  // Objects are JSON; only their named types hide it.
  return {
    ...rest,
    containers: withoutImages(rest.containers),
    initContainers: withoutImages(rest.initContainers),
  };
}

const CHANGEABLE =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidatePodUpdate)
function validateChange({ spec: next = {} }: Pod, { spec: old = {} }: Pod): readonly FieldError[] {
  for (const list of ["containers", "initContainers"] as const) {
    if ((next[list] ?? []).length !== (old[list] ?? []).length)
      return [forbiddenError(`spec.${list}`, "pod updates may not add or remove containers")];
  }
  return [
    ...deadlineFaults(next.activeDeadlineSeconds, old.activeDeadlineSeconds),
    ...tolerationFaults(next.tolerations ?? [], old.tolerations ?? []),
    ...(equalJson(withoutChangeable(next), withoutChangeable(withPodDefaults(old)))
      ? []
      : [forbiddenError("spec", CHANGEABLE)]),
  ];
}

type Seconds = PodSpec["activeDeadlineSeconds"];

function deadlineFaults(next: Seconds, old: Seconds): readonly FieldError[] {
  const path = "spec.activeDeadlineSeconds";
  if (old === undefined) return [];
  if (next === undefined) return [invalidError(path, null, "must not update from a positive integer to nil value")];
  return next > old ? [invalidError(path, next, "must be less than or equal to previous value")] : [];
}

type Tolerations = NonNullable<PodSpec["tolerations"]>;

/** Each stays, but for its seconds. */
function tolerationFaults(next: Tolerations, old: Tolerations): readonly FieldError[] {
  const textOf = ({ tolerationSeconds: _, ...rest }: Tolerations[number]): string =>
    JSON.stringify(Object.entries(rest).sort());
  const kept = new Set(next.map(textOf));
  return old.every((each) => kept.has(textOf(each)))
    ? []
    : [forbiddenError("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** A projected token is one of the ServiceAccount of the pod. */
function tokenFaults({ serviceAccountName = "", volumes = [] }: PodSpec = {}): readonly FieldError[] {
  if (serviceAccountName !== "") return [];
  return volumes.flatMap((volume, at) =>
    listAt(objectAt(volume, "projected"), "sources").flatMap((source, index) =>
      optionalObjectAt(source, "serviceAccountToken") === undefined
        ? []
        : [
            forbiddenError(
              `${indexPath(`${indexPath("spec.volumes", at)}.projected.sources`, index)}.serviceAccountToken`,
              "must not be specified when serviceAccountName is not set",
            ),
          ],
    ),
  );
}

const podStrategy = statusStrategy<Pod>(
  ({ spec }) => [...validatePodSpec(spec, "spec"), ...tokenFaults(spec), ...validateImages(spec, "spec")],
  validateChange,
  {
    phase: "Pending",
  },
  validatePodStatus,
);

/** The garbage collector relies on the owners, which clients of the status may not know. */
function withStatus({ metadata, status = {} }: Pod, old: Pod): Pod {
  const { ownerReferences: _, ...others } = metadata;
  const { ownerReferences } = old.metadata;
  return {
    ...old,
    metadata: { ...others, ...(ownerReferences === undefined ? {} : { ownerReferences }) },
    status: withKeptStatus(status, old.status ?? {}),
  };
}

const withServiceClass = (pod: Pod, { status, ...rest }: Pod): Pod => ({
  ...rest,
  status: { ...status, qosClass: qosClassOf(pod.spec) },
});

/** Gates keep a scheduler from the pod, which says so from the beginning. */
const withGates = (pod: Pod): Pod =>
  (pod.spec?.schedulingGates ?? []).length === 0
    ? pod
    : {
        ...pod,
        status: {
          ...pod.status,
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "SchedulingGated",
              message: "Scheduling is blocked due to non-empty scheduling gates",
              lastProbeTime: null,
              lastTransitionTime: null,
            },
          ],
        },
      };

const validateNewPod = ({ spec }: Pod): readonly FieldError[] => [
  ...validatePodSpec(spec, "spec"),
  ...tokenFaults(spec),
  ...validateImages(spec, "spec"),
  ...((spec?.ephemeralContainers ?? []).length > 0
    ? [forbiddenError("spec.ephemeralContainers", "cannot be set on create")]
    : []),
];

/** The name under which the store knows the assignment of a pod to a node. */
export const BINDING_SUBRESOURCE = "binding";

function withEphemeral({ metadata, spec }: Pod, old: Pod): Pod {
  const { ephemeralContainers: _, ...kept } = old.spec ?? {};
  const added = spec?.ephemeralContainers;
  return { ...old, metadata, spec: { ...kept, ...(added === undefined ? {} : { ephemeralContainers: added }) } };
}

const RESIZE_SUBRESOURCE = "resize";

/** Containers that are not there, and other members, are passed over. */
function resized({ metadata, spec = {} }: Pod, old: Pod): Pod {
  const withResources = (before: PodSpec["containers"], after: PodSpec["containers"]) =>
    before?.map((container) => {
      const { resources } = after?.find(({ name }) => name === container.name) ?? {};
      return resources === undefined ? container : { ...container, resources };
    });
  const { containers, initContainers } = old.spec ?? {};
  // Absent lists stay absent.
  return {
    ...old,
    metadata,
    spec: {
      ...old.spec,
      ...(containers === undefined ? {} : { containers: withResources(containers, spec.containers) }),
      ...(initContainers === undefined ? {} : { initContainers: withResources(initContainers, spec.initContainers) }),
    },
  } as Pod;
}

// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidatePodResize)
function validateResize({ spec }: Pod, old: Pod): readonly FieldError[] {
  const before = qosClassOf(old.spec);
  return qosClassOf(spec) === before
    ? []
    : [invalidError("spec", before, "Pod QOS Class may not change as a result of resizing")];
}

type Phased = { readonly status?: { readonly phase?: string | undefined } | undefined };

/** Whether all its containers have ended, for good. */
export const hasEnded = ({ status }: Phased): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Whether the condition Ready holds. */
export const isPodReady = ({ status }: Pick<Pod, "status">): boolean =>
  (status?.conditions ?? []).some(({ type, status: holds }) => type === "Ready" && holds === "True");

export const pods: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  returnsDeletedObject: true,
  shortNames: ["po"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(podFields.schema),
  subresources: [
    ...NODE_SUBRESOURCES,
    {
      name: EPHEMERAL_SUBRESOURCE,
      kind: { group: "", version: "v1", kind: "Pod" },
      description: "Adds ephemeral containers to the pod, and changes nothing else of it.",
      // Both have gone through the schema of the kind.
      updates: (submitted, old) => withEphemeral(submitted as Pod, old as Pod),
    },
    {
      name: RESIZE_SUBRESOURCE,
      kind: { group: "", version: "v1", kind: "Pod" },
      description: "Changes the resources of containers, and nothing else of the pod.",
      // As above.
      updates: (submitted, old) => resized(submitted as Pod, old as Pod),
    },
  ],
  selectableFields: [
    ".spec.nodeName",
    ".spec.restartPolicy",
    ".spec.schedulerName",
    ".spec.serviceAccountName",
    ".status.phase",
    ".status.nominatedNodeName",
  ],
  // Stored objects have passed the schema of the kind.
  computedFields: {
    "spec.host": (pod) => (pod as Pod).spec?.nodeName ?? "",
    "spec.hostNetwork": (pod) => String((pod as Pod).spec?.hostNetwork ?? false),
    "status.podIP": (pod) => (pod as Pod).status?.podIPs?.[0]?.ip ?? "",
    // Upstream takes the name, and has no value for it.
    "status.podIPs": () => "",
  },
  columns: podTableColumns,
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const pod = object as Pod;
    return { ...pod, spec: { enableServiceLinks: true, ...withPodValues(withPodDefaults(pod.spec ?? {})) } };
  },
  strategy: {
    marksDeleted: true,
    gracePeriodOf: ({ spec = {}, status = {} }: Pod, asked) =>
      (spec.nodeName ?? "") === "" || status.phase === "Failed" || status.phase === "Succeeded"
        ? 0
        : (asked ?? Number(spec.terminationGracePeriodSeconds ?? 0)),
    ...podStrategy,
    prepareForCreate: async (pod: Pod, context: RequestContext) =>
      withGates(withServiceClass(pod, (await podStrategy.prepareForCreate?.(pod, context)) ?? pod)),
    validate: validateNewPod,
    warningsOnCreate: newPodWarnings,
    // A binding changes what others may not.
    prepareForUpdate(pod: Pod, old: Pod, context: RequestContext) {
      const { subresource } = context.info;
      if (subresource === BINDING_SUBRESOURCE) return pod;
      return subresource === "status"
        ? withStatus(pod, old)
        : (podStrategy.prepareForUpdate?.(pod, old, context) ?? pod);
    },
    warningsOnUpdate: (pod: Pod, _old: Pod, { info }: RequestContext) =>
      info.subresource === "status" ? podStatusWarnings(pod) : [],
    validateUpdate(pod: Pod, old: Pod, context: RequestContext) {
      const { subresource } = context.info;
      if (subresource === BINDING_SUBRESOURCE) return [];
      if (subresource === RESIZE_SUBRESOURCE)
        return [...validatePodSpec(pod.spec, "spec"), ...validateResize(pod, old)];
      if (subresource !== EPHEMERAL_SUBRESOURCE) return podStrategy.validateUpdate?.(pod, old, context) ?? [];
      const [spec = {}, before = {}] = [pod.spec, old.spec];
      return [
        ...validatePodSpec(spec, "spec"),
        ...validateEphemeralContainers(spec),
        ...validateEphemeralChange(spec, before),
      ];
    },
  },
});

const templateFields = s.object({
  template: podTemplateFields,
});

type PodTemplateObject = KindOf<typeof templateFields>;

const containerNames = (spec: PodSpec | undefined): string =>
  (spec?.containers ?? []).map(({ name }) => name).join(",");
const containerImages = (spec: PodSpec | undefined): string =>
  (spec?.containers ?? []).map(({ image = "" }) => image).join(",");

/** The names and images of the containers, for Tables. */
export const containerColumns = (specOf: (object: KubeObject) => PodSpec | undefined): readonly PrinterColumn[] => [
  {
    name: "Containers",
    type: "string",
    value: (object) => containerNames(specOf(object)),
  },
  {
    name: "Images",
    type: "string",
    value: (object) => containerImages(specOf(object)),
  },
];

export const podTemplates: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  tracksGeneration: true,
  returnsDeletedObject: true,
  namespaced: true,
  schema: kindSchema(templateFields.schema),
  columns: [
    ...containerColumns((o) => (o as PodTemplateObject).template?.spec),
    {
      name: "Pod Labels",
      type: "string",
      value: (o) => labelSelectorText({ matchLabels: (o as PodTemplateObject).template?.metadata?.labels ?? {} }),
    },
  ],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const { template = {} } = object as PodTemplateObject;
    return { ...object, template: withTemplateDefaults(template) } as KubeObject;
  },
  strategy: {
    allowUnconditionalUpdate: true,
    validate: (object) => validateTemplate((object as PodTemplateObject).template, "template"),
    validateUpdate: (object) => validateTemplate((object as PodTemplateObject).template, "template"),
    warningsOnCreate: (object) => podWarnings((object as PodTemplateObject).template, "template"),
  },
});

/** The names, images and selector of a workload, for wide Tables. StatefulSets do not show the selector. */
export const podColumns = (
  selectorOf: (object: KubeObject) => string,
  specOf: (object: KubeObject) => PodSpec | undefined,
): readonly PrinterColumn[] => [...containerColumns(specOf), selectorColumn(selectorOf)];

const selectorColumn = (value: (object: KubeObject) => string): PrinterColumn => ({
  name: "Selector",
  type: "string",
  value,
});

export const durationBetween = (
  start: string | null | undefined,
  end: string | null | undefined,
  now: number,
): string => {
  if (start === undefined || start === null) return "";
  const until = end === undefined || end === null ? now : Date.parse(end);
  return humanDuration(until - Date.parse(start));
};
