import fc from "fast-check";
import { expect, it } from "vitest";
import { names, userInfo } from "../testing/memory-world.ts";
import { type InstanceSubjects, InstanceUsers } from "./instance-users.ts";

const NAMES = ["a", "b", "c", "*"];
const NAMESPACES = ["p-1", "p-2", "p-3"];
const TEMPORARY = ["grant-1", "grant-2"];
const subset = (values: readonly string[]) => fc.subarray([...values]).map((chosen) => new Set(chosen));
const subjects: fc.Arbitrary<InstanceSubjects> = fc.record({
  users: subset(NAMES),
  teams: subset(NAMES),
  groups: subset(TEMPORARY),
});
const placed = fc.record({ namespace: fc.constantFrom(...NAMESPACES), subjects, isRemoved: fc.boolean() });
const caller = fc
  .record({ name: fc.constantFrom(...NAMES), teams: fc.subarray(NAMES), temporary: fc.subarray(TEMPORARY) })
  .map(({ name, teams, temporary }) => {
    const user = userInfo(name, ...teams);
    return { ...user, groups: [...user.groups, ...temporary] };
  });

it("finds the namespaces that a look at every instance finds", () => {
  fc.assert(
    fc.property(fc.array(placed, { maxLength: 8 }), caller, (instances, user) => {
      const index = new InstanceUsers();
      for (const { namespace, subjects: listed } of instances) index.add(namespace, listed);
      for (const { namespace, subjects: listed, isRemoved } of instances) {
        if (isRemoved) index.remove(namespace, listed);
      }
      const isNamed = (listed: ReadonlySet<string>, prefix: string): boolean => {
        const own = user.groups.filter((group) => group.startsWith(prefix)).map((group) => group.slice(prefix.length));
        return own.length > 0 && [...listed].some((name) => name === "*" || own.includes(name));
      };
      const expected = instances.flatMap(({ namespace, subjects: { users, teams, groups }, isRemoved }) =>
        !isRemoved &&
        (isNamed(users, names.userGroup("")) ||
          isNamed(teams, names.teamGroup("")) ||
          user.groups.some((group) => groups.has(group)))
          ? [namespace]
          : [],
      );
      expect(index.namespacesOf(user, names)).toEqual(new Set(expected));
      for (const namespace of NAMESPACES) expect(index.isIn(user, namespace, names)).toBe(expected.includes(namespace));
    }),
    { numRuns: 2_000 },
  );
});

it("forgets the subjects of what is gone", () => {
  const index = new InstanceUsers();
  const listed = { users: new Set(["a"]), teams: new Set(["b"]), groups: new Set(["grant-1"]) };
  index.add("p-1", listed);
  index.add("p-1", listed);
  index.remove("p-1", listed);
  expect(index.isIn(userInfo("a"), "p-1", names)).toBe(true);
  index.remove("p-1", listed);
  expect(index.isIn(userInfo("a"), "p-1", names)).toBe(false);
});
