// Whether the restrictions of an access key allow a request: by a scope entry, and by its rules.

import {
  type AccessKeyRestrictions,
  type AccessKeyScope,
  SCOPE_ROLES,
  type ScopeRole,
  type VirtualClusterEntry,
} from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import { parseVirtualClusterIdentity } from "../caller.ts";
import { aboutInstance, isFilteredList, isInstanceResource } from "../filtered-resources.ts";
import { isAccessKeyRequest } from "../request/access-key-request.ts";
import { isControlPlaneKeyRequest } from "../request/control-plane-key-request.ts";
import {
  isManagement,
  managementRequest,
  type PlatformRequest,
  type TargetedRequest,
} from "../request/platform-request.ts";
import { isAlwaysAllowed } from "./always-allowed.ts";
import { type Filing, type NamedValues, RestrictionIndex } from "./restriction-index.ts";
import { allowingRule, matchesName } from "./rules.ts";
import type { IndexedContext, ScopeContext } from "./scope-context.ts";
import { roleOpens } from "./scope-roles.ts";

/** `reason` names the entry that opens the request (`scope.projects[0]`), or the part that does not. */
export type ScopeVerdict = { readonly open: boolean; readonly reason: string };

const UNRESTRICTED: ScopeVerdict = { open: true, reason: "unrestricted" };
const ALWAYS_OPEN: ScopeVerdict = { open: true, reason: "always-open" };
const OUT_OF_SCOPE: ScopeVerdict = { open: false, reason: "out-of-scope" };
const OUT_OF_RULES: ScopeVerdict = { open: false, reason: "out-of-rules" };

/** Without restrictions everything is allowed; a scope without entries allows only what every valid key may do. */
export function inScope(
  restrictions: AccessKeyRestrictions | undefined,
  request: PlatformRequest,
  context: ScopeContext,
): ScopeVerdict {
  if (restrictions === undefined) return UNRESTRICTED;
  if (isAlwaysAllowed(request, context.names)) return ALWAYS_OPEN;
  const { scope, ruleSets } = restrictions;
  if (isControlPlaneKeyRequest(request, context.names) && !isOwnControlPlane(request, context)) return OUT_OF_SCOPE;
  const { index = new RestrictionIndex() } = context;
  const reasons: string[] = [];
  if (scope !== undefined) {
    const entry = openingEntry(scope, request, { ...context, index });
    if (entry === undefined) return OUT_OF_SCOPE;
    reasons.push(entry);
  }
  for (const [set, rules] of ruleSets.entries()) {
    const rule = allowingRule(rules, request, context.names, index);
    if (rule < 0) return OUT_OF_RULES;
    reasons.push(`ruleSets[${set}][${rule}]`);
  }
  // Restrictions that restrict nothing were not written by a client.
  return reasons.length === 0 ? OUT_OF_SCOPE : { open: true, reason: reasons.join(" ") };
}

/** A control plane that reads its own key. */
function isOwnControlPlane({ inner }: PlatformRequest, { names, owner }: ScopeContext): boolean {
  const own = owner.kind === "subject" ? parseVirtualClusterIdentity(names, owner.name) : undefined;
  return (
    inner.resource === "virtualclusterinstances" && own?.namespace === inner.namespace && own?.instance === inner.name
  );
}

