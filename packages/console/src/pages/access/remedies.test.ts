import type { User } from "@postern/api/user";
import { expect, it } from "vitest";
import { settings } from "../../settings.ts";
import { remediesFor } from "./remedies.ts";
import { builtInRole } from "./role-name.ts";

const VERBS: readonly (readonly [role: string, verbs: readonly string[]])[] = [
  ["project-viewer", ["get"]],
  ["project-user", ["get", "use"]],
  ["project-admin", ["get", "use", "delete"]],
];
const ROLES = VERBS.map(([role, verbs]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: builtInRole(role) },
  rules: [{ verbs, apiGroups: [settings.managementGroup], resources: ["virtualclusterinstances"] }],
}));
const BEN: User = {
  apiVersion: "management.postern/v1",
  kind: "User",
  metadata: { name: "ben" },
  status: { teams: ["qa"] },
};
const BINDING = "Or bind a ClusterRole that allows this to ben: then it applies to the whole platform.";
const TEAM = "Or add the user to a team that is a member of payments.";

const member = (kind: "User" | "Team", name: string, role: string) => ({ kind, name, clusterRole: builtInRole(role) });
const remedies = (members: readonly ReturnType<typeof member>[], verb = "delete", project = "payments") =>
  remediesFor(
    BEN,
    project,
    { verb, group: settings.managementGroup, resource: "virtualclusterinstances", name: "prod" },
    { members: [...members, member("User", "qa", "project-admin")], roles: ROLES },
  );

it("names the role that a member has, and the one that allows the request", () => {
  expect(remedies([member("User", "ben", "project-user")])).toEqual([
    "Project user does not delete virtual clusters; Project administrator does.",
    "Give ben the role Project administrator in the project payments.",
    BINDING,
  ]);
  expect(remedies([member("Team", "qa", "project-viewer")], "use")[0]).toBe(
    "Project viewer (through team qa) does not use virtual clusters; Project user does.",
  );
});

it("names the role that a new member needs, and no membership that would not help", () => {
  expect(remedies([])).toEqual([
    "Make ben a member of the project payments, with the role Project administrator.",
    TEAM,
    BINDING,
  ]);
  expect(remedies([member("User", "ben", "project-user")], "impersonate")).toEqual([BINDING]);
  expect(remedies([], "delete", "")).toEqual([BINDING]);
});

it("names no role where roles cannot be read", () => {
  const wanted = { verb: "delete", group: settings.managementGroup, resource: "virtualclusterinstances" };
  const [first] = remediesFor(BEN, "payments", wanted, { members: [member("User", "ben", "project-user")], roles: [] });
  expect(first).toBe("Give ben a role in the project payments that allows this.");
});
