import { expect, it } from "vitest";
import { highestOf, pointsOf, roundUp, sumsOf } from "./plot-scale.ts";

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
