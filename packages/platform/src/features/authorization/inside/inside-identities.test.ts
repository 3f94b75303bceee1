import { expect, test } from "vitest";
import { instanceWith, memorySources, type Project, userInfo, world } from "../testing/memory-world.ts";
import { insideIdentity } from "./inside-groups.ts";
import { InsideIdentities } from "./inside-identities.ts";

const paul = userInfo("paul", "devs");
const place = { project: "a", virtualCluster: "v1" };

/** Roles of teams as they are now. */
const sourcesWith = (...roles: readonly string[]) => {
  const members = roles.map((clusterRole) => ({ kind: "Team" as const, name: "devs", clusterRole }));
  const project: Project = { name: "a", owner: { user: "", team: "" }, members };
  return memorySources(world({ projects: [project], instances: [instanceWith({ extraAccessRules: [] })] }));
};

/** Sources that change, and the version by which that is seen. */
function openIdentities() {
  const state = { version: 1, sources: sourcesWith() };
  const deps = {
    names: state.sources.names,
    projects: { get: (name: string) => state.sources.projects.get(name) },
    instances: state.sources.instances,
  };
  const policyVersion = {
    get version() {
      return state.version;
    },
  };
  return { state, identities: new InsideIdentities(deps, policyVersion) };
}

test("a caller has the same identity object until permissions change", () => {
  const { state, identities } = openIdentities();
  const first = identities.of(paul, place);
  expect(first).toEqual(insideIdentity(paul, place, state.sources));
  expect(identities.of(paul, { ...place })).toBe(first);
  state.sources = sourcesWith("postern:project-user");
  state.version += 1;
  const second = identities.of(paul, place);
  expect(second.groups).toContain(state.sources.names.insideRoleGroup("edit"));
  expect(second).toEqual(insideIdentity(paul, place, state.sources));
});

test.each([
  { project: "a", virtualCluster: "v2" },
  { project: "b", virtualCluster: "v1" },
  { project: "a", space: "v1" },
])("the identity in %j is another", (other) => {
  const { identities } = openIdentities();
  const first = identities.of(paul, place);
  const second = identities.of(paul, other);
  expect(second).not.toBe(first);
  expect(identities.of(paul, other)).toBe(second);
});

test("another user has an identity of its own", () => {
  const { identities } = openIdentities();
  identities.of(paul, place);
  expect(identities.of(userInfo("vera"), place).name).toBe("vera");
});
