// Warns about names in an object that match nothing, mostly typing errors. It does not reject them, since GitOps applies objects in any order.

import type { AccessRule, Owner } from "@postern/api/owner";
import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { mayDo } from "../../foundation/kinds/may-do.ts";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import type { Directory } from "./directory.ts";

/** A path in an object, and the names at it. */
export type NamedObject = {
  readonly path: string;
  /** For people. */
  readonly kind: string;
  /** Absent: the platform's own. */
  readonly group?: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
  readonly exists: boolean;
  /** True if the write itself reveals whether the object exists. */
  readonly isPublic?: boolean;
};

export type UnknownNamesDeps = {
  readonly names: Pick<PlatformNames, "managementGroup">;
  readonly authorizer: Authorizer;
};

/** Further unknown names are left out. */
const MAX_WARNINGS = 10;

/** Objects that the caller may not see are treated as missing, so that warnings do not reveal them. */
export async function unknownNames(
  named: Iterable<NamedObject>,
  context: RequestContext,
  deps: UnknownNamesDeps,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const target of named) {
    if (faults.length === MAX_WARNINGS) break;
    const { path, kind, name, exists, isPublic = false } = target;
    if (exists && (isPublic || (await mayGet(target, context, deps)))) continue;
    faults.push(`${path}: there is no ${kind} ${JSON.stringify(name)}${isPublic ? "" : " that you can see"}`);
  }
  return faults;
}

const mayGet = (
  { group, resource, namespace = "", name }: NamedObject,
  context: RequestContext,
  { authorizer, names }: UnknownNamesDeps,
): Promise<boolean> =>
  mayDo(context, { verb: "get", apiGroup: group ?? names.managementGroup, resource, namespace, name }, authorizer);

/** The strategy, with a warning for each new name that matches nothing. */
export function warningOfUnknownNames<T extends KubeObject>(
  strategy: Strategy<T>,
  namedIn: (object: T) => Iterable<NamedObject>,
  deps: UnknownNamesDeps,
): Strategy<T> {
  const textOf = ({ resource, namespace, name }: NamedObject): string => JSON.stringify([resource, namespace, name]);
  const warn = async (object: T, old: T | undefined, context: RequestContext): Promise<void> => {
    const before = new Set(old === undefined ? [] : Array.from(namedIn(old), textOf));
    const added = Array.from(namedIn(object)).filter((named) => !before.has(textOf(named)));
    for (const text of await unknownNames(added, context, deps)) context.warnings.add(text);
  };
  return {
    ...strategy,
    async prepareForCreate(object, context) {
      const prepared = (await strategy.prepareForCreate?.(object, context)) ?? object;
      await warn(prepared, undefined, context);
      return prepared;
    },
    async prepareForUpdate(object, old, context) {
      const prepared = (await strategy.prepareForUpdate?.(object, old, context)) ?? object;
      if (context.info.subresource === "") await warn(prepared, old, context);
      return prepared;
    },
  };
}

export type NameDeps = {
  readonly directory: Pick<Directory, "user" | "team">;
  readonly lookup: Pick<ObjectLookup, "cluster" | "clusterRole">;
};

/** Whether a text names one object: a star means all, and an empty text none. */
export const namesOne = (name: string): boolean => name !== "" && name !== "*";

export function* namedUser(path: string, name: string, { directory }: NameDeps): Generator<NamedObject> {
  if (namesOne(name)) yield { path, kind: "user", resource: "users", name, exists: directory.user(name) !== undefined };
}

export function* namedTeam(path: string, name: string, { directory }: NameDeps): Generator<NamedObject> {
  if (namesOne(name)) yield { path, kind: "team", resource: "teams", name, exists: directory.team(name) !== undefined };
}

export function* namedCluster(path: string, name: string, { lookup }: NameDeps): Generator<NamedObject> {
  if (!namesOne(name)) return;
  yield {
    path,
    kind: "cluster",
    resource: "clusters",
    name,
    exists: lookup.cluster(name) !== undefined,
    isPublic: true,
  };
}

export function* namedClusterRole(path: string, name: string, { lookup }: NameDeps): Generator<NamedObject> {
  if (!namesOne(name)) return;
  const exists = lookup.clusterRole(name) !== undefined;
  yield { path, kind: "ClusterRole", group: RBAC_GROUP, resource: "clusterroles", name, exists, isPublic: true };
}

export function* namedOwner(owner: Owner | undefined, sources: NameDeps): Generator<NamedObject> {
  yield* namedUser("spec.owner.user", owner?.user ?? "", sources);
  yield* namedTeam("spec.owner.team", owner?.team ?? "", sources);
}

/** The people in a list of rules, such as `spec.access`. */
export function* namedInRules(
  path: string,
  rules: readonly Pick<AccessRule, "users" | "teams">[] | undefined,
  sources: NameDeps,
): Generator<NamedObject> {
  for (const [at, { users = [], teams = [] }] of (rules ?? []).entries()) {
    const rule = indexPath(path, at);
    for (const [index, name] of users.entries()) yield* namedUser(indexPath(`${rule}.users`, index), name, sources);
    for (const [index, name] of teams.entries()) yield* namedTeam(indexPath(`${rule}.teams`, index), name, sources);
  }
}
