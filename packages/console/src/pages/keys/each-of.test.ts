import { expect, it } from "vitest";
import { eachOf } from "./each-of.ts";

it("goes on after a failure, and reports how many failed and why the first did", async () => {
  const done: number[] = [];
  const worked: number[] = [];
  const work = async (number: number): Promise<void> => {
    worked.push(number);
    if (number % 2 === 0) throw new Error(`${number} is even`);
  };
  const report = (count: number): void => void done.push(count);
  await expect(eachOf([1, 2, 3, 4], work, report)).rejects.toThrow("2 of 4 failed: 2 is even");
  expect(worked).toEqual([1, 2, 3, 4]);
  expect(done).toEqual([0, 1, 2, 3]);
  await eachOf([1, 3], work, report);
});
