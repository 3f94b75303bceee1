// How much one PATCH of a directory may have done, and that others get their turn meanwhile.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { describe, expect, it } from "vitest";
import { applyPatch } from "./scim-patch.ts";

const USER: JsonObject = { userName: "a", emails: [] };
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `k${at}`);
const adding = (paths: readonly string[]): JsonObject => ({
  op: "add",
  value: Object.fromEntries(paths.map((path) => [path, "x"])),
});
const emailPaths = (count: number) => names(count).map((name) => `emails[type eq "${name}"].value`);

/** The turns that others get until the patch ends, and why it failed. */
function run(Operations: readonly JsonObject[], resource = USER) {
  const steps = applyPatch("User", resource, { Operations });
  let turns = 0;
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return { turns, value };
      turns++;
    }
  } catch (error) {
    return { turns, fault: (error as Error & { scimType?: string }).scimType };
  }
}

describe("the work of a PATCH", () => {
  it.each([
    ["names", names(90)],
    ["values that filters choose", emailPaths(90)],
  ])("is done in a turn for each of the %s that one operation changes", (_what, paths) => {
    const { turns, fault } = run([adding(paths)]);
    expect([fault, turns >= 90]).toEqual([undefined, true]);
  });

  it.each([
    ["names without a path", [adding(names(20_000))]],
    ["values that filters choose, without a path", [adding(emailPaths(20_000))]],
    [
      "values that filters choose, by many operations",
      names(1_000).map((name) => adding(emailPaths(100).map((path) => path.replace("k", name)))),
    ],
    [
      "operations on a resource of many names",
      [
        ...Array.from({ length: 30 }, (_, at) => adding(names(100).map((name) => `${name}-${at}`))),
        ...Array(900).fill({ op: "add", path: "k1", value: "y" }),
      ],
    ],
    [
      "operations on a value of many members",
      [
        { op: "add", path: "a", value: Object.fromEntries(names(30_000).map((name) => [name, "x"])) },
        ...Array(999).fill({ op: "add", path: "a.k1", value: "y" }),
      ],
    ],
  ])("is bounded for %s", (_what, operations) => {
    expect(run(operations).fault).toBe("tooMany");
  });

  it("is bounded for one filter of many comparisons on many values", () => {
    const filter = Array(20).fill('type eq "b"').join(" or ");
    const emails = names(20_000).map((value) => ({ value }));
    const one = (size: number) =>
      run([{ op: "remove", path: `emails[${filter}]` }], { ...USER, emails: emails.slice(0, size) }).fault;
    expect([one(1_000), one(20_000)]).toEqual([undefined, "tooMany"]);
  });

  it.each([
    ["a name of many steps", { op: "add", value: { [Array(100).fill("a").join(".")]: "x" } }],
    ["a path of many steps", { op: "add", path: Array(100).fill("a").join("."), value: "x" }],
    ["a long name", { op: "add", value: { ["a".repeat(1_001)]: "x" } }],
  ])("is refused for %s", (_what, operation) => {
    expect(run([operation]).fault).toBe("invalidPath");
  });
});
