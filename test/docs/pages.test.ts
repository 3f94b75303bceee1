// The commands of pages, in their order and as written, against a server that has just started; and the links between pages.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryFiles } from "../../tools/source-files.ts";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { REPOSITORY } from "../e2e/testing/postern-process.ts";
import { PAGES, RUN_ELSEWHERE } from "./testing/pages.ts";
import { runPage, shellBlocks } from "./testing/run-page.ts";

/** By day. */
const KEPT = ["docs/guides/projects.md", "docs/guides/gitops.md"];

describe.each(namedCasesOf(PAGES, ({ path }) => path, KEPT))("$path", (page) => {
  it("does what it says", async () => {
    const printed = await runPage(page);
    for (const pattern of page.expected) expect(printed).toMatch(pattern);
  });
});

it("runs the shell blocks of every page", () => {
  const withBlocks = repositoryFiles().filter(
    (path) => /^(README|docs\/.*)\.md$/.test(path) && shellBlocks(path).length > 0,
  );
  const run = [...PAGES.map(({ path }) => path), ...Object.keys(RUN_ELSEWHERE)];
  expect(withBlocks.sort()).toEqual(run.sort());
});

it("leads from every page to pages and sections that are there", () => {
  const pages = repositoryFiles().filter((path) =>
    /^(README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/.test(path),
  );
  const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
  const anchorsOf = (path: string): readonly string[] =>
    [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
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
