// Writes docs/reference/security-book.md: every entry with the tests that carry its number. Run: npx tsx tools/generate-security-book.ts

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BookEntry, SECURITY_BOOK } from "./security-book-entries.ts";
import { readSource, typeScriptFiles } from "./source-files.ts";

/** `security book 13, 15: …` in the name of a test. */
const MENTION = /security book (\d+(?:, \d+)*)/g;

function testsByNumber(): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, Set<string>>();
  for (const path of typeScriptFiles().filter((name) => name.endsWith(".test.ts"))) {
    for (const [, numbers = ""] of readSource(path).matchAll(MENTION)) {
      for (const number of numbers.split(", ").map(Number)) {
        const paths = found.get(number) ?? new Set();
        found.set(number, paths.add(path));
      }
    }
  }
  return new Map([...found].map(([number, paths]) => [number, [...paths].sort()]));
}

function row({ number, asks, noSurface }: BookEntry, tests: readonly string[]): string {
  const where = tests.map((path) => `[${path.split("/").at(-1)}](../../${path})`).join(", ");
  const state = tests.length > 0 ? "tested" : noSurface === undefined ? "no test yet" : `no surface: ${noSurface}`;
  return `| ${number} | ${asks} | ${state} | ${where} |`;
}

const tests = testsByNumber();
const entries = SECURITY_BOOK.flatMap((chapter) => chapter.entries);
const tested = entries.filter(({ number }) => tests.has(number)).length;
const waiting = entries.filter(({ number, noSurface }) => !tests.has(number) && noSurface !== undefined).length;
const text = [
  "# Security book",
  "",
  "<!-- Written by tools/generate-security-book.ts from the names of the tests; do not edit. -->",
  "",
  "Failures that systems with this job have had, and what each asks of this one. A test that covers an entry carries its number in",
  "its name. A tested entry has at least one test; that is no claim that nothing is left of it.",
  "",
  `${entries.length} entries: ${tested} tested, ${waiting} without a surface yet, ${entries.length - tested - waiting} without a test.`,
  "",
  ...SECURITY_BOOK.flatMap(({ title, entries: own }) => [
    `## ${title}`,
    "",
    "| Number | Asks | State | Tests |",
    "|---|---|---|---|",
    ...own.map((each) => row(each, tests.get(each.number) ?? [])),
    "",
  ]),
].join("\n");

const path = fileURLToPath(new URL("../docs/reference/security-book.md", import.meta.url));
writeFileSync(path, text);
console.log(`wrote ${path}: ${tested} of ${entries.length} tested`);
