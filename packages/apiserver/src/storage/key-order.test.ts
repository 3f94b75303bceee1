import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareKeys, prefixEnd } from "./key-order.ts";

describe("compareKeys", () => {
  test("orders any two strings as their UTF-8 bytes", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(text, text, text, (common, a, b) => {
        const [left, right] = [common + a, common + b];
        expect(Math.sign(compareKeys(left, right))).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      }),
    );
  });
});

describe("prefixEnd", () => {
  test.each([
    ["/a/", "/a0"],
    ["a\u{10ffff}", "b"],
    ["\ud7ff", "\ue000"],
    ["\uffff", "\u{10000}"],
    ["\u{1f600}", "\u{1f601}"],
    ["", undefined],
    ["\u{10ffff}", undefined],
  ])("of %j is %j", (prefix, end) => {
    expect(prefixEnd(prefix)).toBe(end);
  });
});
