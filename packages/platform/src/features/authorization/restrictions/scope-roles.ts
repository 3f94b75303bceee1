// The requests that the roles in a scope open.

import type { ScopeRole } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import { isInTeam, isUser, parseClusterIdentity, parseVirtualClusterIdentity } from "../caller.ts";
import { isInstanceResource } from "../filtered-resources.ts";
import { asksAboutOthers } from "../request/asks-about-others.ts";
import { isManagement, type PlatformRequest, type TargetedRequest } from "../request/platform-request.ts";
import type { RestrictionIndex } from "./restriction-index.ts";
import { matchesAnyName } from "./rules.ts";
import type { IndexedContext, ScopeContext } from "./scope-context.ts";

/** `network-peer`, `workspace` and `metrics-writer` are accepted, and allow nothing here. */
export function roleOpens(role: ScopeRole, request: PlatformRequest, context: IndexedContext): boolean {
  if (!isManagement(request)) return false;
  const { inner } = request;
  switch (role.role) {
    case "platform-cli":
      return platformCliOpens(role, inner, context);
    case "vcluster":
      return asksAboutOthers(inner, context.names) || ownInstanceOpens(role, inner, context);
    case "agent":
      return asksAboutOthers(inner, context.names) || ownClusterOpens(inner, context);
    case "scim":
      return context.isProvisioning === true && scimOpens(inner, context.names);
    case "metrics-reader":
      return !inner.isResourceRequest && inner.path === "/metrics" && (inner.verb === "get" || inner.verb === "head");
    default:
      return false;
  }
}

/** Reads only; lists are filtered elsewhere. */
function platformCliOpens(role: ScopeRole, inner: TargetedRequest, { names, user, index }: IndexedContext): boolean {
  const { resource, subresource, namespace, name } = inner;
  if (!isGetOfManaged(inner, names)) return false;
  if (resource === "projects") {
    return (
      (subresource === "" || subresource === "clusters" || subresource === "templates") &&
      includesProject(role, name, index)
    );
  }
  if (subresource !== "") return false;
  if (isInstanceResource(resource)) return includesInstance(role, { namespace, name }, names, index);
  if (resource === "users") return isUser(user, name, names);
  if (resource === "teams") return isInTeam(user, name, names);
  return resource === "clusters";
}

/** The instance of the key's subject, or the instances in the entry. */
function ownInstanceOpens(role: ScopeRole, inner: TargetedRequest, { names, owner, index }: IndexedContext): boolean {
  const { resource, subresource, namespace, name } = inner;
  if (!isGetOfManaged(inner, names) || resource !== "virtualclusterinstances") return false;
  if (subresource !== "" && subresource !== "accesskey") return false;
  const own = subjectOf(owner, (subject) => parseVirtualClusterIdentity(names, subject));
  if (own === undefined && role.projects.length === 0 && role.virtualClusters.length === 0) return false;
  if (own !== undefined && (own.namespace !== namespace || own.instance !== name)) return false;
  return includesInstance(role, { namespace, name }, names, index);
}

function ownClusterOpens(inner: TargetedRequest, { names, owner }: ScopeContext): boolean {
  const { resource, subresource, name } = inner;
  if (!isGetOfManaged(inner, names) || resource !== "clusters" || subresource !== "") return false;
  return name === subjectOf(owner, (subject) => parseClusterIdentity(names, subject));
}

/** Gets of a single object: a request with a name. */
const isGetOfManaged = ({ verb, apiGroup, name }: TargetedRequest, { managementGroup }: PlatformNames): boolean =>
  verb === "get" && apiGroup === managementGroup && name !== "";

const subjectOf = <T>({ kind, name }: AccessKeyOwner, parse: (subject: string) => T): T | undefined =>
  kind === "subject" ? parse(name) : undefined;

/** An empty list narrows nothing. */
const includesProject = ({ projects, virtualClusters }: ScopeRole, project: string, index: RestrictionIndex): boolean =>
  (projects.length === 0 && virtualClusters.length === 0) || matchesAnyName(projects, project, index);

function includesInstance(
  { projects, virtualClusters }: ScopeRole,
  { namespace, name }: Pick<TargetedRequest, "namespace" | "name">,
  names: PlatformNames,
  index: RestrictionIndex,
): boolean {
  const project = names.projectOf(namespace);
  if (project === undefined) return false;
  return (
    (projects.length === 0 || matchesAnyName(projects, project, index)) &&
    (virtualClusters.length === 0 || matchesAnyName(virtualClusters, name, index))
  );
}

const SCIM_VERBS = ["get", "list", "create", "update", "delete"];

/** For the SCIM routes: users and teams themselves, and nothing below them. `features/directory/kinds/provisioned.ts` says which. */
function scimOpens(
  { verb, apiGroup, resource, subresource }: TargetedRequest,
  { managementGroup }: PlatformNames,
): boolean {
  if (!SCIM_VERBS.includes(verb) || subresource !== "") return false;
  return apiGroup === managementGroup && (resource === "users" || resource === "teams");
}
