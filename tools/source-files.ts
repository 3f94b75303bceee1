// Lists the files of the repository that a gate checks.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** Paths below the repository root of all existing files that git tracks or would track. */
export function repositoryFiles(): readonly string[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    encoding: "utf8",
  });
  return listed.split("\0").filter((path) => path !== "" && existsSync(path));
}

/** TypeScript sources of the packages and of everything beside them. */
export const typeScriptFiles = (): readonly string[] =>
  repositoryFiles().filter((path) => /\.tsx?$/.test(path) && !path.includes("/testdata/"));

export const readSource = (path: string): string => readFileSync(path, "utf8");

/** Prints the result of a gate, which fails if it found errors or had nothing to check. */
export function reportGate(gate: string, filesSeen: number, faults: readonly string[]): void {
  for (const fault of faults) console.error(fault);
  console.log(`${gate}: ${filesSeen} files, ${faults.length} faults`);
  if (filesSeen === 0 || faults.length > 0) process.exitCode = 1;
}
