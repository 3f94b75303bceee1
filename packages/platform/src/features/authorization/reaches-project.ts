// Whether the owner of an access key can use anything in a project that the scope of the key names.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { mayDo } from "../../foundation/kinds/may-do.ts";
import { accessKeyIdentity, type IdentityDeps } from "../access-keys/access-key-identity.ts";
import type { ReachesProject } from "../access-keys/key-quota.ts";

/** True if the owner, without the limits of a key, may get the project, or a virtual cluster or space in it that the scope names. */
export const createReachesProject =
  (identity: IdentityDeps, authorizer: Authorizer): ReachesProject =>
  async ({ owner, groups, restrictions }, project) => {
    const { names } = identity;
    const user = accessKeyIdentity({ id: "", owner, groups }, identity);
    // Lists are open to all: they show what the caller may get.
    const get = { verb: "get", apiGroup: names.managementGroup };
    const mayGet = (resource: string, namespace: string, name: string): Promise<boolean> =>
      mayDo({ user }, { ...get, resource, namespace, name: name === "*" ? "" : name }, authorizer);
    if (await mayGet("projects", "", project)) return true;
    const namespace = names.projectNamespace(project);
    const { virtualClusters = [], spaces = [] } = restrictions?.scope ?? {};
    const parts = [
      ...virtualClusters.map((entry) => ({
        ...entry,
        resource: "virtualclusterinstances",
        name: entry.virtualCluster === "" ? "*" : entry.virtualCluster,
      })),
      ...spaces.map((entry) => ({ ...entry, resource: "spaceinstances", name: entry.space })),
    ];
    for (const { project: of, resource, name } of parts) {
      if (of === project && (await mayGet(resource, namespace, name))) return true;
    }
    return false;
  };
