// The namespaces in which each user and team owns an instance, or is listed to use one: a list of projects asks for all of them at once.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { namedByGroups } from "./named-by-groups.ts";

export type GroupNames = Pick<PlatformNames, "userGroup" | "teamGroup">;

/** By name. `groups`: those that callers have for a time. */
export type InstanceSubjects = { readonly [kind in "users" | "teams" | "groups"]: ReadonlySet<string> };

/** How many instances of each namespace a subject may use. */
type Counts = ReadonlyMap<string, number>;

export class InstanceUsers {
  readonly #counts = {
    users: new Map<string, Map<string, number>>(),
    teams: new Map<string, Map<string, number>>(),
    groups: new Map<string, Map<string, number>>(),
  };

  add(namespace: string, subjects: InstanceSubjects): void {
    this.#change(namespace, subjects, 1);
  }

  /** The subjects are those that were added. */
  remove(namespace: string, subjects: InstanceSubjects): void {
    this.#change(namespace, subjects, -1);
  }

  isIn(user: UserInfo, namespace: string, names: GroupNames): boolean {
    for (const counts of this.#countsOf(user, names)) if (counts.has(namespace)) return true;
    return false;
  }

  namespacesOf(user: UserInfo, names: GroupNames): ReadonlySet<string> {
    return new Set([...this.#countsOf(user, names)].flatMap((counts) => [...counts.keys()]));
  }

  *#countsOf({ groups }: UserInfo, names: GroupNames): Generator<Counts> {
    for (const group of groups) {
      const counts = this.#counts.groups.get(group);
      if (counts !== undefined) yield counts;
    }
    yield* namedByGroups(this.#counts.users, groups, names.userGroup(""));
    yield* namedByGroups(this.#counts.teams, groups, names.teamGroup(""));
  }

  #change(namespace: string, subjects: InstanceSubjects, by: 1 | -1): void {
    for (const kind of ["users", "teams", "groups"] as const) {
      for (const subject of subjects[kind]) {
        const counts = this.#counts[kind].get(subject) ?? new Map<string, number>();
        const count = (counts.get(namespace) ?? 0) + by;
        if (count > 0) counts.set(namespace, count);
        else counts.delete(namespace);
        if (counts.size > 0) this.#counts[kind].set(subject, counts);
        else this.#counts[kind].delete(subject);
      }
    }
  }
}
