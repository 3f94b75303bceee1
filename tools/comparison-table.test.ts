// The table of capabilities in docs/comparison.md: every yes is shown by a file that exists, and the sum above it is right.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PAGE = new URL("../docs/comparison.md", import.meta.url);
const text = readFileSync(PAGE, "utf8");
const rows = text
  .slice(text.indexOf("## Capabilities"))
  .split("\n")
  .filter((line) => /\| (?:yes|partly|no) \|/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, capability = "", answer = "", shown = "", others = ""]) => ({ capability, answer, shown, others }));

const linksIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);

test("every capability that Postern has, wholly or in part, is shown by files that exist", () => {
  expect(rows.length).toBeGreaterThan(60);
  const unshown = rows.filter(({ answer, shown }) => (answer !== "no") !== linksIn(shown).length > 0);
  expect(unshown).toEqual([]);
  const dead = rows.flatMap(({ shown }) =>
    linksIn(shown).filter((target) => !existsSync(fileURLToPath(new URL(target, PAGE)))),
  );
  expect(dead).toEqual([]);
});

test("others are named with their own documentation alone", () => {
  const named = rows.flatMap(({ others }) => linksIn(others));
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((target) => !target.startsWith("https://"))).toEqual([]);
  expect(rows.filter(({ others }) => others !== "" && linksIn(others).length === 0)).toEqual([]);
});

test("no capability is counted twice, and the sum is that of the rows", () => {
  expect(new Set(rows.map(({ capability }) => capability)).size).toBe(rows.length);
  const count = (wanted: string): number => rows.filter(({ answer }) => answer === wanted).length;
  expect(text).toContain(
    `${rows.length} capabilities of systems of this kind: ${count("yes")} yes, ${count("partly")} partly, ${count("no")} no.`,
  );
});
