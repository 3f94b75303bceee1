// Lists the files of the repository that a gate looks at.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** Paths below the repository root of all files that git tracks or would track, and that exist. */
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

/** Prints what a gate found, and fails it when it found faults or had nothing to look at. */
export function reportGate(gate: string, filesSeen: number, faults: readonly string[]): void {
  for (const fault of faults) console.error(fault);
  console.log(`${gate}: ${filesSeen} files, ${faults.length} faults`);
  if (filesSeen === 0 || faults.length > 0) process.exitCode = 1;
}
