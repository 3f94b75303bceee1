import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { momentOf } from "../keys/key-state.ts";
import { reachOf } from "./reaching-keys.ts";

const NOW = momentOf(Date.parse("2026-01-01T00:00:00Z"));
const DEV = { project: "shop", virtualCluster: "dev" };
const HOLDERS = [
  { isTeam: false, name: "ann" },
  { isTeam: true, name: "web" },
];

const reach = (spec: NonNullable<OwnedAccessKey["spec"]>) => {
  const key = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "key" }, spec };
  return reachOf(key, { project: "shop", name: "dev" }, HOLDERS, NOW);
};

it.each<[string, NonNullable<OwnedAccessKey["spec"]>, string | undefined]>([
  ["of a user with access, without a scope", { user: "ann" }, "owner"],
  ["of a team with access, without a scope", { team: "web" }, "owner"],
  ["of a user named like a team", { user: "web" }, undefined],
  ["of a user without access", { user: "ben" }, undefined],
  ["with rules", { user: "ann", rules: [{ verbs: ["get"] }] }, undefined],
  ["for the project", { user: "ben", scope: { projects: [{ project: "shop" }] } }, "project"],
  ["for all projects", { user: "ben", scope: { projects: [{ project: "*" }] } }, "project"],
  ["for another project", { user: "ann", scope: { projects: [{ project: "wiki" }] } }, undefined],
  ["for all virtual clusters", { scope: { virtualClusters: [{ ...DEV, virtualCluster: "*" }] } }, "project"],
  ["for it and another", { scope: { virtualClusters: [DEV, { ...DEV, virtualCluster: "prod" }] } }, "cluster"],
  ["for it and a space", { scope: { virtualClusters: [DEV], spaces: [{ project: "shop", space: "a" }] } }, "cluster"],
  ["for it alone, which the ledger has", { scope: { virtualClusters: [DEV] } }, undefined],
  ["of a session", { user: "ann", type: "Login" }, undefined],
  ["that is disabled", { user: "ann", disabled: true }, undefined],
])("finds the reach of a key %s", (_, spec, expected) => {
  expect(reach(spec)).toBe(expected);
});
