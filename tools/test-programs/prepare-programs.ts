// Sees to the programs that tests run: installs Debian packages where it may, and otherwise names the test files to leave out.

import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { createProgramUsers } from "./program-users.ts";
import { TEST_PROGRAMS, type TestProgram } from "./programs.ts";

export type MissingProgram = {
  readonly program: TestProgram;
  /** Test files that need it, relative to the root of the repository. */
  readonly files: readonly string[];
};

/** Root on a system with apt-get. */
const mayInstall = (): boolean => process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0;

const missingPrograms = (): readonly TestProgram[] => TEST_PROGRAMS.filter(({ isInstalled }) => !isInstalled());

function install(packages: readonly string[]): void {
  console.log(`Installing the Debian packages of programs that tests run: ${packages.join(", ")}`);
  // In runlevel 1 no package starts its service.
  const env = { ...process.env, RUNLEVEL: "1", DEBIAN_FRONTEND: "noninteractive" };
  const options: SpawnSyncOptions = { stdio: ["ignore", "ignore", "inherit"], env };
  if (spawnSync("apt-get", ["update", "-qq"], options).status !== 0) return;
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], options);
}

/** Returns what is missing still. */
export function preparePrograms(): readonly MissingProgram[] {
  const packages = missingPrograms().flatMap(({ debianPackage }) => debianPackage ?? []);
  if (packages.length > 0 && mayInstall()) install(packages);
  const missing = missingPrograms();
  if (missing.length === 0) return [];
  const usersOf = createProgramUsers();
  return missing.map((program) => ({ program, files: usersOf(program) }));
}

/** One line for each program: its purpose, how to get it, and how many files need it. */
export const describeMissing = ({ program, files }: MissingProgram): string => {
  const { name, purpose, debianPackage } = program;
  const source = debianPackage === undefined ? "npm run nodes" : `apt-get install ${debianPackage}`;
  return `${name} is missing (${purpose}): ${source}; ${files.length} test files left out`;
};
