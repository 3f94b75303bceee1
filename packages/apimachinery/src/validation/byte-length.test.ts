import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteLength } from "./byte-length.ts";

describe("byteLength", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["é", 2],
    ["€", 3],
    ["🍔", 4],
    ["\ud800x", 4],
  ])("%j has %i bytes", (text, bytes) => {
    expect(byteLength(text)).toBe(bytes);
  });

  it("counts what an encoder writes (seed 7)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(byteLength(text)).toBe(new TextEncoder().encode(text).length);
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});
