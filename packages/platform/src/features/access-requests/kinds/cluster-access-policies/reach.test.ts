import { createPlatformNames } from "@postern/api/platform-names";
import { expect, test } from "vitest";
import { mayAsk, offersAccess, readAccessPolicy } from "../../access-policy-state.ts";
import type { Person } from "../../person.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const policy = (targets: readonly object[], requesters: object = { users: ["ann"] }, project?: string) =>
  readAccessPolicy(
    {
      apiVersion: "management.postern/v1",
      kind: "ClusterAccessPolicy",
      metadata: { name: "x", uid: "u" },
      spec: { requesters, maxDurationSeconds: 60, targets } as any,
    },
    project === undefined ? "ClusterAccessPolicy" : "AccessPolicy",
    project,
    names,
  );
const prod = { project: "shop", virtualCluster: "prod" };
const labels = (found: object) => () => found as any;

test("a policy offers exactly the roles and places of one of its targets", () => {
  const byLabel = policy([
    { kind: "VirtualCluster", projects: ["shop"], selector: { matchLabels: { env: "prod" } }, roles: ["edit"] },
    { kind: "Project", projects: ["*"], roles: ["postern:project-viewer"] },
  ]);
  expect(offersAccess(byLabel, prod, "edit", labels({ env: "prod", a: "b" }))).toBe(true);
  // Names of members that every object has are no labels.
  for (const found of [{}, { env: "dev" }, Object.create({ env: "prod" })])
    expect(offersAccess(byLabel, prod, "edit", labels(found))).toBe(false);
  expect(offersAccess(byLabel, { ...prod, project: "other" }, "edit", labels({ env: "prod" }))).toBe(false);
  expect(offersAccess(byLabel, prod, "view", labels({ env: "prod" }))).toBe(false);
  // A role in the project is no role inside, and the other way round.
  expect(offersAccess(byLabel, { project: "any" }, "postern:project-viewer", labels({}))).toBe(true);
  expect(offersAccess(byLabel, prod, "postern:project-viewer", labels({ env: "prod" }))).toBe(false);
  expect(offersAccess(byLabel, { project: "shop" }, "edit", labels({ env: "prod" }))).toBe(false);
});

test("a policy of a project reaches its own project, whatever it says", () => {
  const own = policy([{ kind: "Project", projects: ["*", "other"], roles: ["a"] }], { users: ["ann"] }, "shop");
  expect(offersAccess(own, { project: "shop" }, "a", labels({}))).toBe(true);
  expect(offersAccess(own, { project: "other" }, "a", labels({}))).toBe(false);
});

test("users, members of teams, and those of whom the expression is true may ask", () => {
  const person = (name: string, teams: readonly string[] = [], groups: readonly string[] = []): Person => ({
    user: {
      name,
      uid: name,
      subject: name,
      groups,
      identities: [],
      displayName: "",
      username: name,
      email: "",
      isBot: false,
      locked: false,
    },
    teams,
  });
  const asked = policy([{ kind: "Cluster", names: ["eu"] }], {
    users: ["ann"],
    teams: ["sre"],
    expression: "'oncall' in user.groups",
  });
  expect(
    [person("ann"), person("bob", ["sre"]), person("bob", [], ["oncall"])].map((one) => mayAsk(asked, one)),
  ).toEqual([true, true, true]);
  expect([person("bob"), person("sre"), person("bob", ["oncall"], ["sre"])].map((one) => mayAsk(asked, one))).toEqual([
    false,
    false,
    false,
  ]);
  // An expression that costs too much is false.
  const dear = policy([{ kind: "Cluster", names: ["eu"] }], {
    expression: `[${Array.from({ length: 60 }, (_, at) => at).join(",")}].all(a, [${Array.from({ length: 60 }, (_, at) => at).join(",")}].all(b, [1,2,3,4,5,6,7,8].all(c, a + b + c >= 0)))`,
  });
  expect(mayAsk(dear, person("ann"))).toBe(false);
});
