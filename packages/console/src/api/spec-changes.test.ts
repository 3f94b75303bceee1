import { expect, it } from "vitest";
import { mergePatchOf, withoutEmpty } from "./spec-changes.ts";

it("leaves out what a form has not filled in", () => {
  const spec = {
    displayName: "",
    ttl: 0,
    isOn: false,
    users: [],
    owner: { user: "", team: "core" },
    issuer: { url: "" },
  };
  expect(withoutEmpty(spec)).toEqual({ ttl: 0, owner: { team: "core" } });
});

it.each([
  [{ a: "1", b: "2" }, { a: "1", b: "3" }, { b: "3" }],
  [{ a: "1", b: "2" }, { a: "1" }, { b: null }],
  [{ owner: { user: "jane" } }, { owner: { team: "core" } }, { owner: { user: null, team: "core" } }],
  [{ owner: { user: "jane" } }, {}, { owner: null }],
  [{}, { owner: { user: "jane" } }, { owner: { user: "jane" } }],
  // Lists are replaced as a whole.
  [{ groups: ["a", "b"], same: ["a"] }, { groups: ["a"], same: ["a"] }, { groups: ["a"] }],
])("patches %j to %j with %j", (before, after, patch) => {
  expect(mergePatchOf(before, after)).toEqual(patch);
});
