// The port for members of projects, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ChangeLog } from "@postern/apiserver/authorization/change-log";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner } from "../caller.ts";
import { type GrantedAccess, type GrantedRole, NO_GRANTED_ACCESS } from "../granted-access.ts";
import { memberOf, readOwner, textOf } from "./stored-members.ts";
import { SubjectIndex } from "./subject-index.ts";

export type ProjectMember = {
  /** `User` or `Team`; other kinds are ignored. */
  readonly kind: string;
  readonly name: string;
  /** The ClusterRole that the member has in the project. */
  readonly clusterRole: string;
  /** The access request that gave the role for a time. Absent: a standing member. */
  readonly accessRequest?: string;
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

/** The standing members, and those for a time behind them. */
function withGranted(standing: IndexedMembership, granted: readonly GrantedRole[]): IndexedMembership {
  if (granted.length === 0) return standing;
  const members = granted.map(({ group, clusterRole, accessRequest }) => ({
    kind: "Group",
    name: group,
    clusterRole,
    accessRequest,
  }));
  const asGroup = ({ name }: ProjectMember) => ({ users: [], teams: [], groups: [name] });
  return { owner: standing.owner, members: new SubjectIndex(members, asGroup, standing.members) };
}

/** A project as its object says. */
type StandingMembership = {
  readonly name: string;
  readonly uid: string;
  readonly read: ProjectMembership;
  readonly indexed: IndexedMembership;
};

function readStanding(object: CachedObject): StandingMembership {
  const project = object.decode();
  const { name = "", uid = "" } = project.metadata;
  const read = readProjectMembership(project);
  return { name, uid, read, indexed: indexMembership(read) };
}

/** Follows the projects from their current state on, until disposed. The cache must be ready. */
export function createProjectMembershipIndex(
  projects: ViewPrefix,
  scheduler: Scheduler,
  granted: GrantedAccess = NO_GRANTED_ACCESS,
): ProjectMembershipIndex & Disposable {
  const standings = new Map<string, StandingMembership>();
  const memberships = new Map<string, IndexedMembership>();
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, StandingMembership>();
  const policyVersion = new PolicyVersionSource();
  const log = new ChangeLog<ProjectChange>();
  /** Without `made`, any project may have changed. */
  const change = (made?: ProjectChange): void => {
    policyVersion.changed((version) => {
      if (made === undefined) log.forget(version);
      else log.add(version, made);
    });
  };
  const memberNow = ({ name, uid, indexed }: StandingMembership): IndexedMembership =>
    withGranted(indexed, granted.inProject(name, uid));
  const show = (standing: StandingMembership): void => {
    const { name } = standing;
    const known = memberships.get(name);
    const membership = memberNow(standing);
    memberships.set(name, membership);
    change({ project: name, memberships: known === undefined ? [membership] : [known, membership] });
  };
  const put = (object: CachedObject): void => {
    const read = readStanding(object);
    const known = standings.get(read.name);
    const isKnown = known !== undefined && known.uid === read.uid && equalJson(known.read, read.read);
    byObject.set(object, isKnown ? known : read);
    if (isKnown) return;
    standings.set(read.name, read);
    show(read);
  };
  const followed = followView(projects, scheduler, {
    replace(objects) {
      standings.clear();
      memberships.clear();
      change();
      for (const object of objects) put(object);
    },
    put,
    delete(object) {
      const { name = "" } = object.decode().metadata;
      const known = memberships.get(name);
      if (known === undefined) return;
      standings.delete(name);
      memberships.delete(name);
      change({ project: name, memberships: [known] });
    },
  });
  const following = granted.onPlaceChange(({ project, virtualCluster }) => {
    const standing = virtualCluster === undefined ? standings.get(project) : undefined;
    if (standing !== undefined) show(standing);
  });
  return {
    get version() {
      granted.settle();
      return policyVersion.version;
    },
    onChange: (listener) => policyVersion.onChange(listener),
    changesSince: (since) => log.since(since),
    get: (project) => memberships.get(project),
    of(object) {
      const standing = byObject.get(object) ?? readStanding(object);
      const current = standings.get(standing.name) === standing ? memberships.get(standing.name) : undefined;
      return current ?? memberNow(standing);
    },
    entries: () => memberships.entries(),
    [Symbol.dispose]() {
      following[Symbol.dispose]();
      followed[Symbol.dispose]();
    },
  };
}
