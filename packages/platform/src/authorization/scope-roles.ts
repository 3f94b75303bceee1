// What the managed roles of a scope open.

import type { AccessKeyOwner } from "../access-keys/access-key-state.ts";
import type { ScopeRole } from "../api/access-key-restrictions.ts";
import type { PlatformNames } from "../platform-names.ts";
import { asksAboutOthers } from "./asks-about-others.ts";
import { isInTeam, isUser, parseClusterIdentity, parseVirtualClusterIdentity } from "./caller.ts";
import { isInstanceResource } from "./filtered-resources.ts";
import { matchesAnyName } from "./match-name.ts";
import { isManagement, type PlatformRequest, type TargetedRequest } from "./request-target.ts";
import type { ScopeFacts } from "./scope.ts";

/** `network-peer`, `workspace` and `metrics-writer` are accepted, and open nothing here. */
export function roleOpens(role: ScopeRole, request: PlatformRequest, facts: ScopeFacts): boolean {
  if (!isManagement(request)) return false;
  const { inner } = request;
  switch (role.role) {
    case "platform-cli":
      return platformCliOpens(role, inner, facts);
    case "vcluster":
      return asksAboutOthers(inner, facts.names) || ownInstanceOpens(role, inner, facts);
    case "agent":
      return asksAboutOthers(inner, facts.names) || ownClusterOpens(inner, facts);
    case "metrics-reader":
      return !inner.isResourceRequest && inner.path === "/metrics" && (inner.verb === "get" || inner.verb === "head");
    default:
      return false;
  }
}

/** Reads only; lists are filtered elsewhere. */
function platformCliOpens(role: ScopeRole, inner: TargetedRequest, { names, user }: ScopeFacts): boolean {
  const { resource, subresource, namespace, name } = inner;
  if (!isGetOfManaged(inner, names)) return false;
  if (resource === "projects") {
    return (
      (subresource === "" || subresource === "clusters" || subresource === "templates") && includesProject(role, name)
    );
  }
  if (subresource !== "") return false;
  if (isInstanceResource(resource)) return includesInstance(role, namespace, name, names);
  if (resource === "users") return isUser(user, name, names);
  if (resource === "teams") return isInTeam(user, name, names);
  return resource === "clusters";
}

/** The instance that the key's subject stands for, or those that the entry names. */
function ownInstanceOpens(role: ScopeRole, inner: TargetedRequest, { names, owner }: ScopeFacts): boolean {
  const { resource, subresource, namespace, name } = inner;
  if (!isGetOfManaged(inner, names) || resource !== "virtualclusterinstances") return false;
  if (subresource !== "" && subresource !== "accesskey") return false;
  const own = subjectOf(owner, (subject) => parseVirtualClusterIdentity(names, subject));
  if (own === undefined && role.projects.length === 0 && role.virtualClusters.length === 0) return false;
  if (own !== undefined && (own.namespace !== namespace || own.instance !== name)) return false;
  return includesInstance(role, namespace, name, names);
}

function ownClusterOpens(inner: TargetedRequest, { names, owner }: ScopeFacts): boolean {
  const { resource, subresource, name } = inner;
  if (!isGetOfManaged(inner, names) || resource !== "clusters" || subresource !== "") return false;
  return name === subjectOf(owner, (subject) => parseClusterIdentity(names, subject));
}

/** Of one object: a name is what tells it from a question about all of them. */
const isGetOfManaged = ({ verb, apiGroup, name }: TargetedRequest, { managementGroup }: PlatformNames): boolean =>
  verb === "get" && apiGroup === managementGroup && name !== "";

const subjectOf = <T>({ kind, name }: AccessKeyOwner, parse: (subject: string) => T): T | undefined =>
  kind === "subject" ? parse(name) : undefined;

/** An empty list narrows nothing. */
const includesProject = ({ projects, virtualClusters }: ScopeRole, project: string): boolean =>
  (projects.length === 0 && virtualClusters.length === 0) || matchesAnyName(projects, project);

function includesInstance(role: ScopeRole, namespace: string, name: string, names: PlatformNames): boolean {
  const project = names.projectOf(namespace);
  if (project === undefined) return false;
  const { projects, virtualClusters } = role;
  return (
    (projects.length === 0 || matchesAnyName(projects, project)) &&
    (virtualClusters.length === 0 || matchesAnyName(virtualClusters, name))
  );
}
