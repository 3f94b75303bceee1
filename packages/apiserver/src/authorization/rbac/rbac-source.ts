// The port through which RBAC reads roles and bindings, already sorted by whom they concern.

import type { PolicyRule } from "./policy-rule.ts";
import type { RbacBinding, RbacSubject, RoleRef } from "./role-binding.ts";

/** A binding and that one of its subjects under which it was found. */
export type Grant = { readonly binding: RbacBinding; readonly subject: RbacSubject };

export type RbacSource = {
  /** Goes up with every change of any answer, so that decisions can be memoised per version. */
  readonly version: number;
  /** Grants to a user name (service accounts by their user name). Namespace "" asks for ClusterRoleBindings. */
  grantsToUser(namespace: string, name: string): readonly Grant[];
  grantsToGroup(namespace: string, group: string): readonly Grant[];
  /** The rules of the role that a binding in `namespace` refers to; undefined when there is no such role. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
};
