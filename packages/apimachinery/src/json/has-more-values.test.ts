import { expect, it } from "vitest";
import { hasMoreValues } from "./has-more-values.ts";

it.each([
  ["[1,1,1,1,1,1]", 3, true],
  ["[1,1,1,1,1,1]", 5, false],
  ['{"a":1,"b":[1,2],"c":{}}', 2, true],
  ['{"a":1,"b":[1,2],"c":{}}', 3, false],
  ['["a,b,c,d,e,\\",f,g,h"]', 1, false],
])("%s has more than %i: %s", (text, max, expected) => expect(hasMoreValues(text, max)).toBe(expected));

const list = (length: number) => Array.from({ length }, () => 1);

it("counts what is beyond the first thousand of one list or object twice, and nothing else", () => {
  const count = (value: object, max: number) => hasMoreValues(JSON.stringify(value), max);
  expect(count([list(3_000)], 4_998)).toBe(true);
  expect(count([list(3_000)], 4_999)).toBe(false);
  expect(count([list(1_000), list(1_000), list(1_000)], 2_998)).toBe(true);
  expect(count([list(1_000), list(1_000), list(1_000)], 2_999)).toBe(false);
  const object = Object.fromEntries(list(3_000).map((_, index) => [`k${index}`, { a: 1 }]));
  expect(count(object, 4_999)).toBe(false);
  expect(count(object, 4_998)).toBe(true);
});
