// Subjects and role of a binding.
// Source: k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { serviceAccountUsername } from "../../authentication/service-account.ts";

export type RbacSubject = {
  /** `User`, `Group` or `ServiceAccount`; subjects of other kinds are ignored. */
  readonly kind: string;
  readonly name: string;
  /** Namespace of a service account; "" means the namespace of the binding. */
  readonly namespace: string;
};

export type RoleRef = { readonly apiGroup: string; readonly kind: string; readonly name: string };

export type RbacBinding = {
  readonly name: string;
  /** "" for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly subjects: readonly RbacSubject[];
  readonly roleRef: RoleRef;
};

const textOf = (object: JsonObject, member: string): string => {
  const value = object[member];
  return typeof value === "string" ? value : "";
};

export function readSubject(value: JsonValue): RbacSubject {
  const subject = isJsonObject(value) ? value : {};
  return { kind: textOf(subject, "kind"), name: textOf(subject, "name"), namespace: textOf(subject, "namespace") };
}

export function readRoleRef(value: JsonValue | undefined): RoleRef {
  const ref = isJsonObject(value) ? value : {};
  return { apiGroup: textOf(ref, "apiGroup"), kind: textOf(ref, "kind"), name: textOf(ref, "name") };
}

/** A RoleBinding or ClusterRoleBinding from its stored object. */
export const readBinding = ({ metadata, ...object }: KubeObject): RbacBinding => ({
  name: metadata.name ?? "",
  namespace: metadata.namespace ?? "",
  subjects: isJsonArray(object["subjects"]) ? object["subjects"].map(readSubject) : [],
  roleRef: readRoleRef(object["roleRef"]),
});

/** The user name or group of a subject; undefined for other kinds. */
export function principalOf(
  subject: RbacSubject,
  bindingNamespace: string,
): { readonly type: "user" | "group"; readonly name: string } | undefined {
  if (subject.kind === "User") return { type: "user", name: subject.name };
  if (subject.kind === "Group") return { type: "group", name: subject.name };
  if (subject.kind !== "ServiceAccount") return undefined;
  const namespace = subject.namespace === "" ? bindingNamespace : subject.namespace;
  return namespace === "" ? undefined : { type: "user", name: serviceAccountUsername(namespace, subject.name) };
}

/** `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`: how a decision names its reason. */
export function describeBinding({ name, namespace, roleRef }: RbacBinding, subject: RbacSubject): string {
  const binding =
    namespace === "" ? `ClusterRoleBinding ${quoteGo(name)}` : `RoleBinding ${quoteGo(`${name}/${namespace}`)}`;
  const subjectName =
    subject.kind === "ServiceAccount"
      ? `${subject.name}/${subject.namespace === "" ? namespace : subject.namespace}`
      : subject.name;
  return `${binding} of ${roleRef.kind} ${quoteGo(roleRef.name)} to ${subject.kind} ${quoteGo(subjectName)}`;
}
