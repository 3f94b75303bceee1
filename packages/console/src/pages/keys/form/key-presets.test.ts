import { expect, it } from "vitest";
import { draftFor, type KeySearch } from "./key-presets.ts";

it.each<[string, KeySearch, object]>([
  ["no page", {}, { preset: "own", draft: { owner: "me", isLimited: true, projects: [], virtualClusters: [] } }],
  ["a team", { owner: "team/web" }, { preset: "own", draft: { owner: "team/web", projects: [] } }],
  ["a project", { project: "shop" }, { preset: "own", draft: { owner: "me", isLimited: true, projects: ["shop"] } }],
  ["a virtual cluster", { cluster: "shop/dev" }, { preset: "ci", draft: { virtualClusters: ["shop/dev"] } }],
])("opens the form of a key from %s", (_, search, expected) => {
  expect(draftFor(search)).toMatchObject(expected);
});
