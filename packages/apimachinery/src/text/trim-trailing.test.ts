import { describe, expect, it } from "vitest";
import { textBefore, trimTrailing } from "./trim-trailing.ts";

describe("trimTrailing", () => {
  it.each([
    ["/a//b///", "/", "/a//b"],
    ["///", "/", ""],
    ["", "/", ""],
    ["a.!?.b", ".!?", "a.!?.b"],
    ["a.!?.", ".!?", "a"],
  ])("cuts %j at its end: %j", (text, characters, expected) => {
    expect(trimTrailing(text, characters)).toBe(expected);
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
