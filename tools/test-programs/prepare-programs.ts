// Sees to the programs that tests run: installs Debian packages where it may, and otherwise names the test files to leave out.

import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { createProgramUsers } from "./program-users.ts";
import { TEST_PROGRAMS, type TestProgram } from "./programs.ts";

export type MissingProgram = {
  readonly program: TestProgram;
  /** Test files that need it, relative to the root of the repository. */
  readonly files: readonly string[];
};

/** Tests pass a machine of their own. */
export type Machine = {
  readonly platform: NodeJS.Platform;
  readonly hasProgram: (program: TestProgram) => boolean;
  readonly mayInstall: () => boolean;
};

const THIS_MACHINE: Machine = {
  platform: process.platform,
  hasProgram: ({ isInstalled }) => isInstalled(),
  // Root on a system with apt-get.
  mayInstall: () => process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0,
};

function install(packages: readonly string[]): void {
  console.log(`Installing the Debian packages of programs that tests run: ${packages.join(", ")}`);
  // In runlevel 1 no package starts its service.
  const env = { ...process.env, RUNLEVEL: "1", DEBIAN_FRONTEND: "noninteractive" };
  const options: SpawnSyncOptions = { stdio: ["ignore", "ignore", "inherit"], env };
  if (spawnSync("apt-get", ["update", "-qq"], options).status !== 0) return;
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], options);
}

/** Returns what is missing still. */
export function preparePrograms(machine: Machine = THIS_MACHINE): readonly MissingProgram[] {
  const missingPrograms = () => TEST_PROGRAMS.filter((program) => !machine.hasProgram(program));
  const packages = missingPrograms().flatMap(({ debianPackage }) => debianPackage ?? []);
  if (packages.length > 0 && machine.mayInstall()) install(packages);
  const missing = missingPrograms();
  if (missing.length === 0) return [];
  const usersOf = createProgramUsers();
  return missing.map((program) => ({ program, files: usersOf(program) }));
}

/** False for programs of another system. */
export const isObtainable = ({ program }: MissingProgram, platform: NodeJS.Platform = process.platform): boolean =>
  platform === "linux" || program.isForLinux !== true;

/** One line for each program: its purpose, how to get it, and how many files need it. */
export function describeMissing(missing: MissingProgram, platform: NodeJS.Platform = process.platform): string {
  const { program, files } = missing;
  const source = isObtainable(missing, platform) ? sourceOf(program, platform) : "only on Linux";
  return `${program.name} is missing (${program.purpose}): ${source}; ${files.length} test ${files.length === 1 ? "file" : "files"} left out`;
}

function sourceOf({ debianPackage, homebrewFormula, command }: TestProgram, platform: NodeJS.Platform): string {
  if (platform === "darwin" && homebrewFormula !== undefined) return `brew install ${homebrewFormula}`;
  if (debianPackage !== undefined) return `apt-get install ${debianPackage}`;
  return command ?? "npm run nodes";
}
