import { expect, it } from "vitest";
import { groupUses } from "./use-groups.ts";

const use = (index: number, resource: string, verbs: string[]) => ({
  apiGroup: "apps",
  resource,
  verbs,
  target: { virtualClusters: [{ project: `tenant-${index}`, virtualCluster: "dev" }] },
});

it("has one row for the same verbs in many places, and others apart", () => {
  const uses = [
    ...Array.from({ length: 38 }, (_, index) => use(index, "deployments", ["get"])),
    use(0, "deployments", ["get", "list"]),
    { apiGroup: "apps", resource: "deployments", verbs: ["get"] },
    { ...use(0, "deployments", ["get"]), target: { clusters: [{ cluster: "eu" }] } },
  ];
  const groups = groupUses(uses);
  expect(groups.map(({ where, verbs }) => `${verbs} on ${where}`)).toEqual([
    "get on 38 virtual clusters, host cluster eu",
    "get,list on virtual cluster tenant-0/dev",
    "get on ",
  ]);
  expect(groups[0]?.places).toHaveLength(39);
});
