// Builds the release before this commit, for the tests that go back to it, and prints the path of its command. Before the first release this is the
// commit that recorded the newest formats of stores. Usage: PREVIOUS_POSTERN=$(npx tsx tools/build-previous.ts <folder>) npx vitest run test/upgrade

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { REPOSITORY } from "./release/bundle-command.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined || existsSync(folder))
  throw new Error("usage: tools/build-previous.ts <a folder that does not exist>");
const target = resolve(folder);

const run = (cwd: string, command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
const git = (...args: readonly string[]): string => run(REPOSITORY, "git", ...args);

const [tag] = git("tag", "--list", "v[0-9]*", "--merged", "HEAD^", "--sort=-version:refname").split("\n");
const recorded = () =>
  git("log", "-1", "--format=%H", "--diff-filter=A", "--", "test/upgrade/testdata/*/recording.json");
const previous = tag === undefined || tag === "" ? recorded() : tag;
console.error(`building ${previous}`);
run(REPOSITORY, "git", "clone", "--quiet", "--shared", REPOSITORY, target);
run(target, "git", "checkout", "--quiet", previous);
const lockfile = (of: string): string => readFileSync(join(of, "package-lock.json"), "utf8");
const options = ["--silent", "--no-audit", "--no-fund"];
/** Before the first release, there are commits whose lockfile lacks packages. */
const install = (): void => {
  try {
    run(target, "npm", "ci", ...options);
  } catch {
    console.error("npm ci does not take its lockfile: npm install");
    run(target, "npm", "install", "--no-save", ...options);
  }
};
// Its own dependencies: a copy, because its links have to lead to its own packages, not to those of this commit.
if (lockfile(target) === lockfile(REPOSITORY))
  run(REPOSITORY, "cp", "-a", "node_modules", join(target, "node_modules"));
else install();
run(target, "npx", "--no-install", "tsx", "tools/bundle.ts");
console.log(join(target, "packages/cli/bin/postern.js"));
