// Names of API groups, versions, kinds and resources, and their canonical text forms.
// Source: k8s.io/apimachinery/pkg/runtime/schema/group_version.go

/** `group` is "" for the core group. */
export type GroupVersion = { readonly group: string; readonly version: string };
export type GroupKind = { readonly group: string; readonly kind: string };
export type GroupResource = { readonly group: string; readonly resource: string };
/** Names a kind in a version, such as `apps/v1` `Deployment`. The core group is "". */
export type GroupVersionKind = GroupVersion & { readonly kind: string };
export type GroupVersionResource = GroupVersion & { readonly resource: string };

/** The `apiVersion` text: `v1` for the core group, else `group/version`. */
export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Reads an `apiVersion`; undefined when it holds more than one slash. */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const parts = apiVersion.split("/");
  if (parts.length === 1) return { group: "", version: parts[0] ?? "" };
  if (parts.length === 2) return { group: parts[0] ?? "", version: parts[1] ?? "" };
  return undefined;
}

/** `secrets`, or `deployments.apps`: a resource or kind qualified by its group, as error texts print it. */
export function qualifiedName(name: string, group: string): string {
  return group === "" ? name : `${name}.${group}`;
}
