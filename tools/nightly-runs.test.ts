// What `npm test` leaves out has a run by night.

import { expect, it } from "vitest";
import config from "../vitest.config.ts";
import { NIGHTLY_RUNS } from "./nightly-runs.ts";

it("has a run for every file that takes too long for the day", () => {
  const projects = (config.test?.projects ?? []) as readonly { readonly test: { name: string; include: string[] } }[];
  const files = projects.find(({ test }) => test.name === "long")?.test.include ?? [];
  expect(files.length).toBeGreaterThan(0);
  const paths = NIGHTLY_RUNS.filter(({ project }) => project === "long").flatMap((run) => run.paths);
  expect(files.filter((file) => !paths.some((path) => file.includes(path)))).toEqual([]);
});
