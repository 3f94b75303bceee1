// Keeps the RBAC index equal to the roles and bindings in the watch cache.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { followView, type ViewPrefix } from "../../cache/follow-view.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import { ChangeLog } from "../change-log.ts";
import { PolicyVersionSource } from "../policy-version.ts";
import { type PolicyRule, readPolicyRules } from "./policy-rule.ts";
import type { Grant, RbacChange, RbacSource } from "./rbac-source.ts";
import { principalOf, type RbacBinding, type RoleRef, readBinding } from "./role-binding.ts";

export type RbacViews = {
  readonly roles: ViewPrefix;
  readonly roleBindings: ViewPrefix;
  readonly clusterRoles: ViewPrefix;
  readonly clusterRoleBindings: ViewPrefix;
};

/** Reads the cache as it is now, and every change of it from then on, until disposed. The cache must be ready. */
export function createCachedRbacSource(views: RbacViews, scheduler: Scheduler): RbacSource & Disposable {
  const index = new RbacIndex();

  const followRoles = (view: ViewPrefix, scope: "cluster" | "namespaces"): Disposable =>
    followObjects(view, scheduler, {
      clear: () => index.clearRoles(scope),
      set: ({ metadata, ...role }) => {
        index.setRole(metadata.namespace ?? "", metadata.name ?? "", readPolicyRules(role["rules"]));
      },
      remove: (namespace, name) => index.removeRole(namespace, name),
    });
  const followBindings = (view: ViewPrefix, scope: "cluster" | "namespaces"): Disposable =>
    followObjects(view, scheduler, {
      clear: () => index.clearBindings(scope),
      set: (object) => index.setBinding(readBinding(object)),
      remove: (namespace, name) => index.removeBinding(namespace, name),
    });

  // Roles first: a binding that is known before its role would be reported as dangling.
  const followed = [
    followRoles(views.clusterRoles, "cluster"),
    followRoles(views.roles, "namespaces"),
    followBindings(views.clusterRoleBindings, "cluster"),
    followBindings(views.roleBindings, "namespaces"),
  ];

  return Object.assign(index, {
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  });
}

type ObjectSink = {
  clear(): void;
  set(object: KubeObject): void;
  remove(namespace: string, name: string): void;
};

function followObjects(view: ViewPrefix, scheduler: Scheduler, sink: ObjectSink): Disposable {
  return followView(view, scheduler, {
    replace(objects) {
      sink.clear();
      for (const object of objects) sink.set(object.decode());
    },
    put: (object) => sink.set(object.decode()),
    delete(object) {
      const { metadata } = object.decode();
      sink.remove(metadata.namespace ?? "", metadata.name ?? "");
    },
  });
}

// Roles and bindings in memory, bindings indexed by subject: a decision costs the bindings of one user, not all there are.

type GrantsByName = Map<string, Grant[]>;
type NamespaceGrants = { readonly users: GrantsByName; readonly groups: GrantsByName };

const NONE: readonly Grant[] = [];
const NO_BINDINGS: ReadonlyMap<string, RbacBinding> = new Map();

export class RbacIndex extends PolicyVersionSource implements RbacSource {
  readonly #log = new ChangeLog<RbacChange>();
  /** By namespace and name; cluster roles and cluster bindings under "". */
  readonly #roles = new Map<string, Map<string, readonly PolicyRule[]>>();
  readonly #bindings = new Map<string, Map<string, RbacBinding>>();
  readonly #grants = new Map<string, NamespaceGrants>();

  changesSince(version: number): readonly RbacChange[] | undefined {
    return this.#log.since(version);
  }

