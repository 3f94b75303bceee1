import { expect, it } from "vitest";
import { builtInRole } from "./role-name.ts";
import { roleSummary } from "./role-summary.ts";

const role = (name: string, count: number) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules: Array.from({ length: count }, (_, at) => ({ verbs: ["get", "list"], resources: [`things${at}`] })),
});

it.each([
  [0, ""],
  [1, "get, list things0"],
  [2, "get, list things0; get, list things1"],
  [3, "get, list things0; get, list things1; 1 more rule"],
])("shows the first of %i rules", (count, text) => {
  expect(roleSummary(role("own", count))).toBe(text);
});

it("describes a built-in role, and no role of another server that only ends like one", () => {
  expect(roleSummary(role(builtInRole("project-viewer"), 1))).toMatch(/^Sees the project/);
  expect(roleSummary(role("other:project-viewer", 1))).toBe("get, list things0");
});
