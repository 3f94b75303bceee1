// The port through which RBAC reads roles and bindings, indexed by subject.

import type { PolicyVersion } from "../policy-version.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { RbacBinding, RbacSubject, RoleRef } from "./role-binding.ts";

/** A binding and that one of its subjects under which it was found. */
export type Grant = { readonly binding: RbacBinding; readonly subject: RbacSubject };

/** The users that a change of roles or bindings affects. */
export type RbacChange = {
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** The subjects whose rules have changed, for permissions that do not come from bindings. */
  readonly clusterRole?: string;
};

export type RbacSource = PolicyVersion & {
  /** The changes that led beyond a version; undefined where they are not known any more. */
  changesSince(version: number): readonly RbacChange[] | undefined;
  /** Grants to a user name (service accounts by their user name). Namespace "" asks for ClusterRoleBindings. */
  grantsToUser(namespace: string, name: string): readonly Grant[];
  grantsToGroup(namespace: string, group: string): readonly Grant[];
  /** The rules of the role that a binding in `namespace` refers to; undefined when there is no such role. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
};
