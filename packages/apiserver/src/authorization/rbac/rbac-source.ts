// The port through which RBAC reads roles and bindings, indexed by subject.

import type { UserInfo } from "../../authentication/user-info.ts";
import type { PolicyVersion } from "../policy-version.ts";
import type { RbacBinding, RbacSubject, RoleRef } from "./role-binding.ts";
import type { RuleIndex } from "./rule-index.ts";

/** A binding and that one of its subjects under which it was found. */
export type Grant = { readonly binding: RbacBinding; readonly subject: RbacSubject };

/** A changed role, whose subjects are affected, or the subjects of a changed binding. */
export type RbacChange =
  | { readonly role: BoundRole }
  | { readonly users: ReadonlySet<string>; readonly groups: ReadonlySet<string> };

/** A role as bindings refer to it. */
export type BoundRole = {
  readonly kind: string;
  readonly name: string;
  /** Namespace of a Role; "" for a ClusterRole. */
  readonly namespace: string;
};

export type RbacSource = PolicyVersion & {
  /** The changes that led beyond a version; undefined where they are not known any more. */
  changesSince(version: number): readonly RbacChange[] | undefined;
  /**
   * Grants to a user name (service accounts by their user name), one for each role, however many bindings refer to it. Namespace "" asks
   * for ClusterRoleBindings.
   */
  grantsToUser(namespace: string, name: string): readonly Grant[];
  grantsToGroup(namespace: string, group: string): readonly Grant[];
  /** Whether a binding gives the role to the user now. */
  isBoundTo(role: BoundRole, user: Pick<UserInfo, "name" | "groups">): boolean;
  /** The rules of the role that a binding in `namespace` refers to; undefined when there is no such role. */
  rulesOf(roleRef: RoleRef, namespace: string): RuleIndex | undefined;
};
