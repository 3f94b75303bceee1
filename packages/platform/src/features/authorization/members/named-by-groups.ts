// Entries of a list for the users, or the teams, that a caller is: its groups name them.

/** In a list, it means every user, or every team. */
const ANY = "*";

/** Those of `byName` whose names follow `prefix` in one of the groups, and last those for any name. Lies on the path of each decision. */
export function* namedByGroups<Listed>(
  byName: ReadonlyMap<string, Listed>,
  groups: readonly string[],
  prefix: string,
): Generator<Listed> {
  if (byName.size === 0) return;
  let hasSubjects = false;
  for (const group of groups) {
    if (group.length === prefix.length || !group.startsWith(prefix)) continue;
    hasSubjects = true;
    const name = group.slice(prefix.length);
    // Means all of them, and names none.
    const listed = name === ANY ? undefined : byName.get(name);
    if (listed !== undefined) yield listed;
  }
  const ofAll = hasSubjects ? byName.get(ANY) : undefined;
  if (ofAll !== undefined) yield ofAll;
}
