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

it("takes a step for each few thousand values of a long array", () => {
  const steps = stringifyJsonInSteps({ status: { rules: Array.from({ length: 30_000 }, () => ({ verbs: ["get"] })) } });
  let count = 0;
  while (steps.next().done !== true) count++;
  expect(count).toBe(44);
});

it("takes steps within large objects, and within many small ones", () => {
  const flat = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, "x"]));
  const nested = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `${index}`,
      Object.fromEntries(Array.from({ length: 99 }, (_, inner) => [`__proto__${inner}`, inner])),
    ]),
  );
  const deep = { a: { b: { c: { ...flat, ["__proto__"]: null, none: undefined } } } };
  for (const value of [flat, nested, deep]) {
    const steps = stringifyJsonInSteps(value);
    for (let count = 0; ; count++) {
      const { done, value: text } = steps.next();
      if (done !== true) continue;
      expect(count).toBeGreaterThanOrEqual(14);
      expect(text).toBe(stringifyJson(value));
      break;
    }
  }
});
