// A small platform in memory that decisions can be made about: roles, bindings, projects, instances and access keys.

import type { AccessKeyRestrictions, AccessKeyRule, AccessKeyScope } from "@postern/api/access-key-restrictions";
import { createPlatformNames, type PlatformNames } from "@postern/api/platform-names";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { ChangeLog } from "@postern/apiserver/authorization/change-log";
import { type PolicyRule, readPolicyRules } from "@postern/apiserver/authorization/rbac/policy-rule";
import { RbacIndex } from "@postern/apiserver/authorization/rbac/rbac-index";
import { type RbacBinding, readBinding } from "@postern/apiserver/authorization/rbac/role-binding";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { builtInClusterRoleBindings, builtInClusterRoles } from "../built-in-roles.ts";
import { isOwner } from "../caller.ts";
import type { InstanceResource } from "../filtered-resources.ts";
import {
  type InstancePermissionIndex,
  type InstancePermissions,
  indexPermissions,
  readInstancePermissions,
} from "../members/instance-permissions.ts";
import {
  indexMembership,
  type ProjectChange,
  type ProjectMembership,
  type ProjectMembershipIndex,
  readProjectMembership,
} from "../members/project-memberships.ts";
import { SubjectIndex } from "../members/subject-index.ts";
import type { DecisionDeps, Subject } from "../platform-decision.ts";
import type {
  ClusterRequest,
  PlatformRequest,
  SpaceRequest,
  TargetedRequest,
  VirtualClusterRequest,
} from "../request/platform-request.ts";

export const names: PlatformNames = createPlatformNames({
  domain: "postern",
  name: "postern",
  projectNamespacePrefix: "p-",
});

export type NamedRole = { readonly name: string; readonly rules: readonly PolicyRule[] };
export type Project = ProjectMembership & { readonly name: string };
export type Instance = InstancePermissions & {
  readonly resource: InstanceResource;
  readonly namespace: string;
  readonly name: string;
};

/** The owner of what has none. */
export const UNOWNED: Project["owner"] = { user: "", team: "" };

/** The virtual cluster v1 of project a, without an owner or access rules. */
export const instanceWith = (parts: Partial<Instance>): Instance => ({
  resource: "virtualclusterinstances",
  namespace: "p-a",
  name: "v1",
  owner: UNOWNED,
  access: [],
  extraAccessRules: [],
  labels: {},
  ...parts,
});

/** Plain data, so that an oracle can read it without any of the code under test. */
export type World = {
  readonly clusterRoles: readonly NamedRole[];
  readonly bindings: readonly RbacBinding[];
  readonly projects: readonly Project[];
  readonly instances: readonly Instance[];
};

export const builtInRoles: readonly NamedRole[] = builtInClusterRoles(names).map(({ metadata, ...role }) => ({
  name: metadata.name ?? "",
  rules: readPolicyRules(role["rules"]),
}));
export const builtInBindings: readonly RbacBinding[] = builtInClusterRoleBindings(names).map(readBinding);

export const world = (parts: Partial<World> = {}): World => ({
  clusterRoles: [...builtInRoles, ...(parts.clusterRoles ?? [])],
  bindings: [...builtInBindings, ...(parts.bindings ?? [])],
  projects: parts.projects ?? [],
  instances: parts.instances ?? [],
});

export type MemorySources = DecisionDeps & {
  readonly rbac: RbacIndex;
  readonly access: {
    setKey(key: AccessKeyState | undefined, id?: string): void;
    setRefusal(cause: string | undefined): void;
    setProject(project: Project): void;
    setInstance(instance: Instance): void;
  };
};

export function memorySources({ clusterRoles, bindings, projects, instances }: World): MemorySources {
  const rbac = new RbacIndex();
  for (const { name, rules } of clusterRoles) rbac.setRole("", name, rules);
  for (const binding of bindings) rbac.setBinding(binding);
  const projectsByName = new Map(projects.map((project) => [project.name, indexMembership(project)]));
  const instancesByKey = new Map(
    instances.map((instance) => [instanceKey(instance), { ...instance, index: indexPermissions(instance) }]),
  );
  const keys = new Map<string, AccessKeyState>();
  let refusal: string | undefined;
  let version = 1;
  const listeners = new ChangeListeners();
  const log = new ChangeLog<ProjectChange>();
  const change = (): void => {
    version++;
    listeners.call();
  };
  const projectMemberships: ProjectMembershipIndex = {
    get version() {
      return version;
    },
    onChange: (listener) => listeners.add(listener),
    changesSince: (since) => log.since(since),
    get: (name) => projectsByName.get(name),
    of: (object) => indexMembership(readProjectMembership(object.decode())),
    entries: () => projectsByName.entries(),
  };
  const namespacesOf = (user: UserInfo): ReadonlySet<string> =>
    new Set(
      [...instancesByKey.values()].flatMap(({ namespace, owner, access, index: { extraAccessRules } }) => {
        const uses = access.filter(({ verbs }) => verbs.includes("use") || verbs.includes("*"));
        const lists =
          new SubjectIndex(uses, (entry) => entry).lists(user, names) || extraAccessRules.lists(user, names);
        return lists || isOwner(user, owner, names) ? [namespace] : [];
      }),
    );
  const instancePermissions: InstancePermissionIndex = {
    get version() {
      return version;
    },
    onChange: (listener) => listeners.add(listener),
    get: (resource, namespace, name) => instancesByKey.get(instanceKey({ resource, namespace, name }))?.index,
    of: (object) => indexPermissions(readInstancePermissions(object.decode())),
    entries: (resource, namespace) =>
      [...instancesByKey.values()]
        .filter((instance) => instance.resource === resource && instance.namespace === namespace)
        .map((instance) => [instance.name, instance.index] as const),
    isUserIn: (user, namespace) => namespacesOf(user).has(namespace),
    namespacesOf,
  };
  return {
    names,
    rbac,
    projects: projectMemberships,
    instances: instancePermissions,
    keys: { byId: (id) => keys.get(id), refusalOf: () => refusal },
    access: {
      setKey(key, id = key?.id ?? "") {
        if (key === undefined) keys.delete(id);
        else keys.set(id, key);
      },
      setRefusal: (cause) => {
        refusal = cause;
      },
      setProject(project) {
        const known = projectsByName.get(project.name);
        const made = indexMembership(project);
        projectsByName.set(project.name, made);
        log.add(version + 1, {
          project: project.name,
          memberships: known === undefined ? [made] : [known, made],
        });
        change();
      },
      setInstance(instance) {
        instancesByKey.set(instanceKey(instance), { ...instance, index: indexPermissions(instance) });
        change();
      },
    },
  };
}

