// Requirements of a pod, and of a workload that makes pods, beyond its schema: those every client relies on, not those of a kubelet.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidatePodSpec), pkg/apis/apps/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { SelectorError } from "@postern/apimachinery/selectors/label-requirement";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notFoundFieldError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { validateAnnotations, validateLabelSelector, validateLabels } from "@postern/apimachinery/validation/labels";
import { isDNS1123Label } from "@postern/apimachinery/validation/string-validators";
import type { Container, PodSpec, PodTemplate } from "./pod-fields.ts";
import type { LabelSelector } from "./selector-text.ts";

export function validatePodSpec(
  spec: PodSpec | undefined,
  path: string,
  restarts: readonly string[] = RESTARTS,
): readonly FieldError[] {
  const { containers = [], initContainers = [], volumes = [], restartPolicy = "" } = spec ?? {};
  const names = new Set<string>();
  const volumeNames = new Set(volumes.map(({ name }) => name));
  return [
    ...volumes.flatMap(({ name }, index) => labelFaults(name, `${indexPath(`${path}.volumes`, index)}.name`)),
    ...(containers.length === 0 ? [requiredError(`${path}.containers`)] : []),
    ...containers.flatMap((each, index) =>
      validateContainer(each, indexPath(`${path}.containers`, index), names, volumeNames),
    ),
    ...initContainers.flatMap((each, index) =>
      validateContainer(each, indexPath(`${path}.initContainers`, index), names, volumeNames),
    ),
    ...(restarts.includes(restartPolicy) ? [] : [notSupportedError(`${path}.restartPolicy`, restartPolicy, restarts)]),
  ];
}

const RESTARTS = ["Always", "Never", "OnFailure"];

const labelFaults = (name: string, path: string): readonly FieldError[] =>
  name === "" ? [requiredError(path)] : isDNS1123Label(name).map((fault) => invalidError(path, name, fault));

function validateContainer(
  { name, image = "", volumeMounts = [] }: Container,
  path: string,
  names: Set<string>,
  volumes: ReadonlySet<string>,
): readonly FieldError[] {
  const isTwice = names.has(name);
  names.add(name);
  return [
    ...labelFaults(name, `${path}.name`),
    ...(isTwice ? [duplicateError(`${path}.name`, name)] : []),
    ...(image === "" ? [requiredError(`${path}.image`)] : []),
    ...volumeMounts.flatMap((mount, index) =>
      volumes.has(mount.name)
        ? []
        : [notFoundFieldError(`${indexPath(`${path}.volumeMounts`, index)}.name`, mount.name)],
    ),
  ];
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

/**
 * All that kube-apiserver checks of the pods of a StatefulSet: their volumes may come from `volumeClaimTemplates`, and it has never made out
 * which do.
 */
export const validateRestarts: typeof validatePodSpec = (spec, path, restarts = RESTARTS) =>
  restarts.includes(spec?.restartPolicy ?? "")
    ? []
    : [notSupportedError(`${path}.restartPolicy`, spec?.restartPolicy ?? "", restarts)];

/** The name of the kind where its selector is empty. ReplicaSets share the text of Deployments. */
const EMPTY_FOR = { ReplicaSet: "deployment", StatefulSet: "statefulset", DaemonSet: "daemonset" } as const;

/** A workload has to find the pods that it makes. A Deployment is checked as its ReplicaSets, as upstream does. */
export function validateSelectedTemplate(
  { spec }: Workload,
  kind: "ReplicaSet" | "StatefulSet" | "DaemonSet" = "ReplicaSet",
  pods: typeof validatePodSpec = validatePodSpec,
): readonly FieldError[] {
  const { selector, template } = spec ?? {};
  const labels = template?.metadata?.labels ?? {};
  const isEmpty =
    selector === undefined ||
    (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);
  const faults: FieldError[] = [];
  if (selector === undefined) faults.push(requiredError("spec.selector"), unmatched(labels));
  else if (isEmpty) faults.push(invalidError("spec.selector", {}, `empty selector is invalid for ${EMPTY_FOR[kind]}`));
  else faults.push(...validateSelected(selector, labels));
  const deadline = template?.spec?.activeDeadlineSeconds;
  return [
    ...faults,
    ...validateTemplate(template, "spec.template", pods, ["Always"]),
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
  labels: { readonly [label: string]: string },
): readonly FieldError[] {
  const invalid = invalidError("spec.selector", selector as JsonValue, "invalid label selector");
  const faults = validateLabelSelector(selector, "spec.selector");
  if (faults.length > 0) return [...faults, invalid];
  try {
    // With faults ruled out, no expression is without its key and operator.
    return selectorFromLabelSelector(selector as never).matches(labels) ? [] : [unmatched(labels)];
  } catch (error) {
    // A `SelectorError` follows from the values of an expression.
    if (!(error instanceof SelectorError)) throw error;
    return [invalid];
  }
}

const unmatched = (labels: { readonly [label: string]: string }): FieldError =>
  invalidError("spec.template.metadata.labels", labels, "`selector` does not match template `labels`");

export const validateSameSelector = (next: Workload, old: Workload): readonly FieldError[] =>
  equalJson((next.spec?.selector ?? null) as JsonValue, (old.spec?.selector ?? null) as JsonValue)
    ? []
    : [invalidError("spec.selector", (next.spec?.selector ?? null) as JsonValue, "field is immutable")];
