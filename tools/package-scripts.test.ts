// Holds the scripts of package.json to what .npmrc lets npm run.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const read = (name: string): string => readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), "utf8");

describe("scripts of package.json", () => {
  // With ignore-scripts, npm leaves "prestart" out of `npm start` without a word, and a clean clone has nothing built.
  it("has no script that npm would run only before or after another one", () => {
    expect(read(".npmrc")).toContain("ignore-scripts=true");
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const names = Object.keys(scripts);
    expect(names).toContain("start");
    expect(names.filter((name) => names.some((other) => name === `pre${other}` || name === `post${other}`))).toEqual(
      [],
    );
  });

  it.each(["start", "test"])("builds before it runs %s", (name) => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(scripts[name]).toMatch(/^npm run --silent build && /);
  });
});
