// Refuses pods that the labels of their namespace do not allow, and warns of workloads whose pods would be refused (ADR 297).
// Source: k8s.io/pod-security-admission/admission/admission.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { listAt, objectAt, textAt } from "../json-members.ts";
import { type Violation, violationsOf } from "./pod-checks.ts";
import { isStricter, type LevelVersion, levelText, securityLabelFaults, securityPolicyOf } from "./security-levels.ts";

/** The path to the template of pods, for each kind that has one. */
const TEMPLATES: readonly (readonly [group: string, resource: string, path: readonly string[]])[] = [
  ["", "podtemplates", ["template"]],
  ["", "replicationcontrollers", ["spec", "template"]],
  ["apps", "daemonsets", ["spec", "template"]],
  ["apps", "deployments", ["spec", "template"]],
  ["apps", "replicasets", ["spec", "template"]],
  ["apps", "statefulsets", ["spec", "template"]],
  ["batch", "cronjobs", ["spec", "jobTemplate", "spec", "template"]],
  ["batch", "jobs", ["spec", "template"]],
];

/** Pods that a new level of their namespace is tried on. */
const MAX_TRIED = 3_000;
const CHECKED_SUBRESOURCES = ["", "ephemeralcontainers", "resize"];

export type PodSecurityDeps = { readonly namespaces: InstalledResource; readonly pods: InstalledResource };

export function createPodSecurityAdmission({ namespaces, pods }: PodSecurityDeps): readonly AdmissionPlugin[] {
  const policyOf = (namespace: string) =>
    securityPolicyOf(namespaces.view.get(namespaces.keys.of("", namespace))?.labels);
  const name = "PodSecurity";

  function checkPod(attributes: AdmissionAttributes): void {
    const { operation, subresource, object, oldObject, context, namespace } = attributes;
    const isWrite = operation === "create" || operation === "update";
    if (!isWrite || object === undefined || !CHECKED_SUBRESOURCES.includes(subresource)) return;
    if (operation === "update" && oldObject !== undefined && hasSameImages(object, oldObject)) return;
    const policy = policyOf(namespace);
    const { enforce } = policy;
    const refused = violationsIn(object, enforce);
    if (refused.length > 0) throw forbiddenByAdmission(attributes, `violates ${textOf(enforce, refused)}`);
    warn(context, object, policy.warn);
  }

  const checkTemplate =
    (path: readonly string[]) =>
    ({ operation, subresource, object, context, namespace }: AdmissionAttributes): void => {
      if ((operation !== "create" && operation !== "update") || subresource !== "" || object === undefined) return;
      const template = path.reduce<JsonObject>((part, member) => objectAt(part, member), object);
      if ("spec" in template) warn(context, template, policyOf(namespace).warn);
    };

  async function checkNamespace(attributes: AdmissionAttributes): Promise<void> {
    const { operation, subresource, object, oldObject, resource, context } = attributes;
    if ((operation !== "create" && operation !== "update") || subresource !== "" || object === undefined) return;
    const faults = securityLabelFaults(object.metadata.labels);
    const before = oldObject === undefined ? [] : securityLabelFaults(oldObject.metadata.labels);
    if (faults.length > 0 && !equalJson(faults.map(textOfFault), before.map(textOfFault))) {
      throw invalidObjectError(resource, object.metadata.name ?? "", faults);
    }
    if (oldObject === undefined) return;
    const { enforce } = securityPolicyOf(object.metadata.labels);
    const { enforce: earlier } = securityPolicyOf(oldObject.metadata.labels);
    const isTighter = enforce.version !== earlier.version || isStricter(enforce.level, earlier.level);
    if (enforce.level === "privileged" || !isTighter) return;
    const found = await context.inParts(violatingPods(object.metadata.name ?? "", enforce));
    for (const warning of found) context.warnings.add(warning);
  }

  /** Pods with the same violations are one warning. */
  function* violatingPods(namespace: string, level: LevelVersion): Steps<readonly string[]> {
    const all = pods.view.list(pods.keys.inNamespace(namespace));
    const found = new Map<string, string[]>();
    for (const object of all.slice(0, MAX_TRIED)) {
      yield;
      const pod = object.decode();
      const reasons = violationsIn(pod, level)
        .map(([reason]) => reason)
        .join(", ");
      if (reasons === "") continue;
      const names = found.get(reasons) ?? [];
      found.set(reasons, names);
      names.push(pod.metadata.name ?? "");
    }
    const unseen =
      all.length > MAX_TRIED
        ? [`new PodSecurity enforce level only checked against the first ${MAX_TRIED} of ${all.length} existing pods`]
        : [];
    if (found.size === 0) return unseen;
    const head = `existing pods in namespace ${quoteGo(namespace)} violate the new PodSecurity enforce level ${quoteGo(levelText(level))}`;
    return [...unseen, head, ...[...found].map(([reasons, names]) => `${podsText(names)}: ${reasons}`).sort()];
  }

  return [
    { name, resource: { group: "", resource: "pods" }, validate: checkPod },
    { name, resource: { group: "", resource: "namespaces" }, validate: checkNamespace },
    ...TEMPLATES.map(([group, resource, path]) => ({
      name,
      resource: { group, resource },
      validate: checkTemplate(path),
    })),
  ];
}

const textOfFault = ({ field, message }: { readonly field: string; readonly message: string }): JsonValue => [
  field,
  message,
];

const textOf = (level: LevelVersion, violations: readonly Violation[]): string =>
  `PodSecurity ${quoteGo(levelText(level))}: ${violations.map(([reason, detail]) => `${reason} (${detail})`).join(", ")}`;

function warn({ warnings }: RequestContext, pod: JsonObject, level: LevelVersion): void {
  const found = violationsIn(pod, level);
  if (found.length > 0) warnings.add(`would violate ${textOf(level, found)}`);
}

const violationsIn = (pod: JsonObject, { level, version }: LevelVersion): readonly Violation[] =>
  level === "privileged"
    ? []
    : violationsOf({ metadata: objectAt(pod, "metadata"), spec: objectAt(pod, "spec") }, level, version);

/** The first pod, and how many others. */
function podsText(names: readonly string[]): string {
  const [first = ""] = [...names].sort();
  const others = names.length - 1;
  return others === 0 ? first : `${first} (and ${others} other pod${others === 1 ? "" : "s"})`;
}

/** Of the fields of a pod that can change, only images and new ephemeral containers count, as upstream. */
const hasSameImages = (pod: KubeObject, old: KubeObject): boolean => equalJson(imagesOf(pod), imagesOf(old));

const imagesOf = (pod: KubeObject): JsonValue =>
  ["containers", "initContainers", "ephemeralContainers"].map((list) =>
    listAt(objectAt(pod, "spec"), list).map((container) => [textAt(container, "name"), textAt(container, "image")]),
  );
