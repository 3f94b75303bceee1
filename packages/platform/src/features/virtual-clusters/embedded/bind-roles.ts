// Maintains one ClusterRoleBinding inside a cluster for each group that represents a ClusterRole.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import {
  createWhenAbsent,
  deleteControlled,
  ignoringConflicts,
} from "@postern/apiserver/controllers/controlled-objects";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { STANDARD_ROLES } from "../inside-roles.ts";

const MANAGED_BY = "app.kubernetes.io/managed-by";

export type BindingNames = Pick<PlatformNames, "name" | "insideRoleGroup">;

/**
 * The binding has the name of the group it is for. A binding of that name with other content is replaced: the group belongs to the platform. Other
 * bindings are not changed, whatever label they have: another platform may have the same name, and its agent in the cluster.
 */
export async function bindRoles(
  bindings: InstalledResource,
  clusterRoles: readonly string[],
  { clock, names }: Pick<Runtime, "clock"> & { readonly names: BindingNames },
  signal: AbortSignal,
): Promise<void> {
  const wanted = bindingsByName(clusterRoles, names);
  const prefix = names.insideRoleGroup("");
  const pause = createTurns(clock);
  for (const object of bindings.view.list(bindings.keys.prefix)) {
    if (!hasName(object, prefix)) continue;
    await pause();
    const binding = object.decode();
    if (isAsWanted(binding, wanted, names)) continue;
    await ignoringConflicts(() => deleteControlled({ runtime: { clock } }, bindings, binding, signal));
  }
  for (const binding of wanted.values()) await createWhenAbsent(bindings, binding, clock, signal);
}

/** Whether `bindings`, all those of a cluster, are what `bindRoles` would write. A tenant chooses how many there are. */
export function* areRolesBound(
  bindings: readonly CachedObject[],
  clusterRoles: readonly string[],
  names: BindingNames,
): Steps<boolean> {
  const wanted = bindingsByName(clusterRoles, names);
  const prefix = names.insideRoleGroup("");
  let found = 0;
  for (const object of bindings) {
    if (!hasName(object, prefix)) continue;
    yield;
    const binding = object.decode();
    if (!isAsWanted(binding, wanted, names)) return false;
    if (wanted.has(binding.metadata.name ?? "")) found++;
  }
  return found === wanted.size;
}

/** Whether it has the name of a group. Others are nothing to this, and each of them may change at any time. */
const hasName = ({ key }: CachedObject, prefix: string): boolean => key.startsWith(prefix, key.lastIndexOf("/") + 1);

/** Whether a binding with the name of a group is as it should be. */
function isAsWanted(
  binding: KubeObject,
  wanted: ReadonlyMap<string, KubeObject>,
  { name: managedBy }: BindingNames,
): boolean {
  const { name = "", labels } = binding.metadata;
  const same = wanted.get(name);
  const isManaged = labels?.[MANAGED_BY] === managedBy;
  if (same === undefined) return !isManaged;
  return (
    isManaged && equalJson(binding["subjects"], same["subjects"]) && equalJson(binding["roleRef"], same["roleRef"])
  );
}

/** Bindings for the standard roles, for a new cluster. */
export const standardBindings = (names: BindingNames): readonly KubeObject[] =>
  STANDARD_ROLES.map((role) => bindingOf(role, names));

const bindingsByName = (clusterRoles: readonly string[], names: BindingNames): ReadonlyMap<string, KubeObject> =>
  new Map(clusterRoles.map((role) => [names.insideRoleGroup(role), bindingOf(role, names)]));

const bindingOf = (clusterRole: string, names: BindingNames): KubeObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: names.insideRoleGroup(clusterRole), labels: { [MANAGED_BY]: names.name } },
  subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: names.insideRoleGroup(clusterRole) }],
  roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole },
});