  setRole(namespace: string, name: string, rules: readonly PolicyRule[]): void {
    entryOf(this.#roles, namespace, () => new Map()).set(name, rules);
    this.#roleChanged(namespace, name);
  }

  removeRole(namespace: string, name: string): void {
    if (removeNested(this.#roles, namespace, name)) this.#roleChanged(namespace, name);
  }

  setBinding(binding: RbacBinding): void {
    const { namespace, name } = binding;
    const before = this.#bindings.get(namespace)?.get(name);
    this.#ungrant(before);
    entryOf(this.#bindings, namespace, () => new Map()).set(name, binding);
    const { users, groups } = entryOf(this.#grants, namespace, () => ({ users: new Map(), groups: new Map() }));
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, namespace);
      if (principal === undefined) continue;
      const byName = principal.type === "user" ? users : groups;
      entryOf(byName, principal.name, () => []).push({ binding, subject });
    }
    this.#change(peopleOf(before === undefined ? [binding] : [before, binding]));
  }

  removeBinding(namespace: string, name: string): void {
    const before = this.#bindings.get(namespace)?.get(name);
    this.#ungrant(before);
    if (before === undefined) return;
    removeNested(this.#bindings, namespace, name);
    this.#change(peopleOf([before]));
  }

  /** Forgets the roles of every namespace, or of the cluster alone. */
  clearRoles(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#roles.keys()]) {
      if ((namespace === "") === (scope === "cluster")) this.#roles.delete(namespace);
    }
    this.#change();
  }

  clearBindings(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#bindings.keys()]) {
      if ((namespace === "") !== (scope === "cluster")) continue;
      this.#bindings.delete(namespace);
      this.#grants.delete(namespace);
    }
    this.#change();
  }

  grantsToUser(namespace: string, name: string): readonly Grant[] {
    return this.#grants.get(namespace)?.users.get(name) ?? NONE;
  }

  grantsToGroup(namespace: string, group: string): readonly Grant[] {
    return this.#grants.get(namespace)?.groups.get(group) ?? NONE;
  }

  rulesOf({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    if (kind === "ClusterRole") return this.#roles.get("")?.get(name);
    // A ClusterRoleBinding has no namespace in which a Role could be found.
    if (kind === "Role" && namespace !== "") return this.#roles.get(namespace)?.get(name);
    return undefined;
  }

  /** All users, unless the change says which ones it affects. */
  #change(change?: RbacChange): void {
    this.changed((version) => {
      if (change === undefined) this.#log.forget(version);
      else this.#log.add(version, change);
    });
  }

  /** Affects the subjects of bindings to the role. */
  #roleChanged(namespace: string, name: string): void {
    const kind = namespace === "" ? "ClusterRole" : "Role";
    // A ClusterRole is bound anywhere, a Role in its own namespace.
    const places = namespace === "" ? this.#bindings.values() : [this.#bindings.get(namespace) ?? NO_BINDINGS];
    const bindings: RbacBinding[] = [];
    for (const place of places) {
      for (const binding of place.values()) {
        if (binding.roleRef.kind === kind && binding.roleRef.name === name) bindings.push(binding);
      }
    }
    this.#change({ ...peopleOf(bindings), ...(namespace === "" ? { clusterRole: name } : {}) });
  }

  #ungrant(binding: RbacBinding | undefined): void {
    if (binding === undefined) return;
    const grants = this.#grants.get(binding.namespace);
    if (grants === undefined) return;
    // Looks up a role only once, even if it is referred to a thousand times.
    const seen = { user: new Set<string>(), group: new Set<string>() };
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, binding.namespace);
      if (principal === undefined || seen[principal.type].has(principal.name)) continue;
      seen[principal.type].add(principal.name);
      const byName = principal.type === "user" ? grants.users : grants.groups;
      const left = (byName.get(principal.name) ?? NONE).filter((grant) => grant.binding !== binding);
      if (left.length === 0) byName.delete(principal.name);
      else byName.set(principal.name, left);
    }
  }
}

function peopleOf(bindings: readonly RbacBinding[]): RbacChange {
  const [users, groups] = [new Set<string>(), new Set<string>()];
  for (const { subjects, namespace } of bindings) {
    for (const subject of subjects) {
      const principal = principalOf(subject, namespace);
      if (principal !== undefined) (principal.type === "user" ? users : groups).add(principal.name);
    }
  }
  return { users, groups };
}

function entryOf<V>(map: Map<string, V>, key: string, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

function removeNested<V>(map: Map<string, Map<string, V>>, namespace: string, name: string): boolean {
  const inner = map.get(namespace);
  const removed = inner?.delete(name) ?? false;
  if (inner?.size === 0) map.delete(namespace);
  return removed;
}
