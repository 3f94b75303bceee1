// Holds the scripts of package.json to what .npmrc lets npm run.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const read = (name: string): string => readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), "utf8");

/** Such as `tsx --conditions=… benchmarks/http.ts`: the flags, and the file. */
const TSX = /\btsx ((?:-\S+ )*)(\S+\.ts)/g;
const IMPORT = /^(?:import|export)\s(?!type )[^"';]*?"([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** The first file that imports a package of this repository by name, among the entry and all that it imports by path. */
function importsByName(entry: string, seen = new Set<string>()): string | undefined {
  if (seen.has(entry) || !existsSync(fileURLToPath(new URL(`../${entry}`, import.meta.url)))) return undefined;
  seen.add(entry);
  for (const [, from, bare, dynamic] of read(entry).matchAll(IMPORT)) {
    const target = from ?? bare ?? dynamic ?? "";
    if (target.startsWith("@postern/")) return entry;
    const found =
      target.startsWith(".") && target.endsWith(".ts") ? importsByName(join(dirname(entry), target), seen) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

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
    expect(scripts[name]).toMatch(/^(npm run --silent test-packages && |echo '[^']+' && )?npm run --silent build && /);
  });

  // Without it, a package resolves to what was built, which lacks the folders named testing/ and whatever was not built again.
  it("runs what imports packages by name on their source", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const entries = Object.values(scripts).flatMap((script) => [...script.matchAll(TSX)]);
    expect(entries.length).toBeGreaterThan(5);
    const byName = entries.filter(([, , entry = ""]) => importsByName(entry) !== undefined);
    expect(byName.map(([, , entry]) => entry)).toContain("benchmarks/http.ts");
    const without = byName.filter(([, flags = ""]) => !flags.includes("--conditions=@postern/source"));
    expect(without.map(([command]) => command)).toEqual([]);
  });
});
