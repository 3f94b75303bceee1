import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { isInTeam, isUser, type SubjectList } from "../caller.ts";
import { names, userInfo } from "../testing/memory-world.ts";
import { SubjectIndex } from "./subject-index.ts";

const NAMES = ["a", "b", "c", "*", ""];
const list: fc.Arbitrary<SubjectList> = fc.record({
  users: fc.array(fc.constantFrom(...NAMES), { maxLength: 3 }),
  teams: fc.array(fc.constantFrom(...NAMES), { maxLength: 3 }),
});
const user = fc.oneof(
  fc.constant({ name: "nobody", groups: [names.userGroup(""), names.teamGroup("")] }),
  fc
    .record({ name: fc.constantFrom(...NAMES), teams: fc.subarray(NAMES) })
    .map(({ name, teams }) => userInfo(name, ...teams)),
);

it("finds the entries that a look at everybody listed finds", () => {
  fc.assert(
    fc.property(fc.array(list, { maxLength: 6 }), user, (entries, caller) => {
      const is = (prefix: string) => caller.groups.some((group) => group.startsWith(prefix) && group !== prefix);
      const places = entries.flatMap(({ users, teams }, at) =>
        users.some((name) => (name === "*" ? is(names.userGroup("")) : isUser(caller, name, names))) ||
        teams.some((name) => (name === "*" ? is(names.teamGroup("")) : isInTeam(caller, name, names)))
          ? [at]
          : [],
      );
      const index = new SubjectIndex(entries, (entry) => entry);
      expect(index.placesOf(caller, names)).toEqual(places);
      expect(index.lists(caller, names)).toBe(places.length > 0);
      expect(index.of(caller, names)).toEqual(places.map((at) => entries[at]));
    }),
    { numRuns: 2_000 },
  );
});

it.each<[string, (count: number) => SubjectList[]]>([
  ["users of one entry", (count) => [{ users: numbered(count), teams: [] }]],
  ["teams of one entry", (count) => [{ users: [], teams: numbered(count) }]],
  ["entries", (count) => numbered(count).map((name) => ({ users: [name], teams: [name] }))],
])("looks no more names up for twice as many %s", (_what, entriesOf) => {
  const lookups = (count: number): number => {
    const index = new SubjectIndex(entriesOf(count), (entry) => entry);
    const caller = userInfo("other", "t1", "t2");
    using get = vi.spyOn(Map.prototype, "get");
    const isListed = index.lists(caller, names);
    const asked = get.mock.calls.length;
    expect(isListed).toBe(false);
    return asked;
  };
  expect(lookups(20_000)).toBe(lookups(10_000));
  expect(lookups(10_000)).toBeLessThanOrEqual(5);
});

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `n-${at}`);
}
