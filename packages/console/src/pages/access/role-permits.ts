// Evaluates the rules of ClusterRoles as the server does, and finds the role that a project would have to give.

import { type ClusterRole, nameOf, type PolicyRule } from "../../api/resources.ts";
import { builtInRole } from "./role-name.ts";

/** A request for a resource in one API group. */
export type WantedRequest = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Absent or empty: the object itself. */
  readonly subresource?: string;
  /** Absent or empty: all objects. */
  readonly name?: string;
};

const has = (list: readonly string[] | undefined, ...wanted: readonly string[]): boolean =>
  list?.some((each) => each === "*" || wanted.includes(each)) === true;

function ruleAllows({ verbs, apiGroups, resources, resourceNames = [] }: PolicyRule, wanted: WantedRequest): boolean {
  const { verb, group, resource, subresource = "", name = "" } = wanted;
  const paths = subresource === "" ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
  return (
    has(verbs, verb) &&
    has(apiGroups, group) &&
    has(resources, ...paths) &&
    (resourceNames.length === 0 || resourceNames.includes(name))
  );
}

export const roleAllows = ({ rules }: ClusterRole, wanted: WantedRequest): boolean =>
  rules?.some((rule) => ruleAllows(rule, wanted)) === true;

/** Roles that are made for members of projects, those with the fewest rights first. */
export const PROJECT_ROLES = ["project-viewer", "project-reader", "project-user", "project-admin"].map(builtInRole);

/** The role with the fewest rights that members of a project can have for the request; undefined if a project gives none. */
export const projectRoleFor = (roles: readonly ClusterRole[], wanted: WantedRequest): string | undefined =>
  PROJECT_ROLES.find((name) => roles.some((role) => nameOf(role) === name && roleAllows(role, wanted)));