const instanceKey = ({ resource, namespace, name }: Pick<Instance, "resource" | "namespace" | "name">): string =>
  `${resource}/${namespace}/${name}`;

export const userInfo = (name: string, ...teams: readonly string[]): UserInfo => ({
  name,
  groups: ["system:authenticated", names.authenticatedGroup, names.userGroup(name), ...teams.map(names.teamGroup)],
});
export const admin: UserInfo = { ...userInfo("admin"), groups: [...userInfo("admin").groups, names.adminsGroup] };

export const emptyScope: AccessKeyScope = { roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [] };
export const scoped = (scope: Partial<AccessKeyScope>): AccessKeyRestrictions => ({
  scope: { ...emptyScope, ...scope },
  ruleSets: [],
});
export const openRule: AccessKeyRule = {
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  requestTargets: [],
  cluster: "",
  virtualClusters: [],
};
export const ruled = (...rules: readonly Partial<AccessKeyRule>[]): AccessKeyRestrictions => ({
  scope: undefined,
  ruleSets: [rules.map((rule) => ({ ...openRule, ...rule }))],
});

export const withKey = (user: UserInfo, { id }: Pick<AccessKeyState, "id">): Subject => ({ user, credential: { id } });

/** `get projects/a`, `create virtualclusterinstances/p-a/v1/kubeconfig`, `get /metrics`; the platform's group by default. */
export function management(parts: Partial<TargetedRequest>): PlatformRequest {
  return { target: "Management", inner: inner({ apiGroup: names.managementGroup, ...parts }) };
}

export const inner = (parts: Partial<TargetedRequest>): TargetedRequest => ({
  isResourceRequest: true,
  verb: "get",
  apiGroup: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  path: "",
  ...parts,
});

export const path = (url: string, verb = "get"): PlatformRequest => ({
  target: "Management",
  inner: inner({ isResourceRequest: false, verb, path: url }),
});

export const intoVirtualCluster = (
  project: string,
  virtualCluster: string,
  parts: Partial<TargetedRequest> = { resource: "pods", verb: "list", namespace: "default" },
): VirtualClusterRequest => ({ target: "ProjectVirtualCluster", project, virtualCluster, inner: inner(parts) });

export const intoSpace = (project: string, space: string): SpaceRequest => ({
  target: "ProjectSpace",
  project,
  space,
  inner: inner({ resource: "pods", verb: "list" }),
});

export const intoCluster = (
  cluster: string,
  parts: Partial<TargetedRequest> = { resource: "pods", verb: "list" },
): ClusterRequest => ({ target: "Cluster", cluster, inner: inner(parts) });

/** An object as the watch cache would show it. */
export function cached(object: KubeObject, resource: string): CachedObject {
  const { namespace, name } = object.metadata;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return CachedObject.fromObject(`/registry/main/${names.managementGroup}/${resource}/${place}`, object);
}

/** The stored object that a project's facts are read from. */
export const projectObject = ({ name, owner, members }: Project): KubeObject => ({
  apiVersion: `${names.managementGroup}/v1`,
  kind: "Project",
  metadata: { name },
  spec: { owner: owner as JsonValue, members: members as unknown as JsonValue },
});

export const instanceObject = ({ name, namespace, owner, access, extraAccessRules, labels }: Instance): KubeObject => ({
  apiVersion: `${names.managementGroup}/v1`,
  kind: "VirtualClusterInstance",
  metadata: { name, namespace, labels },
  spec: {
    owner: owner as JsonValue,
    access: access as unknown as JsonValue,
    extraAccessRules: extraAccessRules as unknown as JsonValue,
  },
});
