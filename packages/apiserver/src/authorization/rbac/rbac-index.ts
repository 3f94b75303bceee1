// Roles and bindings in memory, bindings indexed by subject: a decision costs the bindings of one user, not all there are.

import type { PolicyRule } from "./policy-rule.ts";
import type { Grant, RbacSource } from "./rbac-source.ts";
import { principalOf, type RbacBinding, type RoleRef } from "./role-binding.ts";

type GrantsByName = Map<string, Grant[]>;
type NamespaceGrants = { readonly users: GrantsByName; readonly groups: GrantsByName };

const NONE: readonly Grant[] = [];

export class RbacIndex implements RbacSource {
  #version = 0;
  /** By namespace and name; cluster roles and cluster bindings under "". */
  readonly #roles = new Map<string, Map<string, readonly PolicyRule[]>>();
  readonly #bindings = new Map<string, Map<string, RbacBinding>>();
  readonly #grants = new Map<string, NamespaceGrants>();

  get version(): number {
    return this.#version;
  }

  setRole(namespace: string, name: string, rules: readonly PolicyRule[]): void {
    entryOf(this.#roles, namespace, () => new Map()).set(name, rules);
    this.#version++;
  }

  removeRole(namespace: string, name: string): void {
    if (removeNested(this.#roles, namespace, name)) this.#version++;
  }

  setBinding(binding: RbacBinding): void {
    const { namespace, name } = binding;
    this.#ungrant(this.#bindings.get(namespace)?.get(name));
    entryOf(this.#bindings, namespace, () => new Map()).set(name, binding);
    const { users, groups } = entryOf(this.#grants, namespace, () => ({ users: new Map(), groups: new Map() }));
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, namespace);
      if (principal === undefined) continue;
      const byName = principal.type === "user" ? users : groups;
      entryOf(byName, principal.name, () => []).push({ binding, subject });
    }
    this.#version++;
  }

  removeBinding(namespace: string, name: string): void {
    this.#ungrant(this.#bindings.get(namespace)?.get(name));
    if (removeNested(this.#bindings, namespace, name)) this.#version++;
  }

  /** Forgets the roles of every namespace, or of the cluster alone. */
  clearRoles(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#roles.keys()]) {
      if ((namespace === "") === (scope === "cluster")) this.#roles.delete(namespace);
    }
    this.#version++;
  }

  clearBindings(scope: "cluster" | "namespaces"): void {
    for (const namespace of [...this.#bindings.keys()]) {
      if ((namespace === "") !== (scope === "cluster")) continue;
      this.#bindings.delete(namespace);
      this.#grants.delete(namespace);
    }
    this.#version++;
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

  #ungrant(binding: RbacBinding | undefined): void {
    if (binding === undefined) return;
    const grants = this.#grants.get(binding.namespace);
    if (grants === undefined) return;
    for (const subject of binding.subjects) {
      const principal = principalOf(subject, binding.namespace);
      if (principal === undefined) continue;
      const byName = principal.type === "user" ? grants.users : grants.groups;
      const left = (byName.get(principal.name) ?? NONE).filter((grant) => grant.binding !== binding);
      if (left.length === 0) byName.delete(principal.name);
      else byName.set(principal.name, left);
    }
  }
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
