// Says who may do what by walking over plain data, as slowly and literally as the product's tables are written. It shares no code
// with the decision point, so that both have to be wrong in the same way to agree.

import type { AccessKeyRestrictions, AccessKeyRule, AccessKeyScope } from "@postern/api/access-key-restrictions";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import type { PlatformRequest, TargetedRequest } from "../request/platform-request.ts";
import type { World } from "./memory-world.ts";

const GROUP = "management.postern";
const INVENTORY = "multicluster.x-k8s.io";
const FILTERED = ["projects", "clusters", "users", "teams", "virtualclusterinstances", "spaceinstances"];

/** `allowed(U, r)`: what the user may do, whatever it came with. */
export function userMay(world: World, user: UserInfo, request: PlatformRequest): boolean {
  switch (request.target) {
    case "Cluster":
      return userMayManage(world, user, use("clusters", "", request.cluster));
    case "ProjectSpace":
      return userMayManage(world, user, use("spaceinstances", `p-${request.project}`, request.space));
    case "ProjectVirtualCluster":
      return userMayManage(world, user, use("virtualclusterinstances", `p-${request.project}`, request.virtualCluster));
    case "Management":
      return userMayManage(world, user, request.inner);
  }
}

const use = (resource: string, namespace: string, name: string): TargetedRequest => ({
  isResourceRequest: true,
  verb: "use",
  apiGroup: GROUP,
  resource,
  subresource: "",
  namespace,
  name,
  path: "",
});

/** Reading the virtual cluster of a ClusterProfile; undefined for any other request. */
function readOfInstance(r: TargetedRequest): TargetedRequest | undefined {
  const isRead = r.subresource === "" && ["get", "list", "watch"].includes(r.verb);
  if (!isRead || r.apiGroup !== INVENTORY || r.resource !== "clusterprofiles") return undefined;
  return { ...r, apiGroup: GROUP, resource: "virtualclusterinstances" };
}

