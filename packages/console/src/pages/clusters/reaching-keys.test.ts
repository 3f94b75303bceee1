import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { momentOf, type Owner } from "../keys/key-state.ts";
import { reachOf } from "./reaching-keys.ts";

const NOW = momentOf(Date.parse("2026-01-01T00:00:00Z"));
const DEV = { project: "shop", virtualCluster: "dev" };
const isHolder = ({ kind, name }: Owner): boolean => ["user ann", "team web"].includes(`${kind} ${name}`);

const reach = (spec: NonNullable<OwnedAccessKey["spec"]>) => {
  const key = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "key" }, spec };
  return reachOf(key, { project: "shop", name: "dev" }, isHolder, NOW);
};

it.each<[string, NonNullable<OwnedAccessKey["spec"]>, string | undefined]>([
  ["of a user with access, without a scope", { user: "ann" }, "owner"],
  ["of a team with access, without a scope", { team: "web" }, "owner"],
  ["of a user named like a team", { user: "web" }, undefined],
  ["of a user without access", { user: "ben" }, undefined],
  ["with rules", { user: "ann", rules: [{ verbs: ["get"] }] }, undefined],
  ["for the project", { user: "ann", scope: { projects: [{ project: "shop" }] } }, "project"],
  ["for the project, of a user without access", { user: "ben", scope: { projects: [{ project: "shop" }] } }, undefined],
  ["for all projects", { team: "web", scope: { projects: [{ project: "*" }] } }, "project"],
  ["for another project", { user: "ann", scope: { projects: [{ project: "wiki" }] } }, undefined],
  [
    "for all virtual clusters",
    { user: "ann", scope: { virtualClusters: [{ ...DEV, virtualCluster: "*" }] } },
    "project",
  ],
  [
    "for it and another",
    { user: "ann", scope: { virtualClusters: [DEV, { ...DEV, virtualCluster: "prod" }] } },
    "cluster",
  ],
  [
    "for it and a space",
    { user: "ann", scope: { virtualClusters: [DEV], spaces: [{ project: "shop", space: "a" }] } },
    "cluster",
  ],
  ["for it alone, which the ledger has", { user: "ann", scope: { virtualClusters: [DEV] } }, undefined],
  ["of a session", { user: "ann", type: "Login" }, undefined],
  ["that is disabled", { user: "ann", disabled: true }, undefined],
])("finds the reach of a key %s", (_, spec, expected) => {
  expect(reach(spec)).toBe(expected);
});
