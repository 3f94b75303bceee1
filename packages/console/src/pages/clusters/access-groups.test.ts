import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { expect, it } from "vitest";
import { accessGroups } from "./access-groups.ts";

const cluster: VirtualClusterInstance = {
  apiVersion: "management.postern/v1",
  kind: "VirtualClusterInstance",
  metadata: { name: "dev" },
  spec: { owner: { user: "ann" }, extraAccessRules: [{ users: ["ben", "carl"], clusterRole: "edit" }] },
};

it("has each kind of access once, with all who have it", () => {
  const member = (name: string) => ({ kind: "User" as const, name, clusterRole: "postern:project-user" });
  const project = {
    apiVersion: "management.postern/v1",
    kind: "Project",
    metadata: { name: "shop" },
    spec: { owner: { team: "shop" }, members: [member("dora"), member("emil"), member("dora")] },
  };
  expect(accessGroups(cluster, project).map(({ holders }) => holders.map(({ name }) => name).join())).toEqual([
    "ann",
    "shop",
    "dora,emil",
    "ben,carl",
  ]);
  expect(accessGroups(cluster, undefined)).toHaveLength(2);
  expect(accessGroups({ ...cluster, spec: {} }, undefined)).toEqual([]);
});
