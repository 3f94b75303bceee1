// Requirements of a pod, and of a workload that makes pods, beyond its schema: those every client relies on, not those of a kubelet.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidatePodSpec), pkg/apis/apps/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { SelectorError } from "@postern/apimachinery/selectors/label-requirement";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { validateAnnotations, validateLabelSelector, validateLabels } from "@postern/apimachinery/validation/labels";
import { choiceFaults } from "../../field-checks.ts";
import { listAt, optionalObjectAt, optionalTextAt, textAt } from "../json-members.ts";
import type { LabelSelector } from "../selector-text.ts";
import type { PodSpec, PodTemplate } from "./pod-fields.ts";
import { validateContainers, validateInitProbes } from "./validate-containers.ts";
import { validateVolumes } from "./validate-pod-volumes.ts";
import { validateScheduling } from "./validate-scheduling.ts";

export function validatePodSpec(
  spec: PodSpec | undefined,
  path: string,
  restarts: readonly string[] = RESTARTS,
): readonly FieldError[] {
  const pod = spec ?? {};
  const [volumes, containers] = [listAt(pod, "volumes"), listAt(pod, "containers")];
  const initContainers = listAt(pod, "initContainers");
  const names = new Set<string>();
  const parts = {
    volumes: new Set(volumes.map((volume) => textAt(volume, "name"))),
    isHostNetwork: pod["hostNetwork"] === true,
  };
  const dnsPolicy = optionalTextAt(pod, "dnsPolicy");
  return [
    ...validateVolumes(volumes, `${path}.volumes`),
    ...(containers.length === 0 ? [requiredError(`${path}.containers`)] : []),
    ...validateContainers(containers, `${path}.containers`, names, parts),
    ...validateContainers(initContainers, `${path}.initContainers`, names, parts),
    ...validateInitProbes(initContainers, `${path}.initContainers`),
    ...restartFaults(spec?.restartPolicy, `${path}.restartPolicy`, restarts),
    ...choiceFaults(`${path}.dnsPolicy`, dnsPolicy, DNS_POLICIES),
    ...(dnsPolicy === "None" && optionalObjectAt(pod, "dnsConfig") === undefined
      ? [requiredError(`${path}.dnsConfig`, "must provide `dnsConfig` when `dnsPolicy` is None")]
      : []),
    ...validateScheduling(pod, path),
  ];
}

/** The images of a pod itself: a template may keep such names for ever. */
export const validateImages = (spec: PodSpec | undefined, path: string): readonly FieldError[] =>
  (["containers", "initContainers"] as const).flatMap((name) =>
    (spec?.[name] ?? []).flatMap(({ image = "" }, index) =>
      image.trim() === image
        ? []
        : [
            invalidError(
              `${indexPath(`${path}.${name}`, index)}.image`,
              image,
              "must not have leading or trailing whitespace",
            ),
          ],
    ),
  );

const RESTARTS = ["Always", "OnFailure", "Never"];
const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
/** Pods of a Job end. */
const OF_JOBS = ["OnFailure", "Never"];

function restartFaults(policy = "", path: string, allowed: readonly string[]): readonly FieldError[] {
  if (allowed.includes(policy)) return [];
  const isOfJob = allowed.length === OF_JOBS.length && OF_JOBS.every((each) => allowed.includes(each));
  if (isOfJob) return [requiredError(path, 'valid values: "OnFailure", "Never"')];
  return [notSupportedError(path, policy, allowed)];
}

type Workload = {
  readonly spec?:
    | { readonly selector?: LabelSelector | undefined; readonly template?: PodTemplate | undefined }
    | undefined;
};

/** Validates a pod template. `spec` checks the pods: those of a StatefulSet are not checked as a whole template. */
export const validateTemplate = (
  template: PodTemplate | undefined,
  path: string,
  spec: typeof validatePodSpec = validatePodSpec,
  restarts?: readonly string[],
): readonly FieldError[] => [
  ...validateLabels(template?.metadata?.labels, `${path}.labels`),
  ...validateAnnotations(template?.metadata?.annotations, `${path}.annotations`),
  ...spec(template?.spec, `${path}.spec`, restarts),
  ...(spec === validatePodSpec && (template?.spec?.ephemeralContainers ?? []).length > 0
    ? [forbiddenError(`${path}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template")]
    : []),
];

/** All that is checked of the pods of a StatefulSet whose template was stored before it was checked. */
export const validateRestarts: typeof validatePodSpec = (spec, path, restarts = RESTARTS) =>
  restartFaults(spec?.restartPolicy, `${path}.restartPolicy`, restarts);

/** The name of the kind where its selector is empty. ReplicaSets share the text of Deployments. */
const EMPTY_FOR = { ReplicaSet: "deployment", StatefulSet: "statefulset", DaemonSet: "daemonset" } as const;

/** A workload has to find the pods that it makes. A Deployment is checked as its ReplicaSets, as upstream does. */
export function validateSelectedTemplate(
  { spec }: Workload,
  kind: "ReplicaSet" | "StatefulSet" | "DaemonSet" = "ReplicaSet",
  pods: typeof validatePodSpec = validatePodSpec,
): readonly FieldError[] {
  const { selector, template } = spec ?? {};
  const labels = template?.metadata?.labels;
  const isEmpty =
    selector === undefined ||
    (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);
  const faults: FieldError[] = [];
  if (selector === undefined) faults.push(requiredError("spec.selector"), unmatched(labels));
  else if (isEmpty) faults.push(invalidError("spec.selector", {}, `empty selector is invalid for ${EMPTY_FOR[kind]}`));
  else faults.push(...validateSelected(selector, labels, kind));
  const deadline = template?.spec?.activeDeadlineSeconds;
  // Except for this kind, upstream does not read the template where the selector means nothing.
  const isUnread = kind !== "DaemonSet" && !isEmpty && faults.some(({ field }) => field === "spec.selector");
  return [
    ...faults,
    ...(isUnread ? [] : validateTemplate(template, "spec.template", pods, ["Always"])),
    ...(deadline === undefined
      ? []
      : [
          forbiddenError(
            "spec.template.spec.activeDeadlineSeconds",
            `activeDeadlineSeconds in ${kind} is not Supported`,
          ),
        ]),
  ];
}

function validateSelected(
  selector: LabelSelector,
  labels: { readonly [label: string]: string } | undefined,
  kind: keyof typeof EMPTY_FOR,
): readonly FieldError[] {
  const invalid = invalidError(
    "spec.selector",
    selector as JsonValue,
    kind === "StatefulSet" ? "" : "invalid label selector",
  );
  const faults = validateLabelSelector(selector, "spec.selector");
  if (faults.length > 0) return kind === "DaemonSet" ? faults : [...faults, invalid];
  try {
    // With faults ruled out, no expression is without its key and operator.
    return selectorFromLabelSelector(selector as never).matches(labels ?? {}) ? [] : [unmatched(labels)];
  } catch (error) {
    // A `SelectorError` follows from the values of an expression.
    if (!(error instanceof SelectorError)) throw error;
    return [invalid];
  }
}

export const unmatched = (labels: { readonly [label: string]: string } | undefined): FieldError =>
  invalidError(
    "spec.template.metadata.labels",
    labels,
    "`selector` does not match template `labels`",
    labels === undefined ? "null" : undefined,
  );

export const validateSameSelector = (next: Workload, old: Workload): readonly FieldError[] =>
  equalJson((next.spec?.selector ?? null) as JsonValue, (old.spec?.selector ?? null) as JsonValue)
    ? []
    : [invalidError("spec.selector", (next.spec?.selector ?? null) as JsonValue, "field is immutable")];