function userMayManage(world: World, user: UserInfo, r: TargetedRequest): boolean {
  const instance = readOfInstance(r);
  if (instance !== undefined && userMayManage(world, user, instance)) return true;
  const rulesOf = (role: string) =>
    world.clusterRoles.filter(({ name }) => name === role).flatMap(({ rules }) => rules);
  for (const { namespace, subjects, roleRef } of world.bindings) {
    if (namespace !== "" && namespace !== r.namespace) continue;
    const concerns = subjects.some(
      ({ kind, name }) =>
        (kind === "User" && name === user.name) || (kind === "Group" && user.groups.some((group) => group === name)),
    );
    if (concerns && rulesOf(roleRef.name).some((rule) => policyOpens(rule, r))) return true;
  }
  if (!r.isResourceRequest) return false;
  for (const project of world.projects) {
    const isAbout =
      r.namespace === `p-${project.name}` ||
      (r.namespace === "" && r.apiGroup === GROUP && r.resource === "projects" && r.name === project.name);
    if (!isAbout) continue;
    const roles = [
      ...(is(user, project.owner) ? ["postern:project-admin"] : []),
      ...project.members
        .filter(({ kind, name }) =>
          kind === "User" ? is(user, { user: name, team: "" }) : kind === "Team" && is(user, { user: "", team: name }),
        )
        .map(({ clusterRole }) => clusterRole),
    ];
    if (roles.some((role) => rulesOf(role).some((rule) => policyOpens(rule, r)))) return true;
  }
  for (const instance of world.instances) {
    const { resource, namespace, name, owner, access, extraAccessRules } = instance;
    const isListedIn = ({ users, teams }: { readonly users: readonly string[]; readonly teams: readonly string[] }) =>
      users.some((u) => (u === "*" ? hasPrefix(user, "postern:user:") : is(user, { user: u, team: "" }))) ||
      teams.some((t) => (t === "*" ? hasPrefix(user, "postern:team:") : is(user, { user: "", team: t })));
    const hasRoleInside = extraAccessRules.some((rule) => rule.clusterRole !== "" && isListedIn(rule));
    if (r.apiGroup === GROUP && r.resource === "projects" && r.namespace === "" && r.verb === "get") {
      const listedToUse = access.some(
        (entry) => isListedIn(entry) && (entry.verbs.includes("use") || entry.verbs.includes("*")),
      );
      const isGuest = is(user, owner) || hasRoleInside || listedToUse;
      if (isGuest && namespace === `p-${r.name}` && ["", "clusters", "templates"].includes(r.subresource)) return true;
    }
    if (r.apiGroup !== GROUP || r.resource !== resource || r.namespace !== namespace || r.name !== name) continue;
    if (hasRoleInside && r.subresource === "" && ["get", "list", "watch", "use"].includes(r.verb)) return true;
    if (hasRoleInside && r.subresource === "kubeconfig" && r.verb === "create") return true;
    const isMainVerb = ["get", "list", "watch", "update", "patch", "delete", "use"].includes(r.verb);
    if (is(user, owner)) {
      if (r.subresource === "" && isMainVerb) return true;
      if (r.subresource === "status" && r.verb === "get") return true;
      if (r.subresource !== "" && r.subresource !== "status") return true;
    }
    for (const { verbs, subresources, users, teams } of access) {
      const listed = isListedIn({ users, teams });
      const verb = verbs.some((v) => v === "*" || v === r.verb);
      const isWrite = r.subresource === "status" && !["get", "list", "watch"].includes(r.verb);
      const part =
        r.subresource === "" ? isMainVerb : !isWrite && subresources.some((s) => s === "*" || s === r.subresource);
      if (listed && verb && part) return true;
    }
  }
  if (
    r.apiGroup === GROUP &&
    r.namespace === "" &&
    r.verb === "get" &&
    ["", "accesskeys", "credentials"].includes(r.subresource)
  ) {
    if (r.resource === "users" && is(user, { user: r.name, team: "" })) return true;
    if (r.resource === "teams" && is(user, { user: "", team: r.name })) return true;
  }
  for (const { resource, namespace, name } of world.instances) {
    if (resource !== "virtualclusterinstances" || user.name !== `postern:vcluster:${namespace}:${name}`) continue;
    if (asksAboutOthers(r)) return true;
    const own = r.resource === resource && r.namespace === namespace && r.name === name;
    if (own && r.apiGroup === GROUP && r.verb === "get" && ["", "accesskey"].includes(r.subresource)) return true;
  }
  if (/^postern:cluster:[^:]+$/.test(user.name)) {
    if (asksAboutOthers(r)) return true;
    const own = r.apiGroup === GROUP && r.resource === "clusters" && `postern:cluster:${r.name}` === user.name;
    if (own && r.verb === "get" && r.subresource === "") return true;
  }
  return isFilteredList(r) && user.groups.includes("system:authenticated");
}

const is = (user: UserInfo, { user: name, team }: { readonly user: string; readonly team: string }): boolean =>
  (name !== "" && user.groups.includes(`postern:user:${name}`)) ||
  (team !== "" && user.groups.includes(`postern:team:${team}`));

const hasPrefix = ({ groups }: UserInfo, prefix: string): boolean =>
  groups.some((group) => group.startsWith(prefix) && group !== prefix);

function policyOpens(rule: PolicyRule, r: TargetedRequest): boolean {
  if (!rule.verbs.some((verb) => verb === "*" || verb === r.verb)) return false;
  if (!r.isResourceRequest) {
    return rule.nonResourceURLs.some((url) =>
      url.endsWith("*") ? r.path.startsWith(url.slice(0, -1)) : url === r.path,
    );
  }
  const whole = r.subresource === "" ? r.resource : `${r.resource}/${r.subresource}`;
  return (
    rule.apiGroups.some((group) => group === "*" || group === r.apiGroup) &&
    rule.resources.some((pattern) => pattern === "*" || pattern === whole || pattern === `*/${r.subresource || "?"}`) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.some((name) => name === r.name))
  );
}

const isFilteredList = (r: TargetedRequest): boolean =>
  r.isResourceRequest &&
  ["list", "watch"].includes(r.verb) &&
  r.subresource === "" &&
  ((r.apiGroup === GROUP && FILTERED.includes(r.resource)) ||
    (r.apiGroup === INVENTORY && r.resource === "clusterprofiles"));

