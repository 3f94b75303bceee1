// The page of the vcluster command names a case for each command that works: each is in the tests that send its requests.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

const [, working = ""] =
  /## Commands that work\n([\s\S]*?)\n## /.exec(read("docs/reference/vcluster-command.md")) ?? [];
const cases = working
  .split("\n")
  .filter((line) => line.startsWith("| `") || line.startsWith("| the"))
  .map((line) => line.split(" | ").at(-1)?.replace(/ \|$/, "") ?? "");

const titles = new Set(
  ["platform-cli", "original-clients"].flatMap((name) =>
    [...read(`test/e2e/${name}.test.ts`).matchAll(/\bit\(\s*"([^"]+)"/g)].map(([, title]) => title),
  ),
);

it("names a case for each command that works", () => {
  expect(cases.length).toBeGreaterThan(15);
  expect(cases.filter((title) => !titles.has(title))).toEqual([]);
});
