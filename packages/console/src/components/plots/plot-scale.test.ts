import { expect, it } from "vitest";
import { barHeights, highestOf, pointsOf, roundUp, sumsOf } from "./plot-scale.ts";

it("adds up parts of equal length, and what is left", () => {
  expect(sumsOf([1, 2, 3, 4, 5], 2)).toEqual([3, 7, 5]);
  expect(sumsOf([], 60)).toEqual([]);
});

it.each([
  [0, 1],
  [1, 1],
  [3, 5],
  [5, 5],
  [11, 20],
  [230, 500],
  [501, 1_000],
])("ends the axis of %i at %i", (highest, end) => {
  expect(roundUp(highest)).toBe(end);
});

it("finds the highest of no values, and of more than fit into arguments of a call", () => {
  expect(highestOf([])).toBe(0);
  expect(highestOf(Array.from({ length: 300_000 }, (_, index) => index % 1_000))).toBe(999);
});

it("draws zero at the bottom and the end of the axis at the top", () => {
  expect(pointsOf([0, 10], 10, 100, 50)).toBe("25.0,50.0 75.0,0.0");
});

it.each([
  ["nothing", [0, 0], { all: 1, bad: 0 }],
  ["one of many", [1, 0], { all: 3, bad: 0 }],
  ["one that is bad", [1, 1], { all: 3, bad: 3 }],
  ["one bad of ten in a low bar", [10, 1], { all: 3, bad: 1 }],
  ["one bad of ten in a high bar", [1_000, 100], { all: 100, bad: 10 }],
] as const)("draws a bar of %s with its share of bad ones", (_, [count, bad], heights) => {
  expect(barHeights(count, bad, 1_000, 100)).toEqual(heights);
});