const asksAboutOthers = (r: TargetedRequest): boolean =>
  r.isResourceRequest &&
  r.namespace === "" &&
  r.subresource === "" &&
  [
    `introspect ${GROUP} selves`,
    "create authentication.k8s.io tokenreviews",
    "create authorization.k8s.io subjectaccessreviews",
    `create ${GROUP} subjectaccessreviews`,
  ].includes(`${r.verb} ${r.apiGroup} ${r.resource}`);

/** `inScope(S, r)`: whether what the key is narrowed to opens the request. */
export function scopeOpens(
  restrictions: AccessKeyRestrictions | undefined,
  request: PlatformRequest,
  user: UserInfo,
  owner: AccessKeyOwner,
  instances: World["instances"],
): boolean {
  if (restrictions === undefined || alwaysOpen(request)) return true;
  const { scope, ruleSets } = restrictions;
  if (scope === undefined && ruleSets.length === 0) return false;
  if (request.target === "Management" && isAboutControlPlaneKeys(request.inner)) {
    const { namespace, name, resource } = request.inner;
    const isItself = owner.kind === "subject" && owner.name === `postern:vcluster:${namespace}:${name}`;
    if (!isItself || resource !== "virtualclusterinstances") return false;
  }
  if (scope !== undefined && !entryOpens(scope, request, user, owner, instances)) return false;
  return ruleSets.every((rules) => rules.some((rule) => ruleAllowsRequest(rule, request)));
}

function alwaysOpen({ target, inner: r }: PlatformRequest): boolean {
  if (target !== "Management") return false;
  if (!r.isResourceRequest) {
    const below = /^\/(api|apis|openapi|healthz|livez|readyz)(\/.*)?$|^\/version\/?$/s;
    return ["get", "head"].includes(r.verb) && below.test(r.path);
  }
  return (
    r.namespace === "" &&
    r.subresource === "" &&
    [
      `create ${GROUP} selves`,
      `create ${GROUP} selfsubjectaccessreviews`,
      "list apiextensions.k8s.io customresourcedefinitions",
      "create authentication.k8s.io selfsubjectreviews",
      "create authorization.k8s.io selfsubjectaccessreviews",
      "create authorization.k8s.io selfsubjectrulesreviews",
    ].includes(`${r.verb} ${r.apiGroup} ${r.resource}`)
  );
}

const named = (pattern: string, name: string): boolean => (pattern === "*" ? name.length > 0 : pattern === name);

const isAboutControlPlaneKeys = (r: TargetedRequest): boolean =>
  r.isResourceRequest &&
  [GROUP, "*"].includes(r.apiGroup) &&
  ["virtualclusterinstances", "clusters", "*"].includes(r.resource) &&
  ["accesskey", "*"].includes(r.subresource);

function isAboutKeys(r: TargetedRequest): boolean {
  if (!r.isResourceRequest) return false;
  const inGroup = (group: string): boolean => r.apiGroup === group || r.apiGroup === "*";
  if (r.resource === "*" && r.namespace === "" && (inGroup(GROUP) || inGroup("storage.postern"))) return true;
  if (inGroup("storage.postern") && r.resource === "accesskeys") return true;
  if (!inGroup(GROUP)) return false;
  return (
    r.resource === "ownedaccesskeys" ||
    (["users", "teams"].includes(r.resource) && ["accesskeys", "credentials", "*"].includes(r.subresource))
  );
}

/** Whether an entry means a virtual cluster: by its name, and by the labels that it has in the world. */
function meansCluster(
  { virtualCluster, labels }: AccessKeyScope["virtualClusters"][number],
  namespace: string,
  name: string,
  instances: World["instances"],
): boolean {
  if (labels === undefined) return named(virtualCluster, name);
  if (virtualCluster !== "" && virtualCluster !== name) return false;
  return instances.some((one) => {
    if (one.resource !== "virtualclusterinstances" || one.namespace !== namespace || one.name !== name) return false;
    return labels.every(({ key, operator, values }) => {
      const has = Object.keys(one.labels).includes(key);
      const isOne = has && values.some((value) => value === one.labels[key]);
      if (operator === "in") return isOne;
      if (operator === "notin") return !isOne;
      return operator === "exists" ? has : !has;
    });
  });
}

