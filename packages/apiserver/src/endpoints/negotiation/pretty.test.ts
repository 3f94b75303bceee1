import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { indentJson } from "./pretty.ts";

describe("indented JSON", () => {
  it("is what JSON.stringify would indent", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(indentJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
      }),
    );
  });

  it("keeps numbers as they are written", () => {
    expect(indentJson('{"a":9007199254740993,"b":1.0}')).toBe('{\n  "a": 9007199254740993,\n  "b": 1.0\n}');
  });

  it("can stand inside a deeper text", () => {
    expect(`[\n  ${indentJson('{"a":[1]}', 1)}\n]`).toBe(JSON.stringify([{ a: [1] }], null, 2));
  });

  it("is not many times as long as a deep object", () => {
    const wide = JSON.stringify(Array.from({ length: 10_000 }, () => 1));
    const deep = "[".repeat(980) + wide + "]".repeat(980);
    const indented = indentJson(deep);
    expect(JSON.stringify(JSON.parse(indented))).toBe(deep);
    // Each line has at most 64 levels of two spaces.
    expect(indented.length).toBeLessThan(12_000 * (2 * 64 + 4));
    expect(indented).toContain(`\n${" ".repeat(128)}1,\n`);
  });
});
