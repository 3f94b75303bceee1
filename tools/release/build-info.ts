// Identifies the build: the version from the commit's tag, the commit, and its date.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { BuildInfo } from "@postern/apimachinery/build-info";

/**
 * The tag `v1.2.3` of the commit makes the version 1.2.3; a commit without a tag is a prerelease of the version in package.json, or of the next patch
 * if that version is already tagged. The date is
 * the commit's, so that builds are reproducible; `SOURCE_DATE_EPOCH` takes precedence (reproducible-builds.org), and so do
 * `POSTERN_VERSION` and `POSTERN_COMMIT` for sources without their history, such as in a container build. With neither,
 * `commit` is empty and `date` the epoch.
 */
export function readBuildInfo(): BuildInfo {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const commit = process.env["POSTERN_COMMIT"] ?? git("rev-parse", "HEAD");
  const tag = process.env["POSTERN_VERSION"] ?? git("describe", "--tags", "--exact-match", "--match", "v[0-9]*");
  const epoch = process.env["SOURCE_DATE_EPOCH"] ?? git("show", "-s", "--format=%ct", "HEAD");
  return {
    version: tag === "" ? `${nextVersion(manifest.version)}-dev` : tag.replace(/^v/, ""),
    commit,
    date: new Date(Number(epoch) * 1000).toISOString().replace(".000Z", "Z"),
  };
}

function nextVersion(version: string): string {
  if (git("tag", "--list", `v${version}`) === "") return version;
  return version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
}

/** Empty without git or without a checkout. */
function git(...args: readonly string[]): string {
  try {
    const cwd = new URL("../../", import.meta.url);
    return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}
