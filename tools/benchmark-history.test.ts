// The page of results is short, and its plots are those of the history.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { plotName, plotOf, readHistory, withNewestRun, worksIn } from "../benchmarks/report/history.ts";
import { SCENARIOS } from "../benchmarks/scenarios/compared.ts";

const FOLDER = join(import.meta.dirname, "../benchmarks");
const page = readFileSync(join(FOLDER, "RESULTS.md"), "utf8");

it("the page has at most 150 lines", () => {
  expect(page.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

it("each row of the history is measured, and has the plot that the history draws", () => {
  const history = readHistory();
  const measured = SCENARIOS.map(({ name }) => name);
  for (const work of worksIn(history)) {
    expect(measured).toContain(work);
    expect(page).toContain(`(plots/${plotName(work)})`);
    // `npm run benchmarks -- --results benchmarks/RESULTS.md` draws them.
    expect(readFileSync(join(FOLDER, "plots", plotName(work)), "utf8")).toBe(plotOf(work, history));
  }
});

it("a run takes the place of the newest, and leaves the rest of the page", () => {
  const changed = withNewestRun(page, "| another | table |");
  expect(changed).toContain("| another | table |");
  expect(changed).not.toContain("bd9b444b of 26 November");
  expect(withNewestRun(changed, "x").split("\n## ").slice(1)).toEqual(
    changed.replace("| another | table |", "x").split("\n## ").slice(1),
  );
  expect(() => withNewestRun("# A page", "x")).toThrow("has no lines");
});
