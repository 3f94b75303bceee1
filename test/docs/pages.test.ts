// The commands of pages, in their order and as written, against a server that has just started; and the links between pages.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorOf } from "../../tools/release/render-markdown.ts";
import { repositoryFiles } from "../../tools/source-files.ts";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { REPOSITORY } from "../e2e/testing/postern-process.ts";
import { PAGES, RUN_ELSEWHERE } from "./testing/pages.ts";
import { runPage, shellBlocks } from "./testing/run-page.ts";

/** By day. */
const KEPT = ["docs/guides/projects.md", "docs/guides/gitops.md"];

describe.each(namedCasesOf(PAGES, ({ path }) => path, KEPT))("$path", (page) => {
  it("does what it says", async () => {
    const { printed, secretFiles } = await runPage(page);
    for (const pattern of page.expected) expect(printed).toMatch(pattern);
    expect(secretFiles.filter(({ isPrivate }) => !isPrivate)).toEqual([]);
    expect(notIgnored(secretFiles.map(({ path }) => path))).toEqual([]);
  });
});

it("runs the shell blocks of every page", () => {
  const withBlocks = repositoryFiles().filter(
    (path) => /^(README|docs\/.*)\.md$/.test(path) && shellBlocks(path).length > 0,
  );
  const run = [...PAGES.map(({ path }) => path), ...Object.keys(RUN_ELSEWHERE)];
  expect(withBlocks.sort()).toEqual(run.sort());
});

it("writes credentials into files that only the reader can read, and that git ignores", () => {
  const issuing =
    /postern (?:key create|key rotate|kubeconfig|ci login)\b|\.(?:key|token)\b|kubeConfig\b|openssl rand|admin\.kubeconfig|base64 --decode/;
  const pages = repositoryFiles().filter((path) => /^(README|docs\/(guides|operations)\/.*)\.md$/.test(path));
  const written = pages.flatMap((page) => {
    let isPrivate = false;
    return shellBlocks(page)
      .join("\n")
      .replaceAll("\\\n", " ")
      .replaceAll(/\|\n/g, "| ")
      .split("\n")
      .flatMap((line) => {
        isPrivate ||= line.startsWith("umask 077");
        const target = /(?<![0-9<>&=-])>>? ?(\S+)/.exec(line)?.[1] ?? /--out (\S+)/.exec(line)?.[1] ?? "";
        const isFile = target !== "" && !target.startsWith("/dev/") && !target.startsWith("&");
        if (!isFile || !issuing.test(line)) return [];
        const isSafe = isPrivate || line.includes("umask 077") || line.includes("--out");
        return [{ page, line, target: target.replaceAll(/["')]/g, ""), isSafe }];
      });
  });
  expect(written.length).toBeGreaterThan(8);
  expect(written.filter(({ isSafe }) => !isSafe)).toEqual([]);
  const targets = written.map(({ target }) => target).filter((target) => !/[$*]/.test(target));
  expect(notIgnored(targets)).toEqual([]);
  // Files that the guides have their reader provide.
  const provided = ["secret.txt", "key.txt", "token", "token.txt", "passphrase", "admin.conf", "cluster.kubeconfig"];
  expect(notIgnored(provided)).toEqual([]);
  expect(notIgnored(["docs/README.md", "package.json"])).toEqual(["docs/README.md", "package.json"]);
});

/** Files of a checkout that `git add .` would add. */
function notIgnored(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const { stdout } = spawnSync("git", ["check-ignore", "--no-index", ...paths], { cwd: REPOSITORY, encoding: "utf8" });
  return paths.filter((path) => !stdout.split("\n").includes(path));
}

it("leads from every page to pages and sections that are there", () => {
  const pages = repositoryFiles().filter((path) =>
    /^(README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/.test(path),
  );
  const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
  const anchorsOf = (path: string): readonly string[] =>
    [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
  const files = new Set(repositoryFiles());
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([, target = "", anchor]) => {
      const path = target === "" ? page : join(page, "..", target).replace(/\/$/, "");
      const exists = files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
      if (!exists) return [`${page}: ${target}`];
      return anchor === undefined || !path.endsWith(".md") || anchorsOf(path).includes(anchor)
        ? []
        : [`${page}: ${target}#${anchor}`];
    }),
  );
  expect(dead).toEqual([]);
});
