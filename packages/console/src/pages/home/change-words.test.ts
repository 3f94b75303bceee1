import { expect, it } from "vitest";
import { changeLines } from "./change-words.ts";
import type { Change } from "./use-activity.ts";

const change = (verb: string, resource: string, name: string, more: Partial<Change> = {}): Change => ({
  at: "2026-11-28T12:00:00Z",
  user: "ann",
  verb,
  resource,
  subresource: "",
  namespace: "",
  name,
  ...more,
});

const wordsOf = (...changes: readonly Change[]) => changeLines(changes).map(({ user, words }) => `${user} ${words}`);

it.each([
  [change("create", "ownedaccesskeys", "ci"), "ann created access key ci"],
  [change("patch", "projects", "shop"), "ann changed project shop"],
  [change("update", "projects", "shop", { subresource: "status" }), "ann changed project shop"],
  [change("delete", "virtualclusterinstances", "dev"), "ann deleted virtual cluster dev"],
  [change("create", "ownedaccesskeys", "ci", { subresource: "rotate" }), "ann rotated access key ci"],
  [
    change("create", "virtualclusterinstances", "dev", { subresource: "kubeconfig" }),
    "ann got a kubeconfig for virtual cluster dev",
  ],
  [change("create", "accessrequests", "ops-1", { subresource: "approval" }), "ann decided on access request ops-1"],
  [change("create", "things", "x", { subresource: "scale/now" }), "ann used scale of things x"],
  [change("create", "ownedaccesskeys", ""), "ann created access key"],
])("says %j as %s", (given, words) => {
  expect(wordsOf(given)).toEqual([words]);
});

it("makes one sentence of equal changes of one user, and names the first of them", () => {
  const keys = ["a", "b", "c", "d", "e"].map((name) => change("create", "ownedaccesskeys", name));
  expect(wordsOf(...keys, change("create", "ownedaccesskeys", "z", { user: "ben" }))).toEqual([
    "ann created 5 access keys (a, b, c and 2 more)",
    "ben created access key z",
  ]);
  expect(wordsOf(change("patch", "projects", "shop"), change("patch", "projects", "shop"))).toEqual([
    "ann changed project shop",
  ]);
});
