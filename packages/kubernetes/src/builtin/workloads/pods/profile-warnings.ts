// Warnings about annotations that once named the seccomp and AppArmor profiles of pods, where no field does.
// Source: k8s.io/kubernetes/pkg/api/pod/warnings.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { childPath, keyPath } from "@postern/apimachinery/validation/field-error";
import { objectAt, optionalObjectAt, textAt } from "../json-members.ts";
import { APP_ARMOR } from "../pod-security/pod-checks.ts";

const SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP = "container.seccomp.security.alpha.kubernetes.io/";
const LOCALHOST = "localhost/";

/** `path` is that of the template; empty for a pod, which is not warned of AppArmor. */
export function profileWarnings(
  annotations: JsonObject,
  spec: JsonObject,
  containers: readonly JsonObject[],
  path: string,
): readonly string[] {
  const at = (key: string): string => keyPath(childPath(path, "metadata.annotations"), key);
  const has = (key: string): boolean => annotations[key] !== undefined;
  const lacks = (of: JsonObject, member: string): boolean =>
    optionalObjectAt(objectAt(of, "securityContext"), member) === undefined;
  const useSeccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
  return [
    ...(lacks(spec, "seccompProfile") && has(SECCOMP_OF_POD) ? [`${at(SECCOMP_OF_POD)}: ${useSeccomp}`] : []),
    ...containers.flatMap((container) => {
      const [seccomp, appArmor] = [SECCOMP, APP_ARMOR].map((prefix) => `${prefix}${textAt(container, "name")}`) as [
        string,
        string,
      ];
      const isNamed = isProfileOf(
        textAt(annotations, appArmor),
        objectAt(objectAt(spec, "securityContext"), "appArmorProfile"),
      );
      return [
        ...(lacks(container, "seccompProfile") && has(seccomp) ? [`${at(seccomp)}: ${useSeccomp}`] : []),
        ...(path !== "" && lacks(container, "appArmorProfile") && has(appArmor) && !isNamed
          ? [`${at(appArmor)}: deprecated since v1.30; use the "appArmorProfile" field instead`]
          : []),
      ];
    }),
  ];
}

/** Whether the profile of the pod is the one that the annotation names. */
function isProfileOf(annotation: string, profile: JsonObject): boolean {
  const [type, name] = [textAt(profile, "type"), textAt(profile, "localhostProfile")];
  if (annotation === "unconfined") return type === "Unconfined" && name === "";
  if (annotation === "runtime/default") return type === "RuntimeDefault" && name === "";
  const isLocal = annotation.startsWith(LOCALHOST) && annotation.length > LOCALHOST.length;
  return isLocal && type === "Localhost" && name === annotation.slice(LOCALHOST.length);
}
