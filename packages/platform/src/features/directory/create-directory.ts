// The directory in memory, built from users and teams.

import { objectOf, objectsOf, textOf, textsOf } from "@postern/apimachinery/json/lenient-json";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Directory, DirectoryIdentity, DirectoryTeam, DirectoryUser } from "./directory.ts";

type Team = DirectoryTeam & { readonly users: readonly string[] };

/** Begins to follow both views at once; a change is in it before the write that made it is answered. */
export function createDirectory(deps: {
  readonly users: ViewPrefix;
  readonly teams: ViewPrefix;
  readonly scheduler: Scheduler;
}): Directory & Disposable {
  const { users, teams, scheduler } = deps;
  const usersByName = new Map<string, DirectoryUser>();
  const teamsByName = new Map<string, Team>();
  const listeners = new ChangeListeners();
  let version = 0;
  // Views of the maps, made on demand and dropped with every change.
  let bySubject: ReadonlyMap<string, DirectoryUser> | undefined;
  let byIdentity: ReadonlyMap<string, DirectoryUser> | undefined;
  let teamsOfUser = new Map<string, readonly DirectoryTeam[]>();

  const changed = (): void => {
    version++;
    bySubject = undefined;
    byIdentity = undefined;
    teamsOfUser = new Map();
    listeners.call();
  };
  const followers = [
    follow(users, scheduler, usersByName, readUser, changed),
    follow(teams, scheduler, teamsByName, readTeam, changed),
  ];

  return {
    get version() {
      return version;
    },
    users: () => usersByName.values(),
    user: (name) => usersByName.get(name),
    userBySubject(subject) {
      bySubject ??= indexBySubject(usersByName.values());
      return bySubject.get(subject);
    },
    userByIdentity(provider, subject) {
      byIdentity ??= indexByIdentity(usersByName.values());
      return byIdentity.get(identityKey({ provider, subject }));
    },
    team: (name) => teamsByName.get(name),
    teamsOf(user) {
      const known = teamsOfUser.get(user);
      if (known !== undefined) return known;
      const groups = usersByName.get(user)?.groups;
      const found = groups === undefined ? [] : findTeams(user, groups, teamsByName.values());
      teamsOfUser.set(user, found);
      return found;
    },
    teamsWith: (name, groups) => findTeams(name, groups, teamsByName.values()),
    membersOf(names) {
      const found = [...teamsByName.values()].filter(({ name }) => names.has(name));
      const listed = new Set(found.flatMap(({ users: members }) => members));
      const groups = new Set(found.flatMap((team) => team.groups));
      return [...usersByName.values()].filter(
        (user) => listed.has(user.name) || user.groups.some((group) => groups.has(group)),
      );
    },
    onChange: (listener) => listeners.add(listener),
    [Symbol.dispose]() {
      for (const follower of followers) follower[Symbol.dispose]();
      listeners.clear();
    },
  };
}

/** Subjects are unique by validation; if two users share one nevertheless, it belongs to the first by name. */
function indexBySubject(users: Iterable<DirectoryUser>): ReadonlyMap<string, DirectoryUser> {
  const index = new Map<string, DirectoryUser>();
  for (const user of users) {
    const other = index.get(user.subject);
    if (other === undefined || user.name < other.name) index.set(user.subject, user);
  }
  return index;
}

const identityKey = ({ provider, subject }: DirectoryIdentity): string => JSON.stringify([provider, subject]);

/** Like subjects: if two users share one nevertheless, it belongs to the first by name. */
function indexByIdentity(users: Iterable<DirectoryUser>): ReadonlyMap<string, DirectoryUser> {
  const index = new Map<string, DirectoryUser>();
  for (const user of users) {
    for (const identity of user.identities) {
      const key = identityKey(identity);
      const other = index.get(key);
      if (other === undefined || user.name < other.name) index.set(key, user);
    }
  }
  return index;
}

/** In the order of their names: the teams that name the user, and those that own one of its groups. */
function findTeams(name: string, groups: readonly string[], teams: Iterable<Team>): readonly DirectoryTeam[] {
  return [...teams]
    .filter((team) => team.users.includes(name) || team.groups.some((group) => groups.includes(group)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Keeps `map` equal to the content of the prefix. If the view fails, its content is read again. */
function follow<T>(
  { view, prefix }: ViewPrefix,
  scheduler: Scheduler,
  map: Map<string, T>,
  read: (object: CachedObject) => T | undefined,
  changed: () => void,
): Disposable {
  const nameOf = ({ key }: CachedObject): string => key.slice(prefix.length);
  const put = (object: CachedObject): void => {
    const entry = read(object);
    if (entry === undefined) map.delete(nameOf(object));
    else map.set(nameOf(object), entry);
  };
  return followView({ view, prefix }, scheduler, {
    replace(objects) {
      map.clear();
      for (const object of objects) put(object);
    },
    put,
    delete: (object) => void map.delete(nameOf(object)),
    settled: changed,
  });
}

/** Undefined for a deleted user, even while finalizers keep its object. */
function readUser(object: CachedObject): DirectoryUser | undefined {
  const { metadata, ...rest } = object.decode();
  if (isBeingDeleted({ metadata })) return undefined;
  const spec = objectOf(rest["spec"]);
  const name = metadata.name ?? "";
  const identities = objectsOf(spec["identities"]);
  return {
    name,
    uid: metadata.uid ?? "",
    subject: textOf(spec["subject"]) || name,
    groups: [...textsOf(spec["groups"]), ...identities.flatMap(({ groups }) => textsOf(groups))],
    identities: identities.map(({ provider, subject }) => ({ provider: textOf(provider), subject: textOf(subject) })),
    displayName: textOf(spec["displayName"]),
    username: textOf(spec["username"]) || name,
    email: textOf(spec["email"]),
    isBot: spec["kind"] === "Bot",
    sourceRanges: textsOf(spec["allowedSourceRanges"]),
    locked: spec["disabled"] === true,
  };
}

function readTeam(object: CachedObject): Team | undefined {
  const { metadata, ...rest } = object.decode();
  if (isBeingDeleted({ metadata })) return undefined;
  const spec = objectOf(rest["spec"]);
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    displayName: textOf(spec["displayName"]),
    groups: textsOf(spec["groups"]),
    users: textsOf(spec["users"]),
  };
}
