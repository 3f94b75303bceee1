import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { expect, it } from "vitest";
import { clusterRightsOf } from "./cluster-rights.ts";

const cluster = (name: string, spec: NonNullable<VirtualClusterInstance["spec"]>): VirtualClusterInstance => ({
  apiVersion: "management.postern/v1",
  kind: "VirtualClusterInstance",
  metadata: { name, namespace: "p-shop" },
  spec,
});

const CLUSTERS = [
  cluster("dev", { owner: { team: "shop" } }),
  cluster("prod", { owner: { user: "ann" }, extraAccessRules: [{ teams: ["shop"], clusterRole: "view" }] }),
  // A user of the same name as the team.
  cluster("lab", { owner: { user: "shop" } }),
];

const rightsOf = (kind: "User" | "Team", name: string, teams: readonly string[] = []) =>
  clusterRightsOf(CLUSTERS, { kind, name, teams }).map(({ name: place, role }) => [place.split("/").pop(), role]);

it("lists what a team owns, and what virtual clusters give it", () => {
  expect(rightsOf("Team", "shop")).toEqual([
    ["dev", "owner, cluster-admin inside"],
    ["prod", "view inside"],
  ]);
});

it("names the team that a user has a right through", () => {
  expect(rightsOf("User", "ann", ["shop"])).toEqual([
    ["dev", "owner, cluster-admin inside, through team shop"],
    ["prod", "owner, cluster-admin inside"],
    ["prod", "view inside, through team shop"],
  ]);
  expect(rightsOf("User", "ben")).toEqual([]);
});
