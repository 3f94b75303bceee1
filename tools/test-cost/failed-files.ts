// A reporter of vitest that writes down which files of a run failed, and which of those `npm test` tries once more.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

export type FailedFile = {
  readonly project: string;
  /** From the root of the repository. */
  readonly path: string;
  /** Full names of the tests that failed. Empty where the file did not get as far as its tests. */
  readonly tests: readonly string[];
};

/** Suites that drive programs which others wrote, with limits of time of their own. */
const DRIVES_FOREIGN_PROGRAMS = /^test\/(e2e|install|docs|upgrade)\//;
/** More than these at once are no chance. */
const MOST_RETRIED = 3;

/** Undefined: the run has failed for good. An error outside of all tests, such as a leaked secret, leaves no failed file. */
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