/** The entry of the scope that opens the request, for the audit log. */
function openingEntry(
  { projects, virtualClusters, spaces, clusters, roles }: AccessKeyScope,
  asked: PlatformRequest,
  context: IndexedContext,
): string | undefined {
  const { names, index } = context;
  if (isManagement(asked)) {
    if (isAccessKeyRequest(asked.inner, names)) return undefined;
    // The filter asks this function again about every object.
    if (isFilteredList(asked, names)) return "filtered-list";
  }
  const request = isManagement(asked) ? managementRequest(aboutInstance(asked.inner, names)) : asked;
  const named = namesIn(request, names);
  const askedOfInstances = (): readonly (readonly string[])[] => [named.projects, named.others];
  const isOneProject = isManagement(request) && isManaged(request.inner, "projects", names);
  const at = {
    projects: () =>
      index.findIndex(
        projects,
        BY_PROJECT,
        () => [named.projects],
        ({ project }) => projectOpens(project, request, names),
      ),
    virtualClusters: () =>
      index.findIndex(virtualClusters, isOneProject ? BY_PROJECT : BY_VIRTUAL_CLUSTER, askedOfInstances, (entry) =>
        virtualClusterOpens(entry, request, context),
      ),
    spaces: () =>
      index.findIndex(spaces, isOneProject ? BY_PROJECT : BY_SPACE, askedOfInstances, (entry) =>
        spaceOpens(entry, request, names),
      ),
    clusters: () =>
      index.findIndex(
        clusters,
        BY_CLUSTER,
        () => [named.others],
        ({ cluster }) => clusterOpens(cluster, request, names),
      ),
    roles: () =>
      index.findIndex(
        roles,
        filingOfRoles(request),
        () => [SCOPE_ROLES, named.projects, named.others],
        (entry) => roleOpens(entry, request, context),
      ),
  };
  for (const [field, find] of Object.entries(at)) {
    const place = find();
    if (place >= 0) return `scope.${field}[${place}]`;
  }
  return undefined;
}

/** Names in a request that entries may have as well: projects, and instances or clusters. */
function namesIn(
  request: PlatformRequest,
  names: PlatformNames,
): { readonly projects: readonly string[]; readonly others: readonly string[] } {
  switch (request.target) {
    case "ProjectVirtualCluster":
      return { projects: [request.project], others: [request.virtualCluster] };
    case "ProjectSpace":
      return { projects: [request.project], others: [request.space] };
    case "Cluster":
      return { projects: [], others: [request.cluster] };
    case "Management": {
      const { namespace, name } = request.inner;
      const project = names.projectOf(namespace);
      return { projects: project === undefined ? [name] : [name, project], others: [name] };
    }
  }
}

const unlessStar = (name: string): NamedValues => (name === "*" ? undefined : [name]);
const unlessOpen = (list: readonly string[]): NamedValues =>
  list.length === 0 || list.includes("*") ? undefined : list;

const BY_PROJECT: Filing<{ readonly project: string }> = {
  valuesOf: ({ project }) => [unlessStar(project)],
  identityOf: ({ project }) => project,
};
const BY_VIRTUAL_CLUSTER: Filing<VirtualClusterEntry> = {
  valuesOf: ({ project, virtualCluster, labels }) => [
    unlessStar(project),
    labels !== undefined && virtualCluster === "" ? undefined : unlessStar(virtualCluster),
  ],
  identityOf: ({ project, virtualCluster, labels = [] }) => [
    project,
    virtualCluster,
    ...labels.map(({ key, operator, values }) => [key, operator, ...values]),
  ],
};
const BY_SPACE: Filing<SpaceEntry> = {
  valuesOf: ({ project, space }) => [unlessStar(project), unlessStar(space)],
  identityOf: (entry) => entry,
};
const BY_CLUSTER: Filing<{ readonly cluster: string }> = {
  valuesOf: ({ cluster }) => [unlessStar(cluster)],
  identityOf: (entry) => entry,
};

/** Only requests about instances and projects depend on the lists of a role. */
function filingOfRoles(request: PlatformRequest): Filing<ScopeRole> {
  if (!isManagement(request)) return BY_ROLE;
  const { resource } = request.inner;
  if (resource === "projects") return BY_ROLE_AND_PROJECT;
  return isInstanceResource(resource) ? BY_ROLE_AND_INSTANCE : BY_ROLE;
}

const BY_ROLE: Filing<ScopeRole> = { valuesOf: ({ role }) => [[role]], identityOf: ({ role }) => role };
const BY_ROLE_AND_PROJECT: Filing<ScopeRole> = {
  valuesOf: ({ role, projects }) => [[role], unlessOpen(projects)],
  identityOf: ({ role, projects, virtualClusters }) => [role, projects, virtualClusters.length === 0],
};
const BY_ROLE_AND_INSTANCE: Filing<ScopeRole> = {
  valuesOf: ({ role, projects, virtualClusters }) => [[role], unlessOpen(projects), unlessOpen(virtualClusters)],
  identityOf: (entry) => entry,
};

