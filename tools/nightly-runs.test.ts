// Every test that `npm test` leaves out has a run by night.

import { expect, it } from "vitest";
import config from "../vitest.config.ts";
import { NIGHTLY_RUNS } from "./nightly-runs.ts";

it.each(["long", "long-parallel", "long-measuring"])("has a run for every file of the project %s", (name) => {
  const projects = (config.test?.projects ?? []) as readonly { readonly test: { name: string; include: string[] } }[];
  const files = projects.find(({ test }) => test.name === name)?.test.include ?? [];
  expect(files.length).toBeGreaterThan(0);
  const runs = NIGHTLY_RUNS.filter(({ project }) => project === name);
  // A run without paths has the whole project.
  const isRun = (file: string): boolean =>
    runs.some(({ paths }) => paths.length === 0 || paths.some((path) => file.includes(path)));
  expect(files.filter((file) => !isRun(file))).toEqual([]);
});
