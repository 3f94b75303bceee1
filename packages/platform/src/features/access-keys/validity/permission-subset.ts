// Checks that everything one key may do is allowed to another key: required for keys that a restricted key creates.

import {
  type AccessKeyRestrictions,
  type AccessKeyRule,
  type AccessKeyScope,
  KEY_SUBRESOURCES,
  type ScopeRole,
  type VirtualClusterEntry,
} from "@postern/api/access-key-restrictions";
import type { LabelRequirement } from "@postern/apimachinery/selectors/label-requirement";

/**
 * True only where it is certain, entry by entry: what several entries of the parent cover together is not recognised. Undefined restrictions mean
 * that there are none.
 */
export function isPermissionSubset(
  child: AccessKeyRestrictions | undefined,
  parent: AccessKeyRestrictions | undefined,
): boolean {
  if (parent === undefined) return true;
  if (child === undefined) return false;
  if (parent.scope !== undefined && (child.scope === undefined || !scopeIsWithin(child.scope, parent.scope))) {
    return false;
  }
  // One of the child's sets that lies within the parent's is enough, since all sets of the child apply.
  return parent.ruleSets.every((wide) =>
    child.ruleSets.some((narrow) => narrow.every((rule) => wide.some((other) => ruleIsWithin(rule, other)))),
  );
}

function scopeIsWithin(child: AccessKeyScope, parent: AccessKeyScope): boolean {
  const opensProject = (project: string) => parent.projects.some((wide) => isNamed(project, wide.project));
  return (
    child.roles.every((role) => parent.roles.some((wide) => roleIsWithin(role, wide))) &&
    child.projects.every(({ project }) => opensProject(project)) &&
    child.virtualClusters.every(
      (entry) => opensProject(entry.project) || parent.virtualClusters.some((wide) => clustersAreWithin(entry, wide)),
    ) &&
    child.spaces.every(
      ({ project, space }) =>
        opensProject(project) ||
        parent.spaces.some((wide) => isNamed(project, wide.project) && isNamed(space, wide.space)),
    ) &&
    child.clusters.every(({ cluster }) => parent.clusters.some((wide) => isNamed(cluster, wide.cluster)))
  );
}

/** For all labels that virtual clusters may ever have. */
function clustersAreWithin(child: VirtualClusterEntry, parent: VirtualClusterEntry): boolean {
  if (!isNamed(child.project, parent.project)) return false;
  if (parent.labels === undefined) {
    // A selector without a name selects any.
    return child.virtualCluster === "" && child.labels !== undefined
      ? parent.virtualCluster === "*"
      : isNamed(child.virtualCluster, parent.virtualCluster);
  }
  if (parent.virtualCluster !== "" && child.virtualCluster !== parent.virtualCluster) return false;
  const { labels = [] } = child;
  return parent.labels.every((wide) => labels.some((narrow) => implies(narrow, wide)));
}

/** Whether all labels that meet `narrow` meet `wide`. Operators are those of LabelSelectors. */
function implies(narrow: LabelRequirement, wide: LabelRequirement): boolean {
  if (narrow.key !== wide.key) return false;
  const known = new Set(wide.values);
  switch (narrow.operator) {
    case "in":
      if (wide.operator === "in") return narrow.values.every((value) => known.has(value));
      if (wide.operator === "notin") return !narrow.values.some((value) => known.has(value));
      return wide.operator === "exists";
    case "notin":
      return wide.operator === "notin" && wide.values.every((value) => narrow.values.includes(value));
    case "exists":
      return wide.operator === "exists";
    case "!":
      // A label that is not there has none of the values.
      return wide.operator === "!" || wide.operator === "notin";
    default:
      return false;
  }
}

const isNamed = (name: string, wide: string): boolean => wide === "*" || wide === name;

const IMPLY_NETWORK_PEER = ["vcluster", "agent"];

function roleIsWithin(child: ScopeRole, parent: ScopeRole): boolean {
  const sameRole =
    child.role === parent.role || (child.role === "network-peer" && IMPLY_NETWORK_PEER.includes(parent.role));
  return (
    sameRole && areNamed(child.projects, parent.projects) && areNamed(child.virtualClusters, parent.virtualClusters)
  );
}

/** The meaning of an empty list differs from role to role, so it covers only another empty list. */
const areNamed = (child: readonly string[], parent: readonly string[]): boolean =>
  (child.length === 0) === (parent.length === 0) && child.every((name) => parent.some((wide) => isNamed(name, wide)));

/** Empty lists select everything. */
function isSelected<T>(child: readonly T[], parent: readonly T[], covers: (item: T, wide: T) => boolean): boolean {
  if (parent.length === 0) return true;
  return child.length > 0 && child.every((item) => parent.some((wide) => covers(item, wide)));
}

const isSame = (item: string, wide: string): boolean => item === wide;

function ruleIsWithin(child: AccessKeyRule, parent: AccessKeyRule): boolean {
  return (
    isSelected(child.verbs, parent.verbs, isSame) &&
    targetsAreWithin(child, parent) &&
    isSelected(child.namespaces, parent.namespaces, isSame) &&
    isSelected(child.requestTargets, parent.requestTargets, (item, wide) => item === wide) &&
    (parent.cluster === "" || child.cluster === parent.cluster) &&
    isSelected(
      child.virtualClusters,
      parent.virtualClusters,
      (item, wide) => isNamedOrAny(item.name, wide.name) && isNamedOrAny(item.namespace, wide.namespace),
    )
  );
}

const isNamedOrAny = (name: string, wide: string): boolean => wide === "" || isNamed(name, wide);

/** A rule that names neither resources nor paths is about all requests, but for those about access keys, which ask to be named. */
function targetsAreWithin(child: AccessKeyRule, parent: AccessKeyRule): boolean {
  const namesKeys = child.resources.some(({ resources }) => resources.some(mayNameAccessKeys));
  if (namesKeys && parent.resources.length === 0) return false;
  if (parent.resources.length === 0 && parent.nonResourceURLs.length === 0) return true;
  if (child.resources.length === 0 && child.nonResourceURLs.length === 0) return false;
  return (
    child.resources.every((entry) =>
      parent.resources.some(
        (wide) =>
          entry.group === wide.group &&
          isSelected(entry.resources, wide.resources, isResourceWithin) &&
          !(wide.resources.length === 0 && entry.resources.some(mayNameAccessKeys)) &&
          isSelected(entry.resourceNames, wide.resourceNames, isSame),
      ),
    ) &&
    child.nonResourceURLs.every((path) =>
      parent.nonResourceURLs.some(
        (wide) => path === wide || wide === "*" || (wide.endsWith("/*") && path.startsWith(wide.slice(0, -1))),
      ),
    )
  );
}

const isResourceWithin = (item: string, wide: string): boolean =>
  item === wide || (wide === "*" && !mayNameAccessKeys(item));

/** Patterns that name access keys: the resources themselves, and the lists of keys below users and teams. */
function mayNameAccessKeys(pattern: string): boolean {
  const [resource = "", subresource = ""] = pattern.split("/");
  if (resource === "ownedaccesskeys" || resource === "accesskeys") return true;
  return (resource === "users" || resource === "teams") && KEY_SUBRESOURCES.includes(subresource);
}
