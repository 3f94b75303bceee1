// Writes docs/reference/security-book.md: every entry with its tests and where they are. Run: npm run generate -- security
//
// An entry is held only if a test attacks a server over a socket. A test that calls the code beneath only checks it.

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BookEntry, SECURITY_BOOK } from "./security-book-entries.ts";
import { readSource, typeScriptFiles } from "./source-files.ts";

/** `security book 13, 15` in the name of a test. */
const MENTION = /security book (\d+(?:, \d+)*)/g;
/** Code that starts a server on a socket. */
const SERVES = /startPlatform|startServer\b|serveHandler|serveProxy|serveHostile|running-platform|serve-handler/;
const ATTACKS = "test/attacks/";

type Evidence = { readonly path: string; readonly isAttack: boolean };
type Grade = "held" | "checked" | "open" | "no surface";

const evidenceOf = (path: string, source: string): Evidence => ({
  path,
  isAttack: path.startsWith("test/") || SERVES.test(source),
});

function evidenceByNumber(): ReadonlyMap<number, readonly Evidence[]> {
  const found = new Map<number, Map<string, Evidence>>();
  for (const path of typeScriptFiles().filter((name) => name.endsWith(".test.ts"))) {
    const source = readSource(path);
    for (const [, numbers = ""] of source.matchAll(MENTION)) {
      for (const number of numbers.split(", ").map(Number)) {
        const known = found.get(number) ?? new Map<string, Evidence>();
        found.set(number, known.set(path, evidenceOf(path, source)));
      }
    }
  }
  const inOrder = (a: Evidence, b: Evidence): number =>
    Number(b.isAttack) - Number(a.isAttack) || (a.path < b.path ? -1 : 1);
  return new Map([...found].map(([number, paths]) => [number, [...paths.values()].sort(inOrder)]));
}

function gradeOf({ noSurface, brokenUntil }: BookEntry, evidence: readonly Evidence[]): Grade {
  if (noSurface !== undefined) return "no surface";
  if (brokenUntil !== undefined) return evidence.some(({ path }) => shows(path, brokenUntil)) ? "held" : "open";
  if (evidence.some(({ isAttack }) => isAttack)) return "held";
  return evidence.length > 0 ? "checked" : "open";
}

/** Attacks in their own file: the tests of the book were written when the flaw was known. */
const shows = (path: string, name: string): boolean =>
  path.startsWith(ATTACKS) && !path.startsWith(`${ATTACKS}security-book/`) && path.startsWith(ATTACKS + name);

const linkTo = ({ path }: Evidence): string => `[${path.split("/").at(-1)}](../../${path})`;

function row(each: BookEntry, evidence: readonly Evidence[]): string {
  const attacks = evidence
    .filter(({ isAttack }) => isAttack)
    .map(linkTo)
    .join(", ");
  const checks = evidence
    .filter(({ isAttack }) => !isAttack)
    .map(linkTo)
    .join(", ");
  return `| ${each.number} | ${each.asks} | ${gradeOf(each, evidence)} | ${each.noSurface ?? each.tried} | ${attacks} | ${checks} |`;
}

const evidence = evidenceByNumber();
const evidenceFor = ({ number }: BookEntry): readonly Evidence[] => evidence.get(number) ?? [];
const entries = SECURITY_BOOK.flatMap((chapter) => chapter.entries);
const grades = entries.map((each) => gradeOf(each, evidenceFor(each)));
const count = (grade: Grade): number => grades.filter((each) => each === grade).length;
const text = [
  "# Security book",
  "",
  "<!-- Written by tools/generate-security-book.ts from the names of the tests; do not edit. -->",
  "",
  "Failures that systems with this job have had, what each asks of this one, and what is tried to bring it about. A test that covers an",
  "entry carries its number in its name.",
  "",
  "| Grade | Meaning |",
  "|---|---|",
  "| held | a test attacks a server over a socket, and fails if the attack works |",
  "| checked | unit tests only; no attack over a socket |",
  "| open | an attack succeeded once although tests passed, and no test in `test/attacks` covers it yet |",
  "| no surface | not applicable |",
  "",
  "A grade is no proof that no attack exists.",
  "",
  `${entries.length} entries: ${count("held")} held, ${count("checked")} checked, ${count("open")} open, ${count("no surface")} without a surface.`,
  "",
  ...SECURITY_BOOK.flatMap(({ title, entries: own }) => [
    `## ${title}`,
    "",
    "| Number | Requirement | Grade | Attack | Attack tests | Unit tests |",
    "|---|---|---|---|---|---|",
    ...own.map((each) => row(each, evidenceFor(each))),
    "",
  ]),
].join("\n");

const path = fileURLToPath(new URL("../docs/reference/security-book.md", import.meta.url));
writeFileSync(path, text);
console.log(`wrote ${path}: ${count("held")} of ${entries.length} held, ${count("open")} open`);
