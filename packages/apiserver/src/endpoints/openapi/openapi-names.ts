// Names of definitions, operations and tags in OpenAPI documents.
// Source: k8s.io/kube-openapi/pkg/util, k8s.io/apiserver/pkg/endpoints/openapi/openapi.go

import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";

/** The prefix of the definitions of metadata, Status and options. */
export const META_PREFIX = "io.k8s.apimachinery.pkg.apis.meta.v1.";

const BUILT_IN_SUFFIX = ".k8s.io";

/** Groups that Kubernetes itself defines are named by their first label alone. */
const isBuiltIn = (group: string): boolean => !group.includes(".") || group.endsWith(BUILT_IN_SUFFIX);

/** Groups of Kubernetes whose types are not in its `api`. */
const OUTSIDE: { readonly [group: string]: string } = {
  apiextensions: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  apiregistration: "io.k8s.kube-aggregator.pkg.apis.apiregistration",
};

/** The prefix of the types of a group of Kubernetes, by its first label. */
export const typePrefix = (group: string): string => OUTSIDE[group] ?? `io.k8s.api.${group}`;

/** `com.example.management.v1.Widget`; built-in kinds as `io.k8s.api.rbac.v1.Role`. */
export function definitionName({ group, version, kind }: GroupVersionKind): string {
  const prefix = isBuiltIn(group) ? typePrefix(group.split(".")[0] || "core") : group.split(".").reverse().join(".");
  return `${prefix}.${version}.${kind}`;
}

/** `ManagementExampleComV1`, `RbacAuthorizationV1`, `CoreV1`: the part of operation ids that names the version. */
export function operationGroupVersion({ group, version }: GroupVersion): string {
  return groupWords(group).map(capitalize).join("") + capitalize(version);
}

/** `managementExampleCom_v1`. */
export function operationTag({ group, version }: GroupVersion): string {
  const [first = "", ...rest] = groupWords(group);
  return `${first}${rest.map(capitalize).join("")}_${version}`;
}

/** `rbac`, `authorization`: the words of a group in operation ids. */
export const groupWords = (group: string): readonly string[] =>
  group === "" ? ["core"] : group.replace(/\.k8s\.io$/, "").split(/[.-]/);

export const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `a Widget`, `an OwnedAccessKey`. */
export const withArticle = (kind: string): string => `${/^[AEIOU]/i.test(kind) ? "an" : "a"} ${kind}`;
