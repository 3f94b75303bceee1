// Makes a release: `npm run release -- 1.2.3` checks that this commit can be released, moves the changelog's `Unreleased` below the version, writes
// the version into all manifests, commits, and tags. `npm run release -- --artefacts` builds what is published from a tagged commit. Nothing
// is pushed. docs/operations/upgrading.md says what versions mean, CONTRIBUTING.md has the steps.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./release/bundle-command.ts";
import { prepareRelease, ReleaseError } from "./release/prepare-release.ts";

const USAGE = "usage: npm run release -- <version> | --artefacts";

const [wanted, ...rest] = process.argv.slice(2);
const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: REPOSITORY, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

try {
  if (wanted === undefined || rest.length > 0) throw new ReleaseError(USAGE);
  if (wanted === "--artefacts") {
    const tag = git("tag", "--points-at", "HEAD", "--list", "v[0-9]*");
    if (tag === "") throw new ReleaseError("this commit has no tag: make a release first");
    if (git("status", "--porcelain") !== "")
      throw new ReleaseError("the working tree has changes: commit or remove them");
    const { version } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8"));
    if (tag !== `v${version}`) throw new ReleaseError(`the tag is ${tag}, and package.json says ${version}`);
    // In a separate process: the build is that of the tagged commit.
    execFileSync("npm", ["run", "--silent", "package"], { cwd: REPOSITORY, stdio: "inherit" });
  } else {
    const today = new Date().toISOString().slice(0, 10);
    prepareRelease({ version: wanted, folder: REPOSITORY, today, git });
    console.log(
      `v${wanted} is committed and tagged. Next: npm ci && npm run release -- --artefacts, then push the branch and the tag`,
    );
  }
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
