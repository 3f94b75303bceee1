// A goal or a committed ratio that names no work is never looked at, and work that has neither is held to nothing.

import { expect, test } from "vitest";
import { committedWorks } from "../benchmarks/report/committed-ratios.ts";
import { STORES_WITH_GOALS, WITHOUT_GOAL, worksWithGoals } from "../benchmarks/report/goals.ts";
import { SCENARIOS } from "../benchmarks/scenarios/compared.ts";

const measured = SCENARIOS.map(({ name }) => name);

test("each goal names work that is measured", () => {
  expect(STORES_WITH_GOALS).toContain("etcd");
  for (const store of STORES_WITH_GOALS) expect(measured).toEqual(expect.arrayContaining([...worksWithGoals(store)]));
});

test("each work has a goal or is among those without one, and a name of its own", () => {
  expect([...worksWithGoals("sqlite"), ...WITHOUT_GOAL].sort()).toEqual(measured.toSorted());
});

test("the nightly gate has a ratio for each work, under its name", () => {
  expect([...new Set(committedWorks())].sort()).toEqual(measured.toSorted());
});
