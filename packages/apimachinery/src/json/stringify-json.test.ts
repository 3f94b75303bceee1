import fc from "fast-check";
import { expect, it } from "vitest";
import { runSteps } from "../steps/steps.ts";
import type { JsonValue } from "./json-value.ts";
import { stringifyJson, stringifyJsonInSteps } from "./stringify-json.ts";

const SEED = Number(process.env["TEST_SEED"] ?? 1);

it(`writes the same text in steps (seed ${SEED})`, () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(1_700), (value, length) => {
      const long = Array.from({ length }, (_, index) => (index % 7 === 0 ? (value as JsonValue) : index));
      for (const whole of [value as JsonValue, long, { a: { list: long, left: undefined }, b: value } as JsonValue]) {
        expect(runSteps(stringifyJsonInSteps(whole))).toBe(stringifyJson(whole));
      }
    }),
    { seed: SEED, numRuns: 60 },
  );
});

it("writes integers that are no numbers", () => {
  const list = Array.from({ length: 1_200 }, (_, index) => 9_007_199_254_740_993n + BigInt(index));
  expect(runSteps(stringifyJsonInSteps({ list }))).toBe(`{"list":[${list.join(",")}]}`);
});

it("takes a step for each 500 elements of a long array", () => {
  const steps = stringifyJsonInSteps({ status: { rules: Array.from({ length: 30_000 }, () => ({ verbs: ["get"] })) } });
  let count = 0;
  while (steps.next().done !== true) count++;
  expect(count).toBe(60);
});
