// A reporter of vitest that lists the failed files of a run, and those that `npm test` retries once.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

export type FailedFile = {
  readonly project: string;
  /** Relative to the repository root. */
  readonly path: string;
  /** Full names of the failed tests. Empty if the file failed before its tests. */
  readonly tests: readonly string[];
};

/** Suites that drive third-party programs with their own timeouts. */
const DRIVES_FOREIGN_PROGRAMS = /^test\/(e2e|install|docs|upgrade)\//;
/** More failures than these are not a coincidence. */
const MOST_RETRIED = 3;

/** Undefined: the run has failed for good. An error outside of all tests, such as a leaked secret, has no failed file. */
export function filesToRetry(failed: readonly FailedFile[] | undefined): readonly FailedFile[] | undefined {
  if (failed === undefined || failed.length === 0 || failed.length > MOST_RETRIED) return undefined;
  return failed.every(({ path }) => DRIVES_FOREIGN_PROGRAMS.test(path)) ? failed : undefined;
}

/** Writes to the file that the variable FAILED_FILES names; nothing without it. */
export const failedFiles: Reporter = {
  onTestRunEnd(modules, unhandledErrors, reason) {
    const file = process.env["FAILED_FILES"];
    if (file === undefined || reason === "interrupted" || unhandledErrors.length > 0) return;
    writeFileSync(file, JSON.stringify(modules.filter((module) => !module.ok()).map(failureOf)));
  },
};

const failureOf = (module: TestModule): FailedFile => ({
  project: module.project.name,
  path: relative(process.cwd(), module.moduleId),
  tests: [...module.children.allTests("failed")].map(({ fullName }) => fullName),
});
