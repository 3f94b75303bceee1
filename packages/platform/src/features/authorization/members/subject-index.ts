// Entries of an object that list users and teams, indexed by them once for each version of the object.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { SubjectList } from "../caller.ts";
import { namedByGroups } from "./named-by-groups.ts";

type GroupNames = Pick<PlatformNames, "userGroup" | "teamGroup">;

const NO_PLACES: readonly number[] = [];

/** A decision costs the groups of the caller and the entries that list it, however many users and teams these list. */
export class SubjectIndex<Entry> {
  readonly entries: readonly Entry[];
  readonly #base: SubjectIndex<Entry> | undefined;
  readonly #users = new Map<string, number[]>();
  readonly #teams = new Map<string, number[]>();
  readonly #groups = new Map<string, number[]>();

  /** With `base`, its entries come first, and are not indexed again. */
  constructor(
    entries: readonly Entry[],
    subjectsOf: (entry: Entry) => SubjectList & { readonly groups?: readonly string[] },
    base?: SubjectIndex<Entry>,
  ) {
    this.entries = base === undefined ? entries : [...base.entries, ...entries];
    this.#base = base;
    const first = base?.entries.length ?? 0;
    for (const [at, entry] of entries.entries()) {
      const { users, teams, groups = [] } = subjectsOf(entry);
      for (const name of users) addPlace(this.#users, name, first + at);
      for (const name of teams) addPlace(this.#teams, name, first + at);
      for (const group of groups) addPlace(this.#groups, group, first + at);
    }
  }

  /** Whether any entry lists the caller. */
  lists(user: UserInfo, names: GroupNames): boolean {
    return this.#placesOf(user, names).next().done !== true;
  }

  /** The positions of the entries that list the caller, in order. A single star means every user, or every team. */
  placesOf(user: UserInfo, names: GroupNames): readonly number[] {
    const found = [...this.#placesOf(user, names)];
    if (found.length <= 1) return found[0] ?? NO_PLACES;
    return [...new Set(found.flat())].sort((one, other) => one - other);
  }

  /** The entries that list the caller, in order. */
  of(user: UserInfo, names: GroupNames): readonly Entry[] {
    return this.placesOf(user, names).flatMap((at) => this.entries.slice(at, at + 1));
  }

  *#placesOf(user: UserInfo, names: GroupNames): Generator<readonly number[]> {
    if (this.entries.length === 0) return;
    if (this.#base !== undefined) yield* this.#base.#placesOf(user, names);
    const { groups } = user;
    if (this.#groups.size > 0) {
      for (const group of groups) {
        const places = this.#groups.get(group);
        if (places !== undefined) yield places;
      }
    }
    yield* namedByGroups(this.#users, groups, names.userGroup(""));
    yield* namedByGroups(this.#teams, groups, names.teamGroup(""));
  }
}

function addPlace(places: Map<string, number[]>, name: string, at: number): void {
  if (name === "") return;
  const known = places.get(name);
  if (known === undefined) places.set(name, [at]);
  else if (known.at(-1) !== at) known.push(at);
}
