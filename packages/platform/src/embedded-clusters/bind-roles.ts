// Keeps one ClusterRoleBinding inside a cluster for each group that stands for a ClusterRole.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createWhenAbsent } from "@postern/apiserver/server/standard-surface";
import { createSystemContext } from "@postern/apiserver/server/system-context";
import type { PlatformNames } from "../platform-names.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

const MANAGED_BY = "app.kubernetes.io/managed-by";

/** The binding has the name of the group it is for. Bindings that somebody else made are left alone. */
export async function bindRoles(
  cluster: EmbeddedCluster,
  clusterRoles: readonly string[],
  { clock, names }: Pick<Runtime, "clock"> & { readonly names: Pick<PlatformNames, "name" | "insideRoleGroup"> },
  signal: AbortSignal,
): Promise<void> {
  const bindings = cluster.resource(RBAC_GROUP, "ClusterRoleBinding");
  const wanted = new Map(clusterRoles.map((role) => [names.insideRoleGroup(role), bindingOf(role, names)]));
  for (const binding of wanted.values()) await createWhenAbsent(bindings, binding, clock, signal);

  for (const object of bindings.view.list(bindings.keys.prefix)) {
    if (object.labels[MANAGED_BY] !== names.name) continue;
    const { name = "", uid = "" } = object.decode().metadata;
    if (wanted.has(name)) continue;
    const call = { verb: "delete", apiGroup: RBAC_GROUP, apiVersion: "v1", resource: "clusterrolebindings", name };
    try {
      const options = { dryRun: false, preconditions: { uid } };
      await bindings.store.delete(createSystemContext(call, { clock, signal }), "", name, options);
    } catch (error) {
      if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
    }
  }
}

/** Whether `bindings`, all there are in a cluster, are what `bindRoles` would leave behind. */
export function areRolesBound(
  bindings: readonly CachedObject[],
  clusterRoles: readonly string[],
  names: Pick<PlatformNames, "name" | "insideRoleGroup">,
): boolean {
  const managed = bindings.filter(({ labels }) => labels[MANAGED_BY] === names.name);
  const wanted = new Set(clusterRoles.map((role) => names.insideRoleGroup(role)));
  return managed.length === wanted.size && managed.every((object) => wanted.has(object.decode().metadata.name ?? ""));
}

const bindingOf = (clusterRole: string, names: Pick<PlatformNames, "name" | "insideRoleGroup">): KubeObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: names.insideRoleGroup(clusterRole), labels: { [MANAGED_BY]: names.name } },
  subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: names.insideRoleGroup(clusterRole) }],
  roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole },
});
