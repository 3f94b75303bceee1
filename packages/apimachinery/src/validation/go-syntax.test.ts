import { describe, expect, it } from "vitest";
import { formatGoFloat, formatGoTime, formatGoValue } from "./go-syntax.ts";

describe("Go syntax", () => {
  it.each([
    [0.5, "0.5"],
    [10, "10"],
    [123_456.5, "123456.5"],
    [1_000_000, "1e+06"],
    [1_234_567.5, "1.2345675e+06"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [-2.5e21, "-2.5e+21"],
    [0, "0"],
  ])("prints the float %d as %s", (value, text) => {
    expect(formatGoFloat(value)).toBe(text);
  });

  it("prints nested values with sorted keys", () => {
    expect(formatGoValue({ b: [1, null, true], a: "x" })).toBe(
      'map[string]interface {}{"a":"x", "b":[]interface {}{1, interface {}(nil), true}}',
    );
  });

  it("prints times in UTC, and other text quoted", () => {
    expect(formatGoTime("2023-11-14T23:30:00+01:00")).toBe("2023-11-14 22:30:00 +0000 UTC");
    expect(formatGoTime("soon")).toBe('"soon"');
  });

  it("does not descend for ever", () => {
    const deep = JSON.parse(`${"[".repeat(9000)}${"]".repeat(9000)}`);
    expect(formatGoValue(deep)).toContain("...");
  });
});