function entryOpens(
  scope: AccessKeyScope,
  request: PlatformRequest,
  user: UserInfo,
  owner: AccessKeyOwner,
  instances: World["instances"],
): boolean {
  const { projects, spaces, virtualClusters, clusters, roles } = scope;
  if (request.target === "Cluster") return clusters.some(({ cluster }) => named(cluster, request.cluster));
  if (request.target === "ProjectSpace") {
    return (
      projects.some(({ project }) => named(project, request.project)) ||
      spaces.some((entry) => named(entry.project, request.project) && named(entry.space, request.space))
    );
  }
  if (request.target === "ProjectVirtualCluster") {
    return (
      projects.some(({ project }) => named(project, request.project)) ||
      virtualClusters.some(
        (entry) =>
          named(entry.project, request.project) &&
          meansCluster(entry, `p-${request.project}`, request.virtualCluster, instances),
      )
    );
  }
  const r = request.inner;
  if (!r.isResourceRequest) {
    return roles.some(({ role }) => role === "metrics-reader") && r.path === "/metrics" && /^(get|head)$/.test(r.verb);
  }
  if (isAboutKeys(r)) return false;
  if (isFilteredList(r)) return true;
  const instance = readOfInstance(r);
  if (instance !== undefined)
    return entryOpens(scope, { target: "Management", inner: instance }, user, owner, instances);
  const isOurs = r.apiGroup === GROUP;
  const projectOfNamespace = /^p-(.+)$/s.exec(r.namespace)?.[1];
  for (const { project } of projects) {
    if (projectOfNamespace !== undefined && named(project, projectOfNamespace)) return true;
    if (isOurs && r.resource === "projects" && r.namespace === "" && named(project, r.name)) return true;
  }
  const reach = [
    ...virtualClusters.map((entry) => ({
      resource: "virtualclusterinstances",
      project: entry.project,
      isMeant: () => meansCluster(entry, r.namespace, r.name, instances),
    })),
    ...spaces.map(({ project, space }) => ({
      resource: "spaceinstances",
      project,
      isMeant: () => named(space, r.name),
    })),
  ];
  const act = r.subresource === "" ? r.verb : `${r.verb} ${r.subresource}`;
  for (const { resource, project, isMeant } of reach) {
    if (isOurs && r.resource === "projects" && act === "get" && named(project, r.name)) return true;
    const isIt =
      isOurs &&
      r.resource === resource &&
      projectOfNamespace !== undefined &&
      named(project, projectOfNamespace) &&
      isMeant();
    if (isIt && ["get", "use", "create kubeconfig"].includes(act)) return true;
  }
  for (const { cluster } of clusters) {
    if (isOurs && r.resource === "clusters" && ["get", "use"].includes(act) && named(cluster, r.name)) return true;
  }
  for (const role of roles) {
    const inProjects = (project: string | undefined): boolean =>
      project !== undefined && (role.projects.length === 0 || role.projects.some((entry) => named(entry, project)));
    const inBoth = (): boolean =>
      inProjects(projectOfNamespace) &&
      (role.virtualClusters.length === 0 || role.virtualClusters.some((entry) => named(entry, r.name)));
    if (role.role === "platform-cli" && isOurs && r.name !== "") {
      if (act === "get" && r.resource === "users" && is(user, { user: r.name, team: "" })) return true;
      if (act === "get" && r.resource === "teams" && is(user, { user: "", team: r.name })) return true;
      if (act === "get" && r.resource === "clusters") return true;
      if (act === "get" && /^(virtualcluster|space)instances$/.test(r.resource) && inBoth()) return true;
      if (["get", "get clusters", "get templates"].includes(act) && r.resource === "projects") {
        if (role.projects.length > 0 ? inProjects(r.name) : role.virtualClusters.length === 0) return true;
      }
    }
    if ((role.role === "vcluster" || role.role === "agent") && asksAboutOthers(r)) return true;
    if (role.role === "vcluster" && isOurs && r.resource === "virtualclusterinstances" && r.name !== "") {
      const identity = owner.kind === "subject" ? /^postern:vcluster:([^:]+):([^:]+)$/s.exec(owner.name) : null;
      const isNarrowed = role.projects.length + role.virtualClusters.length > 0;
      const isOwn = identity === null ? isNarrowed : identity[1] === r.namespace && identity[2] === r.name;
      if (isOwn && inBoth() && ["get", "get accesskey"].includes(act)) return true;
    }
    if (role.role === "agent" && isOurs && r.resource === "clusters" && act === "get") {
      if (owner.kind === "subject" && /^postern:cluster:[^:]+$/.test(owner.name)) {
        if (owner.name === `postern:cluster:${r.name}`) return true;
      }
    }
  }
  return false;
}

