import type { Project } from "@postern/api/project";
import { expect, test } from "vitest";
import { memberRoles, projectsToAsk } from "./project-roles.ts";

const VIEWER = "postern:project-viewer";
const ADMIN = "postern:project-admin";
const self = { user: { name: "jane", teams: [{ name: "shop" }] } };

const project = (name: string, spec: Project["spec"]): Project => ({ metadata: { name }, spec }) as Project;
const member = (kind: "User" | "Team", name: string, clusterRole: string) => ({ kind, name, clusterRole });

test("roles are those of the user and of the user's teams", () => {
  const members = [
    member("User", "jane", VIEWER),
    member("Team", "shop", ADMIN),
    member("User", "shop", "other"),
    member("Team", "jane", "other"),
  ];
  expect(memberRoles(self)(project("one", { members }))).toEqual([VIEWER, ADMIN]);
  expect(memberRoles({ team: { name: "shop" } })(project("one", { members }))).toEqual([ADMIN]);
});

test("eight of thousands of projects are asked about, among them one with each set of roles", () => {
  const projects = [
    ...Array.from({ length: 3_000 }, (_, at) =>
      project(`a-${String(at).padStart(4, "0")}`, { members: [member("User", "jane", VIEWER)] }),
    ),
    project("z-admin", { members: [member("Team", "shop", ADMIN)] }),
    project("z-both", { members: [member("Team", "shop", ADMIN), member("User", "jane", VIEWER)] }),
    project("z-other", { owner: { user: "ben" } }),
    project("z-owned", { owner: { team: "shop" } }),
  ];
  expect(projectsToAsk(projects, self)).toEqual([
    ...["a-0000", "z-admin", "z-both", "z-other", "z-owned"],
    ...["a-0001", "a-0002", "a-0003"],
  ]);
});
