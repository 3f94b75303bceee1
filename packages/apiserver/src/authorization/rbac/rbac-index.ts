// Indexes roles and bindings by subject and role: a decision costs the distinct roles of one user, however many bindings grant them.

import type { UserInfo } from "../../authentication/user-info.ts";
import { ChangeLog } from "../change-log.ts";
import { PolicyVersionSource } from "../policy-version.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { BoundRole, Grant, RbacChange, RbacSource } from "./rbac-source.ts";
import { principalOf, type RbacBinding, type RoleRef } from "./role-binding.ts";
import { RuleIndex } from "./rule-index.ts";

type GrantsByName = Map<string, GrantsByRole>;
type NamespaceGrants = { readonly users: GrantsByName; readonly groups: GrantsByName };

const NONE: readonly Grant[] = [];
/** Names of subjects that are remembered of changes, for one binding may have very many. */
const MAX_CHANGED_NAMES = 20_000;

export class RbacIndex extends PolicyVersionSource implements RbacSource {
  readonly #log = new ChangeLog<RbacChange>(MAX_CHANGED_NAMES);
  /** By namespace and name; cluster roles and cluster bindings under "". */
  readonly #roles = new Map<string, Map<string, RuleIndex>>();
  readonly #bindings = new Map<string, Map<string, RbacBinding>>();
  readonly #grants = new Map<string, NamespaceGrants>();

  changesSince(version: number): readonly RbacChange[] | undefined {
    return this.#log.since(version);
  }

  setRole(namespace: string, name: string, rules: readonly PolicyRule[]): void {
    entryOf(this.#roles, namespace, () => new Map()).set(name, new RuleIndex(rules));
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
    const grants = entryOf(this.#grants, namespace, () => ({ users: new Map(), groups: new Map() }));
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, namespace);
      if (principal === undefined) continue;
      const byName = principal.type === "user" ? grants.users : grants.groups;
      entryOf(byName, principal.name, () => new GrantsByRole()).add({ binding, subject });
    }
    this.#bindingsChanged(before === undefined ? [binding] : [before, binding]);
  }

  removeBinding(namespace: string, name: string): void {
    const before = this.#bindings.get(namespace)?.get(name);
    this.#ungrant(before);
    if (before === undefined) return;
    removeNested(this.#bindings, namespace, name);
    this.#bindingsChanged([before]);
  }

  /** Forgets the roles of every namespace, or of the cluster alone. */
  clearRoles(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#roles.keys()]) {
      if ((namespace === "") === (scope === "cluster")) this.#roles.delete(namespace);
    }
    this.changed((version) => this.#log.forget(version));
  }

  clearBindings(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#bindings.keys()]) {
      if ((namespace === "") !== (scope === "cluster")) continue;
      this.#bindings.delete(namespace);
      this.#grants.delete(namespace);
    }
    this.changed((version) => this.#log.forget(version));
  }

  grantsToUser(namespace: string, name: string): readonly Grant[] {
    return this.#grants.get(namespace)?.users.get(name)?.list ?? NONE;
  }

  grantsToGroup(namespace: string, group: string): readonly Grant[] {
    return this.#grants.get(namespace)?.groups.get(group)?.list ?? NONE;
  }

  isBoundTo(role: BoundRole, { name, groups }: Pick<UserInfo, "name" | "groups">): boolean {
    const key = roleKey(role);
    // A ClusterRole is bound anywhere, a Role in its own namespace.
    const inPlace = this.#grants.get(role.namespace);
    const places = role.kind === "ClusterRole" ? this.#grants.values() : inPlace === undefined ? [] : [inPlace];
    for (const place of places) {
      if (place.users.get(name)?.has(key) === true) return true;
      if (groups.some((group) => place.groups.get(group)?.has(key) === true)) return true;
    }
    return false;
  }

  rulesOf({ kind, name }: RoleRef, namespace: string): RuleIndex | undefined {
    if (kind === "ClusterRole") return this.#roles.get("")?.get(name);
    // A ClusterRoleBinding has no namespace in which a Role could be found.
    if (kind === "Role" && namespace !== "") return this.#roles.get(namespace)?.get(name);
    return undefined;
  }

  #bindingsChanged(bindings: readonly RbacBinding[]): void {
    const change = subjectsOf(bindings);
    this.changed((version) => this.#log.add(version, change, change.users.size + change.groups.size));
  }

  /** The affected subjects are determined later, from the bindings that exist then: each change of a binding meanwhile is a change of its own. */
  #roleChanged(namespace: string, name: string): void {
    const role = { kind: namespace === "" ? "ClusterRole" : "Role", name, namespace };
    this.changed((version) => this.#log.add(version, { role }));
  }

  #ungrant(binding: RbacBinding | undefined): void {
    if (binding === undefined) return;
    const grants = this.#grants.get(binding.namespace);
    if (grants === undefined) return;
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, binding.namespace);
      if (principal === undefined) continue;
      const byName = principal.type === "user" ? grants.users : grants.groups;
      if (byName.get(principal.name)?.remove(binding) === "empty") byName.delete(principal.name);
    }
  }
}

const roleKey = ({ kind, name }: Pick<RoleRef, "kind" | "name">): string => `${kind}/${name}`;

/** The grants to one user or group in one namespace. */
class GrantsByRole {
  readonly #byRole = new Map<string, Map<RbacBinding, Grant>>();
  /** The first grant of each role, put together again after changes. */
  #list: readonly Grant[] | undefined;

  get list(): readonly Grant[] {
    this.#list ??= [...this.#byRole.values()].flatMap((grants) => {
      for (const grant of grants.values()) return [grant];
      return [];
    });
    return this.#list;
  }

  has(role: string): boolean {
    return this.#byRole.has(role);
  }

  add(grant: Grant): void {
    const { binding } = grant;
    const grants = entryOf(this.#byRole, roleKey(binding.roleRef), () => new Map<RbacBinding, Grant>());
    if (grants.has(binding)) return;
    grants.set(binding, grant);
    if (grants.size === 1) this.#list = undefined;
  }

  remove(binding: RbacBinding): "empty" | "left" {
    const key = roleKey(binding.roleRef);
    const grants = this.#byRole.get(key);
    if (grants?.delete(binding) === true) this.#list = undefined;
    if (grants?.size === 0) this.#byRole.delete(key);
    return this.#byRole.size === 0 ? "empty" : "left";
  }
}

function subjectsOf(bindings: readonly RbacBinding[]) {
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
