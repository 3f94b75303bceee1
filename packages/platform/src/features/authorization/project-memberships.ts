// The port for members of projects, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ChangeLog } from "@postern/apiserver/authorization/change-log";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner } from "./caller.ts";
import { memberOf, readOwner, textOf } from "./stored-members.ts";
import { SubjectIndex } from "./subject-index.ts";

export type ProjectMember = {
  /** `User` or `Team`; other kinds are ignored. */
  readonly kind: string;
  readonly name: string;
  /** The ClusterRole that the member has in the project. */
  readonly clusterRole: string;
};

export type ProjectMembership = { readonly owner: Owner; readonly members: readonly ProjectMember[] };

/** A membership whose members are found by user and team. */
export type IndexedMembership = { readonly owner: Owner; readonly members: SubjectIndex<ProjectMember> };

/** The old and the new members of a project, as far as known. */
export type ProjectChange = { readonly project: string; readonly memberships: readonly IndexedMembership[] };

/** The version increases when the owner or members of any project change. */
export type ProjectMembershipIndex = PolicyVersion & {
  /** The changes since a version; undefined if they are no longer known. */
  changesSince(version: number): readonly ProjectChange[] | undefined;
  get(project: string): IndexedMembership | undefined;
  /** Read from the object itself, which may be older or newer than the result of `get`. */
  of(object: CachedObject): IndexedMembership;
  /** All projects, unordered. */
  entries(): Iterable<readonly [project: string, membership: IndexedMembership]>;
};

/** The parts of a project's spec that give access to it: `owner {user, team}` and `members[] {kind, name, clusterRole}`. */
export function readProjectMembership(project: KubeObject): ProjectMembership {
  const members = memberOf(project["spec"], "members");
  return { owner: readOwner(project["spec"]), members: isJsonArray(members) ? members.map(readMember) : [] };
}

const readMember = (value: JsonValue): ProjectMember => ({
  kind: textOf(value, "kind"),
  name: textOf(value, "name"),
  clusterRole: textOf(value, "clusterRole"),
});

export const indexMembership = ({ owner, members }: ProjectMembership): IndexedMembership => ({
  owner,
  members: new SubjectIndex(members, ({ kind, name }) => ({
    users: kind === "User" ? [name] : [],
    teams: kind === "Team" ? [name] : [],
  })),
});

/** Follows the projects from their current state on, until disposed. The cache must be ready. */
export function createProjectMembershipIndex(
  projects: ViewPrefix,
  scheduler: Scheduler,
): ProjectMembershipIndex & Disposable {
  const memberships = new Map<string, IndexedMembership>();
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, IndexedMembership>();
  const policyVersion = new PolicyVersionSource();
  const log = new ChangeLog<ProjectChange>();
  /** Without `made`, any project may have changed. */
  const change = (made?: ProjectChange): void => {
    policyVersion.changed((version) => {
      if (made === undefined) log.forget(version);
      else log.add(version, made);
    });
  };
  const put = (object: CachedObject): void => {
    const project = object.decode();
    const { name = "" } = project.metadata;
    const read = readProjectMembership(project);
    const known = memberships.get(name);
    const isKnown = known !== undefined && equalJson({ owner: known.owner, members: known.members.entries }, read);
    const membership = isKnown ? known : indexMembership(read);
    byObject.set(object, membership);
    if (membership === known) return;
    memberships.set(name, membership);
    change({ project: name, memberships: known === undefined ? [membership] : [known, membership] });
  };
  const followed = followView(projects, scheduler, {
    replace(objects) {
      memberships.clear();
      change();
      for (const object of objects) put(object);
    },
    put,
    delete(object) {
      const { name = "" } = object.decode().metadata;
      const known = memberships.get(name);
      if (known === undefined) return;
      memberships.delete(name);
      change({ project: name, memberships: [known] });
    },
  });
  return Object.assign(policyVersion, {
    changesSince: (since: number) => log.since(since),
    get: (project: string) => memberships.get(project),
    of: (object: CachedObject) => byObject.get(object) ?? indexMembership(readProjectMembership(object.decode())),
    entries: () => memberships.entries(),
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  });
}
