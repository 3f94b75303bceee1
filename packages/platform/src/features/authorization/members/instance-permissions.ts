// The port for owners and access of virtual clusters and spaces, and its implementation over the watch cache.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Labels } from "@postern/apimachinery/selectors/label-requirement";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner, SubjectList } from "../caller.ts";
import type { InstanceResource } from "../filtered-resources.ts";
import { type GrantedAccess, type GrantedRole, NO_GRANTED_ACCESS } from "../granted-access.ts";
import type { ClusterLabels } from "../restrictions/scope-context.ts";
import { type GroupNames, type InstanceSubjects, InstanceUsers } from "./instance-users.ts";
import { memberOf, readOwner, textOf, textsOf } from "./stored-members.ts";
import { SubjectIndex } from "./subject-index.ts";

/** One of `spec.access[]`. */
export type InstanceAccess = SubjectList & {
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
};

/** One of `spec.extraAccessRules[]`: the ClusterRole that people have inside the virtual cluster. */
export type ExtraAccessRule = SubjectList & {
  readonly clusterRole: string;
  /** The access request that gave the role for a time, to the members of its group. Absent: a standing rule. */
  readonly accessRequest?: string;
  readonly groups?: readonly string[];
};

export type InstancePermissions = {
  readonly owner: Owner;
  readonly access: readonly InstanceAccess[];
  readonly extraAccessRules: readonly ExtraAccessRule[];
  /** Keys may be limited to instances with certain labels. */
  readonly labels: Labels;
};

/** Permissions whose entries are found by user and team. */
export type IndexedPermissions = {
  readonly owner: Owner;
  readonly access: SubjectIndex<InstanceAccess>;
  readonly extraAccessRules: SubjectIndex<ExtraAccessRule>;
  readonly labels: Labels;
};

/** The version increases when access to an instance changes, and not with every write. */
export type InstancePermissionIndex = PolicyVersion & {
  get(resource: InstanceResource, namespace: string, name: string): IndexedPermissions | undefined;
  /** Read from the object itself, which may be older or newer than the result of `get`. */
  of(object: CachedObject): IndexedPermissions;
  /** The instances of a namespace, unordered. */
  entries(
    resource: InstanceResource,
    namespace: string,
  ): Iterable<readonly [name: string, permissions: IndexedPermissions]>;
  /** Whether the user owns an instance of a namespace, or is listed to use one. */
  isUserIn(user: UserInfo, namespace: string, names: GroupNames): boolean;
  /** The namespaces of these instances. */
  namespacesOf(user: UserInfo, names: GroupNames): ReadonlySet<string>;
};

/** The parts of an instance that decide who has access to it. */
export function readInstancePermissions(instance: KubeObject): InstancePermissions {
  const spec = instance["spec"];
  return {
    owner: readOwner(spec),
    access: listOf(spec, "access").map((entry) => ({
      verbs: textsOf(entry, "verbs"),
      subresources: textsOf(entry, "subresources"),
      ...readPeople(entry),
    })),
    extraAccessRules: listOf(spec, "extraAccessRules").map((entry) => ({
      clusterRole: textOf(entry, "clusterRole"),
      ...readPeople(entry),
    })),
    labels: instance.metadata.labels ?? {},
  };
}

const listOf = (spec: JsonValue | undefined, member: string): readonly JsonValue[] => {
  const list = memberOf(spec, member);
  return isJsonArray(list) ? list : [];
};

const readPeople = (entry: JsonValue): SubjectList => ({
  users: textsOf(entry, "users"),
  teams: textsOf(entry, "teams"),
});

const NOBODY: SubjectList = { users: [], teams: [] };

export function indexPermissions({ owner, access, extraAccessRules, labels }: InstancePermissions): IndexedPermissions {
  return {
    owner,
    access: new SubjectIndex(access, (entry) => entry),
    // A rule without a role gives none.
    extraAccessRules: new SubjectIndex(extraAccessRules, (rule) => (rule.clusterRole === "" ? NOBODY : rule)),
    labels,
  };
}

/** All that `isUserIn` finds: the owner, and everyone who is listed to use the instance or has a role inside. */
function subjectsOf(
  { owner, access, extraAccessRules }: InstancePermissions,
  granted: readonly GrantedRole[],
): InstanceSubjects {
  const lists = [...access.filter(mayUse), ...extraAccessRules.filter(({ clusterRole }) => clusterRole !== "")];
  const named = (list: readonly string[]): ReadonlySet<string> => new Set(list.filter((name) => name !== ""));
  const owning = (name: string): readonly string[] => (name === "*" ? [] : [name]);
  return {
    users: named([...owning(owner.user), ...lists.flatMap(({ users }) => users)]),
    teams: named([...owning(owner.team), ...lists.flatMap(({ teams }) => teams)]),
    groups: named(granted.map(({ group }) => group)),
  };
}

const mayUse = ({ verbs }: InstanceAccess): boolean => verbs.includes("use") || verbs.includes("*");

/** The standing rules, and those for a time behind them. */
function withGranted(standing: IndexedPermissions, granted: readonly GrantedRole[]): IndexedPermissions {
  if (granted.length === 0) return standing;
  const rules = granted.map(({ group, clusterRole, accessRequest }) => ({
    ...NOBODY,
    groups: [group],
    clusterRole,
    accessRequest,
  }));
  return { ...standing, extraAccessRules: new SubjectIndex(rules, (rule) => rule, standing.extraAccessRules) };
}

