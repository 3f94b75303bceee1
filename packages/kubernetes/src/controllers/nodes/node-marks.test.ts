import { expect, it } from "vitest";
import { createNodeTtl } from "./node-marks.ts";

it("raises the TTL with the number of Nodes, and lowers it later than it was raised", () => {
  const ttlOf = createNodeTtl();
  const expected = [
    [100, 0],
    [101, 15],
    [95, 15],
    [89, 0],
    [501, 30],
    [450, 30],
    [449, 15],
    [2_001, 300],
    [1_799, 60],
    [0, 0],
  ] as const;
  for (const [count, seconds] of expected) expect([count, ttlOf(count)]).toEqual([count, seconds]);
});