/** The project, its subresources, everything in its namespace, and the proxies to what runs in it. */
function projectOpens(project: string, request: PlatformRequest, names: PlatformNames): boolean {
  if (request.target === "ProjectVirtualCluster" || request.target === "ProjectSpace") {
    return matchesName(project, request.project);
  }
  if (!isManagement(request) || !request.inner.isResourceRequest) return false;
  const { inner } = request;
  const namespaceOf = names.projectOf(inner.namespace);
  if (namespaceOf !== undefined && matchesName(project, namespaceOf)) return true;
  return isManaged(inner, "projects", names) && inner.namespace === "" && matchesName(project, inner.name);
}

type SpaceEntry = AccessKeyScope["spaces"][number];

function virtualClusterOpens(entry: VirtualClusterEntry, request: PlatformRequest, context: IndexedContext): boolean {
  const { names } = context;
  if (request.target === "ProjectVirtualCluster") {
    const namespace = names.projectNamespace(request.project);
    return (
      matchesName(entry.project, request.project) && meansCluster(entry, namespace, request.virtualCluster, context)
    );
  }
  const matches = (namespace: string, name: string) => meansCluster(entry, namespace, name, context);
  const instance = { project: entry.project, matches, resource: "virtualclusterinstances" };
  return isManagement(request) && instanceOpens(instance, request.inner, names);
}

/** By its name, and by the labels that it has now. A star beside labels is an ordinary character. */
function meansCluster(
  { virtualCluster, labels }: VirtualClusterEntry,
  namespace: string,
  name: string,
  { index, clusterLabels }: IndexedContext,
): boolean {
  if (labels === undefined) return matchesName(virtualCluster, name);
  if (virtualCluster !== "" && virtualCluster !== name) return false;
  const found = clusterLabels?.of(namespace, name);
  return found !== undefined && index.selects(labels, found);
}

function spaceOpens(entry: SpaceEntry, request: PlatformRequest, names: PlatformNames): boolean {
  if (request.target === "ProjectSpace") {
    return matchesName(entry.project, request.project) && matchesName(entry.space, request.space);
  }
  const matches = (_: string, name: string) => matchesName(entry.space, name);
  const instance = { project: entry.project, matches, resource: "spaceinstances" };
  return isManagement(request) && instanceOpens(instance, request.inner, names);
}

type InstanceEntry = {
  readonly project: string;
  readonly matches: (namespace: string, name: string) => boolean;
  readonly resource: string;
};

/** Get the instance and its project, use it, and get into it. */
function instanceOpens({ project, matches, resource }: InstanceEntry, inner: TargetedRequest, names: PlatformNames) {
  if (isManaged(inner, "projects", names)) {
    return inner.verb === "get" && inner.subresource === "" && matchesName(project, inner.name);
  }
  if (!isManaged(inner, resource, names) || !allowedByInstanceEntry(inner)) return false;
  const projectOf = names.projectOf(inner.namespace);
  if (projectOf === undefined || !matchesName(project, projectOf)) return false;
  return matches(inner.namespace, inner.name);
}

const INSTANCE_ACTIONS: ReadonlySet<string> = new Set(["get/", "use/", "create/kubeconfig"]);

/** Verbs that an entry for an instance allows. */
export const allowedByInstanceEntry = ({ verb, subresource }: Pick<TargetedRequest, "verb" | "subresource">): boolean =>
  INSTANCE_ACTIONS.has(`${verb}/${subresource}`);

/** `use` is allowed together with `get`, because the proxy requires it of the owner. */
function clusterOpens(cluster: string, request: PlatformRequest, names: PlatformNames): boolean {
  if (request.target === "Cluster") return matchesName(cluster, request.cluster);
  if (!isManagement(request)) return false;
  const { inner } = request;
  if (!isManaged(inner, "clusters", names) || inner.subresource !== "") return false;
  return (inner.verb === "get" || inner.verb === "use") && matchesName(cluster, inner.name);
}

const isManaged = (inner: TargetedRequest, resource: string, { managementGroup }: PlatformNames): boolean =>
  inner.apiGroup === managementGroup && inner.resource === resource;
