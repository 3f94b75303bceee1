import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { expect, it } from "vitest";
import { managementVersion } from "../../api/resources.ts";
import { settings } from "../../settings.ts";
import { builtInRole } from "../access/role-name.ts";
import type { Owner } from "../keys/key-state.ts";
import { type AccessSources, createMayUse } from "./may-use.ts";

const meta = (kind: string, name: string) => ({ apiVersion: managementVersion, kind, metadata: { name } });
const role = (name: string, verbs: readonly string[]) => ({
  ...meta("ClusterRole", name),
  rules: [{ verbs, apiGroups: [settings.managementGroup], resources: ["virtualclusterinstances"] }],
});
const cluster: VirtualClusterInstance = {
  ...meta("VirtualClusterInstance", "dev"),
  spec: {
    owner: { user: "ann" },
    access: [
      { users: ["rita"], verbs: ["get"] },
      { users: ["udo"], verbs: ["use"] },
    ],
    extraAccessRules: [{ teams: ["inside"], clusterRole: "view" }],
  },
};
const project: Project = {
  ...meta("Project", "shop"),
  spec: {
    owner: { team: "shop" },
    members: [
      { kind: "User", name: "vera", clusterRole: builtInRole("project-viewer") },
      { kind: "Team", name: "qa", clusterRole: builtInRole("project-reader") },
    ],
  },
};
const sources: AccessSources = {
  ...{ cluster, project },
  users: [
    { ...meta("User", "admin"), spec: { groups: ["admins"] } },
    { ...meta("User", "emil"), status: { teams: ["shop"] } },
  ],
  teams: [{ ...meta("Team", "qa"), spec: { users: ["dora"] } }],
  roles: [
    role(builtInRole("project-viewer"), ["get"]),
    role(builtInRole("project-reader"), ["get", "use"]),
    role("all", ["*"]),
  ],
  bindings: [
    { ...meta("ClusterRoleBinding", "a"), roleRef: { name: "all" }, subjects: [{ kind: "Group", name: "admins" }] },
  ],
  requests: [
    {
      ...meta("AccessRequest", "r"),
      spec: { policy: { name: "p" }, target: { project: "shop", virtualCluster: "dev" } },
      status: { phase: "Approved", requester: { user: "tim" } },
    },
    {
      ...meta("AccessRequest", "over"),
      spec: { policy: { name: "p" }, target: { project: "shop", virtualCluster: "dev" } },
      status: { phase: "Expired", requester: { user: "otto" } },
    },
  ],
};

const user = (name: string): Owner => ({ kind: "user", name });
const team = (name: string): Owner => ({ kind: "team", name });

it.each<readonly [string, Owner, boolean]>([
  ["its owner", user("ann"), true],
  ["the team that owns the project", team("shop"), true],
  ["a user of that team", user("emil"), true],
  ["a member whose role only sees it", user("vera"), false],
  ["a team with a role that gives use", team("qa"), true],
  ["a user of that team", user("dora"), true],
  ["a user named like the team", user("qa"), false],
  ["a user of its access list without use", user("rita"), false],
  ["a user of its access list with use", user("udo"), true],
  ["a team with a role inside", team("inside"), true],
  ["an administrator by a group", user("admin"), true],
  ["a user with an approved request", user("tim"), true],
  ["a user whose request has expired", user("otto"), false],
  ["a stranger", user("zoe"), false],
  ["a subject that is named like a user", { kind: "subject", name: "udo" }, false],
])("decides for %s", (_, owner, expected) => {
  expect(createMayUse(sources)(owner)).toBe(expected);
});

it("shows keys of a role whose rules cannot be seen", () => {
  expect(createMayUse({ ...sources, roles: [] })(user("dora"))).toBe(true);
  expect(createMayUse({ ...sources, roles: [], project: undefined })(user("dora"))).toBe(false);
});

it("a star is every user, or every team", () => {
  const open = (list: { users?: string[]; teams?: string[] }) =>
    createMayUse({ ...sources, cluster: { ...cluster, spec: { access: [{ ...list, verbs: ["*"] }] } } });
  expect(["zoe", "dora"].map((name) => open({ users: ["*"] })(user(name)))).toEqual([true, true]);
  expect(open({ users: ["*"] })(team("other"))).toBe(false);
  expect(open({ teams: ["*"] })(team("other"))).toBe(true);
  expect(open({ teams: ["*"] })(user("zoe"))).toBe(false);
});
