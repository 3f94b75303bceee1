// Ephemeral containers: `kubectl debug` adds them to a pod by `pods/<name>/ephemeralcontainers`, and nothing else changes them.
// Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go (podEphemeralContainersStrategy),
// pkg/apis/core/validation/validation.go (validateEphemeralContainers, ValidatePodEphemeralContainersUpdate)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  notFoundFieldError,
} from "@postern/apimachinery/validation/field-error";
import { textAt } from "../json-members.ts";
import type { PodSpec } from "./pod-fields.ts";
import { validateContainers } from "./validate-containers.ts";

export const EPHEMERAL_SUBRESOURCE = "ephemeralcontainers";

const PATH = "spec.ephemeralContainers";

/** In the order of Go's struct. */
const NOT_FOR_THEM = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
];
const CANNOT_BE_SET = "cannot be set for an Ephemeral Container";

/** The containers of a spec as JSON; only their named types hide it. */
const listOf = (containers: unknown): readonly JsonObject[] => (containers ?? []) as readonly JsonObject[];

export function validateEphemeralContainers(spec: PodSpec): readonly FieldError[] {
  const others = new Set(
    [...listOf(spec.containers), ...listOf(spec.initContainers)].map((each) => textAt(each, "name")),
  );
  const containers = listOf(spec.ephemeralContainers);
  const volumes = new Set(listOf(spec.volumes).map((volume) => textAt(volume, "name")));
  return [
    ...validateContainers(containers, PATH, new Set(others), { volumes, isHostNetwork: spec.hostNetwork === true }),
    ...containers.flatMap((container, index) => {
      const at = indexPath(PATH, index);
      const target = textAt(container, "targetContainerName");
      return [
        ...(target === "" || others.has(target) ? [] : [notFoundFieldError(`${at}.targetContainerName`, target)]),
        ...NOT_FOR_THEM.filter((name) => isSet(name, container[name])).map((name) =>
          forbiddenError(`${at}.${name}`, CANNOT_BE_SET),
        ),
        ...listOf(container["volumeMounts"]).flatMap((mount, place) =>
          ["subPath", "subPathExpr"]
            .filter((name) => textAt(mount, name) !== "")
            .map((name) => forbiddenError(`${indexPath(`${at}.volumeMounts`, place)}.${name}`, CANNOT_BE_SET)),
        ),
      ];
    }),
  ];
}

/** Empty lists and resources are Go's zero values. */
function isSet(name: string, value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === "") return false;
  if (isJsonArray(value)) return value.length > 0;
  return name !== "resources" || !isJsonObject(value) || Object.keys(value).length > 0;
}

/** One that is there stays as it is. */
export function validateEphemeralChange(spec: PodSpec, old: PodSpec): readonly FieldError[] {
  const byName = new Map(listOf(spec.ephemeralContainers).map((each) => [textAt(each, "name"), each]));
  return listOf(old.ephemeralContainers).flatMap((before) => {
    const name = textAt(before, "name");
    const after = byName.get(name);
    if (after !== undefined && equalJson(after, before)) return [];
    const change = after === undefined ? "removed" : "changed";
    return [forbiddenError(PATH, `existing ephemeral containers ${JSON.stringify(name)} may not be ${change}`)];
  });
}
