// The reference of errors explains every reason in the source.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { comparedReasons } from "./error-reference.ts";
import { findReasons, reasonsIn } from "./find-reasons.ts";

it("docs/reference/errors.md explains every reason that the source can give, and no other", () => {
  const page = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");
  expect(comparedReasons(page, findReasons())).toEqual({ unexplained: [], gone: [] });
});

describe("reasons in a source", () => {
  it.each<[what: string, source: string, reasons: readonly string[]]>([
    ["of object literals", `f({ reason: "Taken" })`, ["Taken"]],
    ["of either branch of a condition", `f({ reason: ok ? "Good" : "Bad" })`, ["Good", "Bad"]],
    ["of a constant", `const WHY = "Asleep"; f({ reason: WHY })`, ["Asleep"]],
    ["of a table", `const WHYS = { a: "First", b: "Second" }; f({ reason: WHYS[x] })`, ["First", "Second"]],
    ["of a type", `type DropReason = "silent" | "flood"`, ["silent", "flood"]],
    ["of OAuth", `throw new ExchangeRefusal("invalid_scope", "no")`, ["invalid_scope"]],
    ["but no sentences", `f({ reason: "it was taken" })`, []],
  ])("are those %s", (_, source, reasons) => {
    expect([...reasonsIn(new Map([["a.ts", source]])).keys()]).toEqual(reasons);
  });

  it("are reported when they are not explained, and when they are gone", () => {
    const page = "| reason | cause |\n|---|---|\n| `Old` | why |";
    expect(comparedReasons(page, new Map([["New", ["a.ts"]]]))).toEqual({ unexplained: ["New (a.ts)"], gone: ["Old"] });
  });
});