/** An instance as its object says. */
type StandingPermissions = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly read: InstancePermissions;
  readonly indexed: IndexedPermissions;
};

function readStanding(object: CachedObject): StandingPermissions {
  const instance = object.decode();
  const { namespace = "", name = "", uid = "" } = instance.metadata;
  const read = readInstancePermissions(instance);
  return { namespace, name, uid, read, indexed: indexPermissions(read) };
}

type KnownInstance = {
  readonly standing: StandingPermissions;
  readonly now: IndexedPermissions;
  readonly subjects: InstanceSubjects;
};
type PermissionsByName = Map<string, KnownInstance>;

/** Grants for a time are in virtual clusters of projects. */
export type InstanceGrants = {
  readonly access: GrantedAccess;
  readonly names: Pick<PlatformNames, "projectOf" | "projectNamespace">;
};

/** Follows the instances from their current state on, until disposed. The cache must be ready. */
export function createInstancePermissionIndex(
  views: { readonly [resource in InstanceResource]: ViewPrefix },
  scheduler: Scheduler,
  grants?: InstanceGrants,
): InstancePermissionIndex & Disposable {
  const byResource = {
    virtualclusterinstances: new Map<string, PermissionsByName>(),
    spaceinstances: new Map<string, PermissionsByName>(),
  };
  const { access: granted = NO_GRANTED_ACCESS, names } = grants ?? {};
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, readonly [InstanceResource, StandingPermissions]>();
  const policyVersion = new PolicyVersionSource();

  const users = new InstanceUsers();

  const grantedNow = (resource: InstanceResource, { namespace, name, uid }: StandingPermissions) => {
    const project = resource === "virtualclusterinstances" ? names?.projectOf(namespace) : undefined;
    return project === undefined ? [] : granted.inVirtualCluster(project, name, uid);
  };
  const forget = (byName: PermissionsByName, namespace: string, name: string): boolean => {
    const known = byName.get(name);
    if (known !== undefined) users.remove(namespace, known.subjects);
    return byName.delete(name);
  };
  const show = (resource: InstanceResource, standing: StandingPermissions): void => {
    const { namespace, name } = standing;
    const byName: PermissionsByName = byResource[resource].get(namespace) ?? new Map();
    forget(byName, namespace, name);
    const grantedRoles = grantedNow(resource, standing);
    const subjects = subjectsOf(standing.read, grantedRoles);
    users.add(namespace, subjects);
    byName.set(name, { standing, now: withGranted(standing.indexed, grantedRoles), subjects });
    byResource[resource].set(namespace, byName);
    policyVersion.changed();
  };

  const follow = (resource: InstanceResource): Disposable => {
    const byNamespace = byResource[resource];
    const put = (object: CachedObject): void => {
      const read = readStanding(object);
      const known = byNamespace.get(read.namespace)?.get(read.name)?.standing;
      const isKnown = known !== undefined && known.uid === read.uid && equalJson(known.read, read.read);
      byObject.set(object, [resource, isKnown ? known : read]);
      if (!isKnown) show(resource, read);
    };
    return followView(views[resource], scheduler, {
      replace(objects) {
        for (const [namespace, byName] of byNamespace)
          for (const name of byName.keys()) forget(byName, namespace, name);
        byNamespace.clear();
        policyVersion.changed();
        for (const object of objects) put(object);
      },
      put,
      delete(object) {
        const { namespace = "", name = "" } = object.decode().metadata;
        const byName = byNamespace.get(namespace);
        if (byName === undefined || !forget(byName, namespace, name)) return;
        if (byName.size === 0) byNamespace.delete(namespace);
        policyVersion.changed();
      },
    });
  };
  const followed = [
    follow("virtualclusterinstances"),
    follow("spaceinstances"),
    granted.onPlaceChange(({ project, virtualCluster }) => {
      if (virtualCluster === undefined || names === undefined) return;
      const namespace = names.projectNamespace(project);
      const known = byResource.virtualclusterinstances.get(namespace)?.get(virtualCluster);
      if (known !== undefined) show("virtualclusterinstances", known.standing);
    }),
  ];

  return {
    get version() {
      granted.settle();
      return policyVersion.version;
    },
    onChange: (listener) => policyVersion.onChange(listener),
    get: (resource, namespace, name) => byResource[resource].get(namespace)?.get(name)?.now,
    of(object) {
      const [resource, standing] = byObject.get(object) ?? [undefined, readStanding(object)];
      if (resource === undefined) return standing.indexed;
      const known = byResource[resource].get(standing.namespace)?.get(standing.name);
      return known?.standing === standing ? known.now : withGranted(standing.indexed, grantedNow(resource, standing));
    },
    *entries(resource, namespace) {
      for (const [name, { now }] of byResource[resource].get(namespace) ?? NOTHING_KNOWN) yield [name, now] as const;
    },
    isUserIn: (user, namespace, groupNames) => users.isIn(user, namespace, groupNames),
    namespacesOf: (user, groupNames) => users.namespacesOf(user, groupNames),
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  };
}

const NOTHING_KNOWN: PermissionsByName = new Map();

/** For entries of scopes that select by labels. */
export const labelsOfClusters = (instances: Pick<InstancePermissionIndex, "get">): ClusterLabels => ({
  of: (namespace, name) => instances.get("virtualclusterinstances", namespace, name)?.labels,
});
