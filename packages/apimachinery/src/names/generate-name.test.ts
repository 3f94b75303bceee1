// Vectors: facts of k8s.io/apiserver pkg/storage/names/generate.go and what a live server answered.
import { describe, expect, it } from "vitest";
import { generateName, NAME_ALPHABET, type RandomSource, randomSuffix } from "./generate-name.ts";
import vectors from "./testdata/generate-name.json" with { type: "json" };

/** A small seeded generator (mulberry32), so that a failure repeats. */
function seededRandom(seed: number): RandomSource {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) & 0xff;
  };
  return { bytes: (count) => Uint8Array.from({ length: count }, next) };
}

type Case = { id: string; generateName?: string; expectNamePattern?: string | null };
const named = (vectors.cases as Case[]).filter(({ expectNamePattern }) => typeof expectNamePattern === "string");

describe("generateName", () => {
  it.each(named)("$id makes a name from $generateName", ({ generateName: prefix = "", expectNamePattern }) => {
    const random = seededRandom(1);
    const name = generateName(prefix, random);
    expect(name).toMatch(new RegExp(expectNamePattern ?? ""));
    expect(generateName(prefix, random)).not.toBe(name);
  });

  it("cuts the prefix by bytes and never inside a character", () => {
    const name = generateName("é".repeat(40), seededRandom(2));
    expect(name.startsWith("é".repeat(29))).toBe(true);
    expect(name).toHaveLength(34);
  });
});

describe("randomSuffix", () => {
  it("passes over the bytes that would favour some characters", () => {
    const bytes = [255, 243, 0, 26, 27, 242, 250, 28];
    const random = { bytes: (count: number) => Uint8Array.from(bytes.splice(0, count)) };
    expect(randomSuffix(5, random)).toBe("b9b9c");
  });

  it("uses every character about equally often", () => {
    const counts = new Map<string, number>();
    for (const char of randomSuffix(27_000, seededRandom(3))) counts.set(char, (counts.get(char) ?? 0) + 1);
    expect([...counts.keys()].sort().join("")).toBe([...NAME_ALPHABET].sort().join(""));
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
