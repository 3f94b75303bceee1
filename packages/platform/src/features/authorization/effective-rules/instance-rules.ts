// Permissions of a credential's owner on the instances that it owns or may use, as rules for one namespace.

import { CLUSTER_INVENTORY_GROUP } from "@postern/api/cluster-profile";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { ResolvedRules } from "@postern/apiserver/authorization/authorizer";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { resolveRules } from "@postern/apiserver/authorization/rbac/rule-index";
import { isOwner } from "../caller.ts";
import type { InstanceResource } from "../filtered-resources.ts";
import type { IndexedPermissions } from "../members/instance-permissions.ts";
import { GUEST_PARTS, GUEST_VERBS, type OwnerPermissionDeps } from "../owner-permissions.ts";
import { managed } from "./managed-rule.ts";

type RulesSources = Pick<OwnerPermissionDeps, "names" | "projects" | "instances">;
type RulesByPlace = Pick<ResolvedRules, "resourceRules" | "nonResourceRules">;

const INSTANCES: readonly InstanceResource[] = ["virtualclusterinstances", "spaceinstances"];
const OWNER_VERBS = ["get", "list", "watch", "update", "patch", "delete", "use"];
const OWNER_SUBRESOURCES = ["kubeconfig", "accesskey", "credentials", "join"];

/** The rules that a user had last, at a sum of versions: each of them only goes up. */
type Known = { readonly version: number; readonly namespace: string; readonly rules: RulesByPlace };

/**
 * May tell less than decisions allow, never more. Gives the same objects until an instance or a project changes: a user of hundreds of instances
 * creates bindings at the cost of one that has none.
 */
export function createInstanceRules(sources: RulesSources): (user: UserInfo, namespace: string) => RulesByPlace {
  const { projects, instances } = sources;
  const known = new WeakMap<UserInfo, Known>();
  return (user, namespace) => {
    const version = projects.version + instances.version;
    const last = known.get(user);
    if (last?.version === version && last.namespace === namespace) return last.rules;
    const rules = resolveRules(instanceRules(user, namespace, sources));
    known.set(user, { version, namespace, rules });
    return rules;
  };
}

export function instanceRules(user: UserInfo, namespace: string, sources: RulesSources): readonly PolicyRule[] {
  const { instances } = sources;
  const onInstances = INSTANCES.flatMap((resource) =>
    [...instances.entries(resource, namespace)].flatMap(([name, fact]) =>
      rulesOfInstance(user, resource, name, fact, sources),
    ),
  );
  return [...onInstances, ...guestRules(user, sources)];
}

/** Rules that let users of an instance see its project. */
function guestRules(user: UserInfo, { names, projects, instances }: RulesSources): readonly PolicyRule[] {
  const parts = GUEST_PARTS.map((part) => (part === "" ? "projects" : `projects/${part}`));
  return [...instances.namespacesOf(user, names)].sort().flatMap((namespace) => {
    const project = names.projectOf(namespace);
    if (project === undefined || projects.get(project) === undefined) return [];
    return [managed(names.managementGroup, ["get"], parts, project)];
  });
}

function rulesOfInstance(
  user: UserInfo,
  resource: InstanceResource,
  name: string,
  { owner, access, extraAccessRules }: IndexedPermissions,
  { names }: RulesSources,
): readonly PolicyRule[] {
  const withSubresources = (list: readonly string[]) => list.map((subresource) => `${resource}/${subresource}`);
  const owned = isOwner(user, owner, names)
    ? [
        managed(names.managementGroup, OWNER_VERBS, [resource], name),
        managed(names.managementGroup, ["*"], withSubresources(OWNER_SUBRESOURCES), name),
      ]
    : [];
  const granted = access.of(user, names).flatMap(({ verbs, subresources }) => {
    const onMain = verbs.includes("*") ? OWNER_VERBS : verbs.filter((verb) => OWNER_VERBS.includes(verb));
    const named = subresources.filter((subresource) => subresource !== "status");
    const below = withSubresources(subresources.includes("*") ? OWNER_SUBRESOURCES : named);
    return [
      ...(onMain.length === 0 ? [] : [managed(names.managementGroup, onMain, [resource], name)]),
      ...(below.length === 0 || verbs.length === 0 ? [] : [managed(names.managementGroup, verbs, below, name)]),
    ];
  });
  const hasRole = extraAccessRules.lists(user, names);
  const asGuest = hasRole
    ? [
        managed(names.managementGroup, GUEST_VERBS, [resource], name),
        managed(names.managementGroup, ["create"], withSubresources(["kubeconfig"]), name),
      ]
    : [];
  const rules = [...owned, ...granted, ...asGuest];
  return resource === "virtualclusterinstances" ? [...rules, ...profileRules(rules, name)] : rules;
}

/** Reading the virtual cluster includes reading its ClusterProfile. */
function profileRules(rules: readonly PolicyRule[], name: string): readonly PolicyRule[] {
  const verbs = PROFILE_VERBS.filter((verb) =>
    rules.some((rule) => rule.resources.includes("virtualclusterinstances") && rule.verbs.includes(verb)),
  );
  return verbs.length === 0 ? [] : [managed(CLUSTER_INVENTORY_GROUP, verbs, ["clusterprofiles"], name)];
}

const PROFILE_VERBS: readonly string[] = ["get", "list", "watch"];
