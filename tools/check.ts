// Runs every gate that a change must pass before it is committed, and prints the duration of each. `--no-tests` leaves out the unit tests,
// for a run of all tests afterwards.

import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";

const GATES: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  // First, because others check the build.
  ["build", "tsc", "-b"],
  ["bundle", "tsx", "tools/bundle.ts"],
  ["format and lint", "biome", "check", "."],
  ["layers", "tsx", "tools/check-layers.ts"],
  ["circles", "tsx", "tools/check-circles.ts"],
  ["copies", "tsx", "tools/check-copies.ts"],
  ["resources", "tsx", "tools/check-resources.ts"],
  ["file sizes", "tsx", "tools/check-file-sizes.ts"],
  ["expressions", "tsx", "tools/check-expressions.ts"],
  ["repository text", "tsx", "tools/check-text.ts"],
  ["types", "tsc", "-p", "tsconfig.check.json"],
  ["types of the console", "tsc", "-p", "packages/console"],
  ["docstrings", "tsx", "tools/check-docstrings.ts"],
  ["examples", "tsx", "-C", "@postern/source", "tools/check-examples.ts"],
  ["unused code", "knip"],
  ["unit tests", "vitest", "run", "--project", "unit", "--reporter", "dot"],
];

const withoutTests = process.argv.includes("--no-tests");

let failed = 0;
for (const [name, command, ...args] of GATES) {
  if (withoutTests && command === "vitest") continue;
  const started = performance.now();
  const { status } = spawnSync("npx", ["--no-install", command, ...args], { stdio: "inherit" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (status !== 0) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;