function ruleAllowsRequest(rule: AccessKeyRule, request: PlatformRequest): boolean {
  const r = request.inner;
  if (rule.requestTargets.length > 0 && !rule.requestTargets.some((target) => target === request.target)) return false;
  if (rule.verbs.length > 0 && !rule.verbs.some((verb) => verb === r.verb || verb === "*")) return false;
  if (rule.cluster !== "" && (request.target !== "Cluster" || !named(rule.cluster, request.cluster))) return false;
  if (rule.virtualClusters.length > 0) {
    if (request.target !== "ProjectVirtualCluster") return false;
    const fits = rule.virtualClusters.some(
      ({ name, namespace }) =>
        (name === "" || named(name, request.virtualCluster)) &&
        (namespace === "" || named(namespace, `p-${request.project}`)),
    );
    if (!fits) return false;
  }
  const aboutKeys = request.target === "Management" && isAboutKeys(r);
  const { resources, namespaces, nonResourceURLs } = rule;
  if (request.target !== "Management" && handsOutCredentials(r)) {
    const hasEveryVerb = rule.verbs.length === 0 || rule.verbs.some((verb) => verb === "*");
    return hasEveryVerb && resources.length + namespaces.length + nonResourceURLs.length === 0;
  }
  if (!r.isResourceRequest) {
    if (namespaces.length > 0) return false;
    if (resources.length === 0 && nonResourceURLs.length === 0) return true;
    return nonResourceURLs.some(
      (url) => url === "*" || url === r.path || (/\/\*$/.test(url) && r.path.startsWith(url.replace(/\*$/, ""))),
    );
  }
  if (namespaces.length > 0 && !namespaces.some((namespace) => namespace === r.namespace)) return false;
  if (resources.length === 0) return nonResourceURLs.length === 0 && !aboutKeys;
  return resources.some(({ group, resources: patterns, resourceNames }) => {
    if (group !== r.apiGroup && (group !== "*" || aboutKeys)) return false;
    if (patterns.length === 0) return resourceNames.length === 0 && !aboutKeys;
    if (resourceNames.length > 0 && !resourceNames.some((name) => name === r.name)) return false;
    return patterns.some((pattern) => {
      const [resource, subresource = ""] = pattern.split("/");
      if (pattern === "*") return !aboutKeys;
      if (resource === "*") return !aboutKeys && r.subresource !== "" && subresource === r.subresource;
      if (resource !== r.resource) return false;
      return subresource === "*" ? r.subresource !== "" : subresource === r.subresource;
    });
  });
}

/** Tokens of service accounts and approvals of certificates, spelled out or among others. */
function handsOutCredentials({ isResourceRequest, verb, apiGroup, resource, subresource }: TargetedRequest): boolean {
  if (!isResourceRequest || verb === "get") return false;
  const asked = `${apiGroup}|${resource}|${subresource}`;
  return /^\*?\|(serviceaccounts\|(token|\*)|\*\|(token|\*)?)$|^(\*|certificates\.k8s\.io)\|(certificatesigningrequests\|(approval|\*)|\*\|(approval|\*)?)$/.test(
    asked,
  );
}
