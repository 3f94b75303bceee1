// The index of decisions has every page of docs/adr once, and pages that a later one changed say so.

import { describe, expect, it } from "vitest";
import { readSource, repositoryFiles } from "./source-files.ts";

const FOLDER = "docs/adr/";
const pages = repositoryFiles()
  .filter((path) => /^docs\/adr\/\d{4}-.*\.md$/.test(path))
  .map((path) => ({ file: path.slice(FOLDER.length), text: readSource(path) }));
const files = pages.map(({ file }) => file);
const numberOf = (file: string): number => Number(file.slice(0, 4));
/** Without the number in front. */
const titleOf = (text: string): string => /^# \d+[.:] (.*)$/m.exec(text)?.[1] ?? "";

describe("the index of decisions", () => {
  const index = readSource(`${FOLDER}README.md`);
  const lines = [...index.matchAll(/^- \[(\d+)\. (.*?)\]\((.*?)\)(?: \(superseded by (\d+)\))?$/gm)].map(
    ([, number, title, file = "", by]) => ({ number: Number(number), title, file, by: by && Number(by) }),
  );

  it("has every page once, below a topic", () => {
    expect(pages.length).toBeGreaterThan(150);
    expect(lines.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
    expect(index.slice(0, index.indexOf("\n## "))).not.toContain("\n- [");
  });

  it("has no line of another form", () => {
    expect(index.match(/^- /gm)).toHaveLength(lines.length);
  });

  it("has the numbers and titles of the pages", () => {
    const shown = lines.map(({ number, title, file }) => `${file}: ${number} ${title}`);
    const own = pages.map(({ file, text }) => `${file}: ${numberOf(file)} ${titleOf(text)}`);
    expect(shown.toSorted()).toEqual(own.toSorted());
  });

  it("marks the pages that are superseded", () => {
    const marked = lines.flatMap(({ number, by }) => (by === undefined ? [] : [`${number} by ${by}`]));
    const superseded = pages.flatMap(({ file, text }) =>
      laterOf(text, "Superseded").map((by) => `${numberOf(file)} by ${numberOf(by)}`),
    );
    expect(superseded).toContain("123 by 232");
    expect(marked.toSorted()).toEqual(superseded.toSorted());
  });
});

describe("a page that a later one changed", () => {
  const links = pages.flatMap(({ file, text }) =>
    [...laterOf(text, "Superseded"), ...laterOf(text, "Changed")].map((by) => ({ file, by })),
  );

  it("links to pages that exist, each of which it names by its number", () => {
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter(({ file, by }) => !files.includes(by) || by === file)).toEqual([]);
    const named = pages.flatMap(({ text }) => [...text.matchAll(/\[ADR\s(\d+)\]\((\d{4})-/g)]);
    expect(named.filter(([, number, file]) => Number(number) !== Number(file)).map(([link]) => link)).toEqual([]);
  });

  it("says so in the form that this test reads", () => {
    const others = pages.filter(({ text }) =>
      /^# .*\n\n(?:Superseded|Changed|Replaced|Amended|Withdrawn)\b/.test(text),
    );
    expect(others.map(({ file }) => file)).toEqual([]);
  });

  it("is linked to from what its successor says of it", () => {
    // In the lines below the title: "Amends ADRs 23 and 45.", "Changes [ADR 305](...) (the nonce)."
    const said = pages.flatMap(({ file, text }) => {
      const head = text
        .slice(text.indexOf("\n"), text.search(/\n## |\n\*\*(?:Context|Decision)/))
        .replaceAll(/\]\([^)]*\)/g, "]");
      const sentences = [
        ...head.matchAll(/\b(?:Amends|Supersedes|Replaces|Adds to|Changes|changes|Takes the place of)\b([^.]*)/g),
      ];
      return sentences.flatMap(([, list = ""]) =>
        [...list.matchAll(/\bADRs? (\d+)(?: and (\d+))?/g)].flatMap(([, ...numbers]) =>
          numbers.filter(Boolean).map((number) => `${number} by ${numberOf(file)}`),
        ),
      );
    });
    const linked = links.map(({ file, by }) => `${numberOf(file)} by ${numberOf(by)}`);
    expect(said.length).toBeGreaterThan(20);
    expect(said.filter((pair) => !linked.includes(pair))).toEqual([]);
  });
});

/** The files of later pages in the paragraph below the title that begins with `word`. */
function laterOf(text: string, word: "Superseded" | "Changed"): readonly string[] {
  const [, paragraph = ""] = new RegExp(`^# .*\\n\\n\\*\\*${word}\\*\\* by ((?:.+\\n)+)`).exec(text) ?? [];
  return [...paragraph.matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, file = ""]) => file);
}
