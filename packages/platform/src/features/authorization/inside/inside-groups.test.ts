import { describe, expect, test } from "vitest";
import { admin, instanceWith, memorySources, type Project, userInfo, world } from "../testing/memory-world.ts";
import { insideClusterRoles, insideIdentity } from "./inside-groups.ts";

const project: Project = {
  name: "a",
  owner: { user: "", team: "leads" },
  members: [
    { kind: "User", name: "adam", clusterRole: "postern:project-admin" },
    { kind: "Team", name: "devs", clusterRole: "postern:project-user" },
    { kind: "Team", name: "readers", clusterRole: "postern:project-reader" },
    { kind: "User", name: "vera", clusterRole: "postern:project-viewer" },
  ],
};
const instance = instanceWith({
  owner: { user: "ines", team: "" },
  extraAccessRules: [
    { users: [], teams: ["auditors"], clusterRole: "view" },
    { users: ["vera"], teams: [], clusterRole: "deployer" },
  ],
});
const sources = memorySources(world({ projects: [project], instances: [instance] }));
const place = { project: "a", virtualCluster: "v1" };

describe("the ClusterRoles inside", () => {
  test.each([
    ["ines", [], ["cluster-admin"]],
    ["adam", [], ["cluster-admin"]],
    ["lena", ["leads"], ["cluster-admin"]],
    ["paul", ["devs"], ["edit"]],
    ["paul", ["devs", "auditors"], ["edit", "view"]],
    ["vera", [], ["view", "deployer"]],
    ["rita", ["readers"], ["view"]],
    ["rita", ["readers", "devs"], ["edit"]],
    ["otto", ["auditors"], ["view"]],
    ["carl", [], []],
  ])("%s in %j: %j", (who, teams, roles) => {
    expect(insideClusterRoles(userInfo(who, ...teams), place, sources)).toEqual(roles);
  });

  test("administrators of the platform are administrators inside", () => {
    expect(insideClusterRoles(admin, place, sources)).toEqual(["cluster-admin"]);
  });

  test("of a space is named by the space", () => {
    const space = { ...instance, resource: "spaceinstances" as const, name: "s1", owner: { user: "sam", team: "" } };
    const withSpace = memorySources(world({ projects: [project], instances: [instance, space] }));
    expect(insideClusterRoles(userInfo("sam"), { project: "a", space: "s1" }, withSpace)).toEqual(["cluster-admin"]);
    expect(insideClusterRoles(userInfo("ines"), { project: "a", space: "s1" }, withSpace)).toEqual([]);
    expect(insideClusterRoles(userInfo("adam"), { project: "a", space: "v1" }, withSpace)).toEqual([]);
  });

  test.each([
    ["postern-cluster-space-admin", ["admin"]],
    ["postern-cluster-space-default", ["edit"]],
    ["other-cluster-space-admin", ["other-cluster-space-admin"]],
  ])("that the original command line names %s are %j", (clusterRole, roles) => {
    const rule = { users: ["carl"], teams: [], clusterRole };
    const shared = memorySources(
      world({ projects: [project], instances: [{ ...instance, extraAccessRules: [rule] }] }),
    );
    expect(insideClusterRoles(userInfo("carl"), place, shared)).toEqual(roles);
    // Nothing that a rule gives takes away what the project gives.
    expect(insideClusterRoles(userInfo("vera"), place, shared)).toEqual(["view"]);
  });

  test("of a rule that names none is none", () => {
    const unnamed = { users: ["*"], teams: [], clusterRole: "" };
    const sources = memorySources(
      world({ projects: [project], instances: [{ ...instance, extraAccessRules: [unnamed] }] }),
    );
    expect(insideClusterRoles(userInfo("carl"), place, sources)).toEqual([]);
    expect(insideClusterRoles(userInfo("vera"), place, sources)).toEqual(["view"]);
  });

  test("nobody has a group in an instance that does not exist", () => {
    expect(insideClusterRoles(userInfo("adam"), { project: "a", virtualCluster: "gone" }, sources)).toEqual([]);
    expect(insideClusterRoles(userInfo("adam"), { project: "b", virtualCluster: "v1" }, sources)).toEqual([]);
  });
});

test("a caller keeps its name and groups, and gets one for its role", () => {
  expect(insideIdentity(userInfo("paul", "devs"), place, sources)).toEqual({
    name: "paul",
    groups: ["postern:authenticated", "postern:user:paul", "postern:team:devs", "postern:role:edit"],
  });
});

describe("nothing of Kubernetes' own is carried inside (security book 29)", () => {
  test.each(["system:masters", "system:nodes", "system:serviceaccounts", "system:authenticated", "system:"])(
    "%s",
    (group) => {
      const user = { name: "carl", groups: [group, "staff"] };
      expect(insideIdentity(user, place, sources).groups).toEqual(["staff"]);
    },
  );

  test("only the platform assigns a group that means a role", () => {
    const user = { ...userInfo("vera"), groups: [...userInfo("vera").groups, "postern:role:cluster-admin"] };
    expect(insideIdentity(user, place, sources).groups).toContain("postern:role:deployer");
    expect(insideIdentity(user, place, sources).groups).not.toContain("postern:role:cluster-admin");
  });

  test("no group is carried without a name, or twice", () => {
    const user = { name: "carl", groups: ["", "staff", "staff", "not-system:x"] };
    expect(insideIdentity(user, place, sources).groups).toEqual(["staff", "not-system:x"]);
  });

  test("a refusal names what was to be reached", () => {
    const reach = (where: Parameters<typeof insideIdentity>[1]): unknown => {
      try {
        return insideIdentity({ name: "system:x", groups: [] }, where, sources);
      } catch (error) {
        return error;
      }
    };
    expect(reach(place)).toMatchObject({
      message:
        'virtualclusterinstances.management.postern "v1" is forbidden: this username is reserved in virtual clusters',
    });
    expect(reach({ project: "a", space: "s1" })).toMatchObject({
      message: 'spaceinstances.management.postern "s1" is forbidden: this username is reserved in virtual clusters',
    });
  });

  test.each(["system:admin", "system:kube-controller-manager", "system:serviceaccount:kube-system:default", ""])(
    "a caller named %j is refused",
    (name) => {
      const user = { name, groups: ["postern:user:ines"] };
      expect(() => insideIdentity(user, place, sources)).toThrow(expect.objectContaining({ code: 403 }));
    },
  );
});
