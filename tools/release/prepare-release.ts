// Turns a commit into a release: versions in all manifests, a section of the changelog, a commit, a tag.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class ReleaseError extends Error {}

export type ReleaseOptions = {
  readonly version: string;
  readonly folder: string;
  /** As `2026-11-23`. */
  readonly today: string;
  /** Returns git's output; throws if git fails. */
  readonly git: (...args: readonly string[]) => string;
};

/** https://semver.org, without build metadata, which comes from the commit. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-(rc\.[1-9]\d*))?$/;
const UNRELEASED = "## Unreleased\n";
const CHARTS = ["deploy/charts/postern/Chart.yaml", "deploy/charts/postern-agent/Chart.yaml"];
const BASE = "deploy/kustomize/base/postern.yaml";
/** The version of a server that runs from source, without a build. */
const SOURCES = "packages/apimachinery/src/build-info.ts";
const FORMATS = "docs/operations/upgrading.md";

/** Throws a `ReleaseError` without a change if this commit cannot be released. */
export function prepareRelease({ version, folder, today, git }: ReleaseOptions): void {
  const read = (path: string): string => readFileSync(join(folder, path), "utf8");
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
  const tags = git("tag", "--list", "v[0-9]*").split("\n").filter(Boolean);
  const changelog = read("CHANGELOG.md");
  checkVersion(version, tags);
  if (git("status", "--porcelain") !== "")
    throw new ReleaseError("the working tree has changes: commit or remove them");
  const notes = unreleasedOf(changelog);
  checkFormats({ version, folder, read, notes });

  write("CHANGELOG.md", changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${today}\n`));
  for (const path of manifestsOf(folder, read)) write(path, withVersion(read(path), version, path));
  for (const chart of CHARTS)
    write(
      chart,
      read(chart)
        .replace(/^version: .*$/m, `version: ${version}`)
        .replace(/^appVersion: .*$/m, `appVersion: "${version}"`),
    );
  // The kustomize base is rendered from the chart.
  write(BASE, read(BASE).replaceAll(/^( *image: postern:).*$/gm, `$1${version}`));
  write(SOURCES, read(SOURCES).replace(/version: "[^"]*-dev"/, `version: "${version}-dev"`));
  git("add", "--all");
  git("commit", "--quiet", "--message", `release: ${version}`);
  git("tag", "--annotate", `v${version}`, "--message", `Postern ${version}\n\n${notes}`);
}

function checkVersion(version: string, tags: readonly string[]): void {
  if (!VERSION.test(version)) throw new ReleaseError(`${version} is no version such as 1.2.3 or 1.2.3-rc.1`);
  if (tags.includes(`v${version}`)) throw new ReleaseError(`v${version} is tagged already`);
  const newer = tags
    .map((tag) => tag.slice(1))
    .find((tagged) => VERSION.test(tagged) && compareVersions(tagged, version) > 0);
  if (newer !== undefined) throw new ReleaseError(`${newer} is released already, and newer than ${version}`);
}

/** The order of Semantic Versioning, section 11: a release comes after its candidates. */
export function compareVersions(one: string, other: string): number {
  const parts = (version: string): readonly number[] => {
    const [, major, minor, patch, candidate] = VERSION.exec(version) ?? [];
    return [
      Number(major),
      Number(minor),
      Number(patch),
      candidate === undefined ? Infinity : Number(candidate.slice(3)),
    ];
  };
  const [left, right] = [parts(one), parts(other)];
  const index = left.findIndex((part, at) => part !== right[at]);
  return index === -1 ? 0 : Math.sign((left[index] ?? 0) - (right[index] ?? 0));
}

function unreleasedOf(changelog: string): string {
  const [, after] = changelog.split(UNRELEASED);
  if (after === undefined) throw new ReleaseError("CHANGELOG.md has no section Unreleased");
  const [section = ""] = after.split(/^## /m);
  if (!/^- \S/m.test(section)) throw new ReleaseError("the section Unreleased of CHANGELOG.md is empty");
  return section.trim();
}

/** A release that raises the number of a format says so, and has a recorded store for later releases. */
function checkFormats({
  version,
  folder,
  read,
  notes,
}: {
  readonly version: string;
  readonly folder: string;
  readonly read: (path: string) => string;
  readonly notes: string;
}): void {
  const testdata = "test/upgrade/testdata";
  const recorded = existsSync(join(folder, testdata)) ? readdirSync(join(folder, testdata)) : [];
  const rows = [...read(FORMATS).matchAll(/^\| (\d+\.\d+\.\d+) \|/gm)].map(([, release = ""]) => release);
  const unrecorded = rows.filter((release) => !recorded.includes(release));
  if (unrecorded.length > 0)
    throw new ReleaseError(`the formats of ${unrecorded.join(", ")} are in ${FORMATS} without a store in ${testdata}`);
  const [release = version] = version.split("-");
  const isFirst = rows.length === 1;
  if (rows.includes(release) && !isFirst && !/\bformats?\b/i.test(notes))
    throw new ReleaseError(`${release} has a new format: its section of CHANGELOG.md has to say so`);
}

function manifestsOf(folder: string, read: (path: string) => string): readonly string[] {
  const { workspaces }: { workspaces: readonly string[] } = JSON.parse(read("package.json"));
  const packages = workspaces.flatMap((pattern) => {
    const parent = pattern.replace(/\/\*$/, "");
    return readdirSync(join(folder, parent)).map((name) => `${parent}/${name}/package.json`);
  });
  return ["package.json", ...packages.filter((path) => existsSync(join(folder, path))), "package-lock.json"];
}

/** Packages of the workspace depend on each other in the same version. Keeps the rest of the text. */
function withVersion(text: string, version: string, path: string): string {
  const ours = /^( *"@postern\/[a-z-]+": )"\d[^"]*"/gm;
  if (path !== "package-lock.json")
    return text.replace(/^( {2}"version": )"[^"]*"/m, `$1"${version}"`).replaceAll(ours, `$1"${version}"`);
  const lock = JSON.parse(text.replaceAll(ours, `$1"${version}"`));
  lock.version = version;
  for (const [name, entry] of Object.entries<{ version?: string }>(lock.packages))
    if ((name === "" || name.startsWith("packages/")) && entry.version !== undefined) entry.version = version;
  return `${JSON.stringify(lock, null, 2)}\n`;
}
