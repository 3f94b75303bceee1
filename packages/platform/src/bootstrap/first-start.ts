// Fills an empty store once: an administrator, the default project, the built-in cluster, and a demo virtual cluster. Objects that are deleted later
// stay deleted.

import { EMBEDDED_CLUSTER } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createWhenAbsent } from "@postern/apiserver/controllers/controlled-objects";
import { waitForObject } from "@postern/apiserver/registry/wait-for-object";
import { builtInClusterRoleBindings, builtInClusterRoles } from "../features/authorization/built-in-roles.ts";
import type { Foundation } from "../foundation/foundation.ts";
import { isFirstStart, markFirstStart } from "../foundation/store/first-start-mark.ts";
import { keepNames } from "../foundation/store/stored-names.ts";
import { NEW_STORE_TTL_SECONDS } from "./default-ttl.ts";

/**
 * Resolves with true on the first start. `prepareAdministrator` runs before the store is marked, so that a start that failed on the way is repeated
 * and does not leave a server without an administrator.
 */
export async function firstStart(
  { configuration, names, storage, installed, runtime: { clock }, signal }: Foundation,
  prepareAdministrator: () => Promise<void>,
): Promise<boolean> {
  if (!(await isFirstStart(storage))) return false;
  for (const object of firstObjects(names)) {
    const [group = "", version] = object.apiVersion.split("/");
    const resource = installed(version === undefined ? "" : group, object.kind);
    const { namespace = "" } = object.metadata;
    // A project's namespace is made by its controller.
    if (namespace !== "") await waitForObject(installed("", "Namespace"), namespace, signal);
    await createWhenAbsent(resource, object, clock, signal);
  }
  await prepareAdministrator();
  await keepNames(storage, configuration);
  await markFirstStart(storage, clock, { defaultKeyTTLSeconds: NEW_STORE_TTL_SECONDS });
  return true;
}

/** Roles come with the release: those that are missing are made at every start, changed ones are left as they are. */
export async function ensureRoles({ names, installed, runtime: { clock }, signal }: Foundation): Promise<void> {
  const roles = installed(RBAC_GROUP, "ClusterRole");
  const bindings = installed(RBAC_GROUP, "ClusterRoleBinding");
  await Promise.all([
    ...builtInClusterRoles(names).map((role) => createWhenAbsent(roles, role, clock, signal)),
    ...builtInClusterRoleBindings(names).map((binding) => createWhenAbsent(bindings, binding, clock, signal)),
  ]);
}

/** In the order in which they refer to each other. */
function firstObjects(names: PlatformNames): readonly KubeObject[] {
  const apiVersion = `${names.managementGroup}/v1`;
  const projectNamespace = names.projectNamespace(DEFAULT_PROJECT);
  const owner = { user: FIRST_USER };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
    {
      apiVersion,
      kind: "User",
      metadata: { name: FIRST_USER },
      spec: { displayName: "Administrator", username: FIRST_USER, subject: FIRST_USER, groups: [names.adminsGroup] },
    },
    {
      apiVersion,
      kind: "Cluster",
      metadata: { name: EMBEDDED_CLUSTER },
      spec: { displayName: "Built-in cluster", local: true, owner },
    },
    {
      apiVersion,
      kind: "Project",
      metadata: { name: DEFAULT_PROJECT },
      spec: { displayName: "Default", owner, allowedClusters: [{ name: "*" }] },
    },
    {
      apiVersion,
      kind: "VirtualClusterInstance",
      metadata: { name: DEMO_CLUSTER, namespace: projectNamespace },
      spec: { displayName: "Demo", owner, template: { accessPoint: { ingress: { enabled: true } } } },
    },
  ];
}

export const FIRST_USER = "admin";
const DEFAULT_PROJECT = "default";
const DEMO_CLUSTER = "demo";
