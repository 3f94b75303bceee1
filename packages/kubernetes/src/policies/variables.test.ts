// Variables of policies that ask for one another.

import { CelLimitError, createCelMeter } from "@postern/cel/cel-budget";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { describe, expect, it } from "vitest";
import { variablesOf } from "./evaluate-expression.ts";

/** The last one of a chain of variables, each of which adds `depth` parts to the one before. */
function lastOf(count: number, depth = 1): unknown {
  const texts = Array.from({ length: count }, (_, at) =>
    at === 0 ? "1" : `${"-(".repeat(depth - 1)}variables.v${at - 1}${")".repeat(depth - 1)}`,
  );
  const meter = createCelMeter(1_000_000);
  const names: { [name: string]: ReturnType<typeof variablesOf> } = {};
  names["variables"] = variablesOf(
    texts.map((text, at) => ({ name: `v${at}`, expression: parseCel(text, CEL_NAMES) })),
    names,
    meter,
  );
  return evaluateCel(parseCel(`variables.v${count - 1}`, CEL_NAMES), { names, meter });
}

describe("variables that ask for one another", () => {
  it("are evaluated", () => {
    expect(lastOf(300)).toBe(1n);
  });

  it.each([
    [3_000, 1],
    [30_000, 1],
    [300, 100],
  ])(
    "end with the error of the budget where %i of them are too deep for the stack, with %i parts each",
    (count, depth) => {
      expect(() => lastOf(count, depth)).toThrow(CelLimitError);
    },
  );

  it("may be many where each is asked for by itself", () => {
    const meter = createCelMeter(1_000_000);
    const expression = parseCel("1 + 1", CEL_NAMES);
    const variables = variablesOf(
      Array.from({ length: 5_000 }, (_, at) => ({ name: `v${at}`, expression })),
      {},
      meter,
    );
    for (let at = 0; at < 5_000; at++) expect(variables.get(`v${at}`)).toBe(2n);
  });
});
