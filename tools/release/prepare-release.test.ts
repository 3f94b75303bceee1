import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { byNight, casesOf } from "../test-cost/by-night.ts";
import { REPOSITORY } from "./bundle-command.ts";
import { compareVersions, prepareRelease } from "./prepare-release.ts";

let parent: string;
let folder: string;
const git = (...args: readonly string[]): string => {
  const identity = ["-c", "user.name=Release", "-c", "user.email=release@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8" }).trim();
};
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
const commit = (path: string, text: string): void => {
  write(path, text);
  git("commit", "--quiet", "--all", "--message", "test: change");
};
const release = (version: string): void => prepareRelease({ version, folder, today: "2026-12-01", git });

let original: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "postern-release-"));
  folder = parent;
  execFileSync("git", ["clone", "--quiet", "--no-tags", "--depth", "1", `file://${REPOSITORY}`, "clone"], {
    cwd: parent,
  });
  folder = join(parent, "clone");
  original = git("rev-parse", "HEAD");
});
afterEach(() => {
  git("reset", "--quiet", "--hard", original);
  git("clean", "--quiet", "-fdx");
  for (const tag of git("tag").split("\n").filter(Boolean)) git("tag", "--delete", tag);
});
// The sources are nothing to look through for secrets of tests.
afterAll(() => void execFileSync("rm", ["-rf", parent]));

it("moves what is unreleased below the version, writes it everywhere, commits and tags", () => {
  const before = read("CHANGELOG.md");
  release("7.8.9");
  expect(git("status", "--porcelain")).toBe("");
  expect(git("log", "-1", "--format=%s")).toBe("release: 7.8.9");
  expect(git("describe", "--exact-match")).toBe("v7.8.9");
  expect(git("cat-file", "-t", "v7.8.9")).toBe("tag");
  const changelog = read("CHANGELOG.md");
  expect(changelog).toContain("\n## Unreleased\n\n## 7.8.9 - 2026-12-01\n\n");
  expect(changelog.replace("## 7.8.9 - 2026-12-01\n\n", "")).toBe(before);
  const old = git("grep", "--files-with-matches", "--fixed-strings", '"version": "7.8.9"').split("\n");
  expect(old).toEqual(expect.arrayContaining(["package.json", "packages/cli/package.json", "package-lock.json"]));
  for (const path of ["packages/cli/package.json", "package-lock.json"])
    expect(read(path).match(/"@postern\/[\w-]+": "(?!7\.8\.9")\d[^"]*"/g)).toBeNull();
  for (const chart of ["postern", "postern-agent"])
    expect(read(`deploy/charts/${chart}/Chart.yaml`)).toMatch(/^version: 7\.8\.9\nappVersion: "7\.8\.9"$/m);
  expect(read("deploy/kustomize/base/postern.yaml")).toContain("image: postern:7.8.9\n");
  expect(read("packages/apimachinery/src/build-info.ts")).toContain('"7.8.9-dev"');
});

byNight("leaves a lockfile that npm would write the same way", () => {
  release("7.8.9");
  const npm = ["install", "--package-lock-only", "--ignore-scripts", "--offline", "--no-audit", "--no-fund"];
  execFileSync("npm", npm, { cwd: folder, stdio: "ignore" });
  expect(git("status", "--porcelain")).toBe("");
});

const REFUSALS: readonly (readonly [name: string, version: string, spoil: () => void, message: RegExp])[] = [
  ["a version that is none", "1.2", () => {}, /^1\.2 is no version/],
  ["leading zeros", "01.2.3", () => {}, /is no version/],
  ["a version that is tagged", "7.0.0", () => void git("tag", "v7.0.0"), /^v7\.0\.0 is tagged already$/],
  [
    "a version older than the newest",
    "7.0.0-rc.2",
    () => void git("tag", "v7.0.0"),
    /^7\.0\.0 is released already, and newer/,
  ],
  ["changed files", "7.0.0", () => write("README.md", "x"), /^the working tree has changes/],
  ["new files", "7.0.0", () => write("new.ts", "x"), /^the working tree has changes/],
  [
    "a staged change",
    "7.0.0",
    () => {
      write("README.md", "x");
      git("add", "README.md");
    },
    /^the working tree has changes/,
  ],
  [
    "an empty section of the changelog",
    "7.0.0",
    () => commit("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n### Added\n\n## 0.1.0 - 2026-01-01\n\n- One.\n"),
    /^the section Unreleased of CHANGELOG\.md is empty$/,
  ],
  [
    "a changelog without the section",
    "7.0.0",
    () => commit("CHANGELOG.md", "# Changelog\n"),
    /has no section Unreleased$/,
  ],
  [
    "a format that is not recorded",
    "7.0.0",
    () => {
      git("rm", "-r", "--quiet", "test/upgrade/testdata");
      git("commit", "--quiet", "--message", "x");
    },
    /^the formats of 0\.1\.0 are in .* without a store/,
  ],
];

it.each(casesOf(REFUSALS, (_, index) => index % 4 === 0))(
  "refuses %s, and changes nothing",
  (_, version, spoil, message) => {
    spoil();
    const before = [git("rev-parse", "HEAD"), git("status", "--porcelain"), git("tag")];
    expect(() => release(version)).toThrow(message);
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain"), git("tag")]).toEqual(before);
  },
);

it("makes a second release on top of the first", () => {
  release("7.8.9-rc.1");
  expect(() => release("7.8.9")).toThrow(/Unreleased of CHANGELOG\.md is empty/);
  commit("CHANGELOG.md", read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n- More.\n"));
  release("7.8.9");
  expect(read("CHANGELOG.md")).toContain(
    "## Unreleased\n\n## 7.8.9 - 2026-12-01\n\n- More.\n\n## 7.8.9-rc.1 - 2026-12-01\n",
  );
  rmSync(join(folder, "README.md"));
  expect(() => release("7.9.0")).toThrow(/working tree/);
});

it("orders versions as Semantic Versioning does", () => {
  const ordered = ["0.9.0", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.10.0", "10.0.0"];
  for (const [at, one] of ordered.entries())
    for (const [where, other] of ordered.entries()) expect(compareVersions(one, other)).toBe(Math.sign(at - where));
});
