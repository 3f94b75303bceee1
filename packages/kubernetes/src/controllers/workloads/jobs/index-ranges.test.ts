import { expect, test } from "vitest";
import { countCommon, countOf, freeIndexes, hasIndex, parseRanges, rangesText, withIndexes } from "./index-ranges.ts";

test.each([
  ["", 5, []],
  [
    "0,2-4",
    10,
    [
      [0, 0],
      [2, 4],
    ],
  ],
  ["0-9", 5, [[0, 4]]],
  [
    "3,1,x,5-2,7",
    10,
    [
      [3, 3],
      [7, 7],
    ],
  ],
])("reads %j of %d", (text, completions, ranges) => {
  expect(parseRanges(text, completions)).toEqual(ranges);
});

test("a range of any size costs no more than a small one", () => {
  const ranges = parseRanges("0-1999999998", 2_000_000_000);
  expect(countOf(ranges)).toBe(1_999_999_999);
  expect(freeIndexes(ranges, new Set(), 2_000_000_000, 3)).toEqual([1_999_999_999]);
});

test("joins what belongs together, and writes it as upstream does", () => {
  expect(rangesText(withIndexes([[0, 1]], [2, 5, 6, 9]))).toBe("0-2,5,6,9");
  expect(
    rangesText(
      withIndexes(
        [
          [0, 0],
          [2, 2],
        ],
        [1],
      ),
    ),
  ).toBe("0-2");
});

test("agrees with a set of numbers", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let run = 0; run < 200; run++) {
    const numbers = new Set<number>();
    let ranges = parseRanges("", 30);
    for (let step = 0; step < 10; step++) {
      const fresh = [random(30), random(30)].filter((each) => !numbers.has(each));
      for (const each of fresh) numbers.add(each);
      ranges = withIndexes(ranges, [...new Set(fresh)]);
    }
    expect(parseRanges(rangesText(ranges), 30)).toEqual(ranges);
    expect(countOf(ranges)).toBe(numbers.size);
    for (let index = 0; index < 30; index++) expect(hasIndex(ranges, index)).toBe(numbers.has(index));
    const free = Array.from({ length: 30 }, (_, index) => index).filter((index) => !numbers.has(index) && index !== 4);
    expect(freeIndexes(ranges, new Set([4]), 30, 7)).toEqual(free.slice(0, 7));
  }
});

test("counts what two have in common", () => {
  const ranges = parseRanges("0-3,6,8-9", 20);
  expect(countCommon(ranges, parseRanges("2-6,9-12", 20))).toBe(4);
  expect(countCommon(ranges, ranges)).toBe(countOf(ranges));
  expect(countCommon(ranges, [])).toBe(0);
});
