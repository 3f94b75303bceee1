import { expect, it } from "vitest";
import { describeCosts } from "./most-expensive-files.ts";

it("names those that took most of the processor, the first one first, and counts all", () => {
  const costs = Array.from({ length: 12 }, (_, at) => ({
    name: `unit: ${at}.test.ts`,
    processorSeconds: at / 2,
    seconds: 100,
  }));
  const lines = describeCosts(costs).split("\n");
  expect(lines[0]).toBe("33 s of the processor for 12 files; most of it:");
  expect(lines[2]).toBe("        5.5    100.0  unit: 11.test.ts");
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toContain("unit: 2.test.ts");
});
