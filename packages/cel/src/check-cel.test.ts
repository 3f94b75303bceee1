import { expect, it, vi } from "vitest";
import { checkCel } from "./check-cel.ts";
import { CEL_NAMES } from "./functions/cel-library.ts";
import { parseCel } from "./parse-cel.ts";

/** How often the types of variables are looked up, written and copied. */
function accessesOf(text: string): number {
  const expression = parseCel(text, CEL_NAMES);
  const spies = [vi.spyOn(Map.prototype, "get"), vi.spyOn(Map.prototype, "set")];
  try {
    const { faults } = checkCel(expression, {});
    expect(faults).toEqual([]);
    return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const repeat = (part: string, operator: string, count: number): string => Array(count).fill(part).join(operator);

// Ten kibibytes of the first took two seconds: 700 calls led through the types of all calls before.
it.each<[what: string, of: (count: number) => string]>([
  ["lists that are added", (count) => `${repeat("[1].map(x, x)", " + ", count)} == []`],
  ["lists that are mapped and added", (count) => `${repeat("[[]].map(x, x)", " + ", count)} == []`],
  ["conditionals of lists", (count) => `${repeat("(true ? [1].map(x, x) : [])", " + ", count)} == []`],
  ["optional items", (count) => `${repeat("[?optional.of(1)]", " + ", count)} == []`],
  ["comparisons", (count) => repeat("[1] == [2]", " || ", count)],
  ["a list of lists", (count) => `[${repeat("[1].map(x, x)", ", ", count)}] == []`],
  ["a list of maps", (count) => `[${repeat("{'a': []}", ", ", count)}] == []`],
])("takes twice as much work for twice as many %s", (_what, of) => {
  const [once, twice] = [accessesOf(of(150)), accessesOf(of(300))];
  expect(twice / once).toBeLessThan(2.1);
});
