// Vectors: outputs of k8s.io/apimachinery v0.32.1 pkg/util/duration.
import { describe, expect, it } from "vitest";
import { humanDuration } from "./human-duration.ts";
import vectors from "./testdata/human-duration.json" with { type: "json" };

describe("humanDuration", () => {
  it.each(vectors.cases)("$id: $seconds seconds are $text", ({ nanoseconds, text }) => {
    expect(humanDuration(nanoseconds / 1e6)).toBe(text);
  });

  it("rejects times further ahead than clocks can drift", () => {
    expect(humanDuration(-2000)).toBe("<invalid>");
  });
});
