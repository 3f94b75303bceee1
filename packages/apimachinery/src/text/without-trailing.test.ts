import { describe, expect, it } from "vitest";
import { textBefore, withoutTrailing } from "./without-trailing.ts";

describe("withoutTrailing", () => {
  it.each([
    ["/a//b///", "/", "/a//b"],
    ["///", "/", ""],
    ["", "/", ""],
    ["a.!?.b", ".!?", "a.!?.b"],
    ["a.!?.", ".!?", "a"],
  ])("cuts %j at its end: %j", (text, characters, expected) => {
    expect(withoutTrailing(text, characters)).toBe(expected);
  });
});

describe("textBefore", () => {
  it.each([
    ["/a?b?c", "?", "/a"],
    ["/a", "?", "/a"],
    ["%eth0", "%", ""],
  ])("of %j before %j is %j", (text, mark, expected) => {
    expect(textBefore(text, mark)).toBe(expected);
  });
});
