// The port for owners and access of virtual clusters and spaces, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner, SubjectList } from "./caller.ts";
import type { InstanceResource } from "./filtered-resources.ts";
import { memberOf, readOwner, textOf, textsOf } from "./stored-members.ts";
import { SubjectIndex } from "./subject-index.ts";

/** One of `spec.access[]`. */
export type InstanceAccess = SubjectList & {
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
};

/** One of `spec.extraAccessRules[]`: the ClusterRole that people have inside the virtual cluster. */
export type ExtraAccessRule = SubjectList & { readonly clusterRole: string };

export type InstancePermissions = {
  readonly owner: Owner;
  readonly access: readonly InstanceAccess[];
  readonly extraAccessRules: readonly ExtraAccessRule[];
};

/** Permissions whose entries are found by user and team. */
export type IndexedPermissions = {
  readonly owner: Owner;
  readonly access: SubjectIndex<InstanceAccess>;
  /** The entries of `access` that allow to use the instance. */
  readonly uses: SubjectIndex<InstanceAccess>;
  readonly extraAccessRules: SubjectIndex<ExtraAccessRule>;
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
};

/** The parts of an instance's spec that give access to it. */
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

export function indexPermissions({ owner, access, extraAccessRules }: InstancePermissions): IndexedPermissions {
  return {
    owner,
    access: new SubjectIndex(access, (entry) => entry),
    uses: new SubjectIndex(access.filter(mayUse), (entry) => entry),
    // A rule without a role gives none.
    extraAccessRules: new SubjectIndex(extraAccessRules, (rule) => (rule.clusterRole === "" ? NOBODY : rule)),
  };
}

const mayUse = ({ verbs }: InstanceAccess): boolean => verbs.includes("use") || verbs.includes("*");

type PermissionsByName = Map<string, IndexedPermissions>;

const NONE: readonly (readonly [string, IndexedPermissions])[] = [];

const listedIn = ({ owner, access, extraAccessRules }: IndexedPermissions): InstancePermissions => ({
  owner,
  access: access.entries,
  extraAccessRules: extraAccessRules.entries,
});

/** Follows the instances from their current state on, until disposed. The cache must be ready. */
export function createInstancePermissionIndex(
  views: { readonly [resource in InstanceResource]: ViewPrefix },
  scheduler: Scheduler,
): InstancePermissionIndex & Disposable {
  const byResource = {
    virtualclusterinstances: new Map<string, PermissionsByName>(),
    spaceinstances: new Map<string, PermissionsByName>(),
  };
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, IndexedPermissions>();
  const policyVersion = new PolicyVersionSource();

  const follow = (resource: InstanceResource): Disposable => {
    const byNamespace = byResource[resource];
    const put = (object: CachedObject): void => {
      const instance = object.decode();
      const { namespace = "", name = "" } = instance.metadata;
      const byName = byNamespace.get(namespace) ?? new Map<string, IndexedPermissions>();
      const read = readInstancePermissions(instance);
      const known = byName.get(name);
      const permissions = known !== undefined && equalJson(listedIn(known), read) ? known : indexPermissions(read);
      byObject.set(object, permissions);
      if (permissions === known) return;
      byNamespace.set(namespace, byName.set(name, permissions));
      policyVersion.changed();
    };
    return followView(views[resource], scheduler, {
      replace(objects) {
        byNamespace.clear();
        policyVersion.changed();
        for (const object of objects) put(object);
      },
      put,
      delete(object) {
        const { namespace = "", name = "" } = object.decode().metadata;
        const byName = byNamespace.get(namespace);
        if (byName?.delete(name) !== true) return;
        if (byName.size === 0) byNamespace.delete(namespace);
        policyVersion.changed();
      },
    });
  };
  const followed = [follow("virtualclusterinstances"), follow("spaceinstances")];

  return Object.assign(policyVersion, {
    get: (resource: InstanceResource, namespace: string, name: string) =>
      byResource[resource].get(namespace)?.get(name),
    of: (object: CachedObject) => byObject.get(object) ?? indexPermissions(readInstancePermissions(object.decode())),
    entries: (resource: InstanceResource, namespace: string) => byResource[resource].get(namespace)?.entries() ?? NONE,
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  });
}
