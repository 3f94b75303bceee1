// The port for owners and access of virtual clusters and spaces, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type Rights, RightsSource } from "@postern/apiserver/authorization/rights";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner, PeopleList } from "./caller.ts";
import type { InstanceResource } from "./filtered-resources.ts";
import { memberOf, readOwner, textOf, textsOf } from "./project-facts.ts";

/** One of `spec.access[]`. */
export type InstanceAccess = PeopleList & {
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
};

/** One of `spec.extraAccessRules[]`: the ClusterRole that people have inside the virtual cluster. */
export type ExtraAccessRule = PeopleList & { readonly clusterRole: string };

export type InstanceFact = {
  readonly owner: Owner;
  readonly access: readonly InstanceAccess[];
  readonly extraAccessRules: readonly ExtraAccessRule[];
};

/** The version increases when access to an instance changes, and not with every write. */
export type InstanceFacts = Rights & {
  get(resource: InstanceResource, namespace: string, name: string): InstanceFact | undefined;
  /** What an object says of itself, which may be older or newer than what `get` knows. */
  of(object: CachedObject): InstanceFact;
  /** The instances of a namespace, in no order. */
  entries(resource: InstanceResource, namespace: string): Iterable<readonly [name: string, fact: InstanceFact]>;
};

/** The parts of an instance's spec that open it. */
export function readInstanceFact(instance: KubeObject): InstanceFact {
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

const readPeople = (entry: JsonValue): PeopleList => ({
  users: textsOf(entry, "users"),
  teams: textsOf(entry, "teams"),
});

type FactsByName = Map<string, InstanceFact>;

const NONE: readonly (readonly [string, InstanceFact])[] = [];

/** Reads the instances as they are now, and every change from then on, until disposed. The cache must be ready. */
export function createInstanceFacts(
  views: { readonly [resource in InstanceResource]: ViewPrefix },
  scheduler: Scheduler,
): InstanceFacts & Disposable {
  const facts = {
    virtualclusterinstances: new Map<string, FactsByName>(),
    spaceinstances: new Map<string, FactsByName>(),
  };
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, InstanceFact>();
  const rights = new RightsSource();

  const follow = (resource: InstanceResource): Disposable => {
    const byNamespace = facts[resource];
    const put = (object: CachedObject): void => {
      const instance = object.decode();
      const { namespace = "", name = "" } = instance.metadata;
      const byName = byNamespace.get(namespace) ?? new Map<string, InstanceFact>();
      const read = readInstanceFact(instance);
      const known = byName.get(name);
      const fact = known !== undefined && equalJson(known, read) ? known : read;
      byObject.set(object, fact);
      if (fact === known) return;
      byNamespace.set(namespace, byName.set(name, fact));
      rights.changed();
    };
    return followView(views[resource], scheduler, {
      replace(objects) {
        byNamespace.clear();
        rights.changed();
        for (const object of objects) put(object);
      },
      put,
      delete(object) {
        const { namespace = "", name = "" } = object.decode().metadata;
        const byName = byNamespace.get(namespace);
        if (byName?.delete(name) !== true) return;
        if (byName.size === 0) byNamespace.delete(namespace);
        rights.changed();
      },
    });
  };
  const followed = [follow("virtualclusterinstances"), follow("spaceinstances")];

  return Object.assign(rights, {
    get: (resource: InstanceResource, namespace: string, name: string) => facts[resource].get(namespace)?.get(name),
    of: (object: CachedObject) => byObject.get(object) ?? readInstanceFact(object.decode()),
    entries: (resource: InstanceResource, namespace: string) => facts[resource].get(namespace)?.entries() ?? NONE,
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  });
}
