// `npm ci` installs what building and starting needs, and no more.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isInstalled, lockedPackages } from "./locked-packages.ts";
import { readSource, repositoryFiles } from "./source-files.ts";

const ROOT = join(import.meta.dirname, "..");

/** As `du` counts: without packages that lie inside, which count by themselves. */
function diskBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? sum : sum + 4096 + diskBytes(path);
    return entry.isFile() ? sum + statSync(path).blocks * 512 : sum;
  }, 0);
}

describe("npm ci", () => {
  const first = lockedPackages().filter(({ isForTests }) => !isForTests);

  it("installs at most 350 MB in fewer than 150 packages", () => {
    const installed = first.filter(isInstalled);
    // Of optional packages those for this system are there.
    expect(first.filter((each) => !each.isOptional && !isInstalled(each))).toEqual([]);
    const megabytes = installed.reduce((sum, { folder }) => sum + diskBytes(join(ROOT, folder)), 0) / 2 ** 20;
    console.log(`npm ci: ${installed.length} packages, ${Math.round(megabytes)} MB`);
    expect(megabytes).toBeLessThan(350);
    expect(installed.length).toBeLessThan(150);
  });

  it("leaves out what only tests run", () => {
    const names = new Set(first.map(({ folder }) => folder.replace(/^.*node_modules\//, "")));
    for (const name of ["vitest", "@stryker-mutator/core", "@biomejs/biome", "knip", "playwright-core"])
      expect(names).not.toContain(name);
    expect([...names].filter((name) => name.startsWith("@aws-cdk/"))).toEqual([]);
  });

  it("has all that the build and the packaging import", () => {
    const names = new Set(first.map(({ folder }) => folder.replace(/^.*node_modules\//, "")));
    const tools = repositoryFiles().filter(
      (path) =>
        /^tools\/(?:release\/[^/]+|bundle|package|replace-build|install-test-packages|locked-packages)\.ts$/.test(
          path,
        ) && !path.endsWith(".test.ts"),
    );
    const imported = tools.flatMap((path) =>
      [...readSource(path).matchAll(/^import (?!type ).*? from "((?:@[\w-]+\/)?[\w-]+)[^"]*";$/gms)].map(
        ([, name = ""]) => name,
      ),
    );
    const missing = new Set(
      imported.filter((name) => name !== "node" && !name.startsWith("@postern/") && !names.has(name)),
    );
    expect([...new Set(imported)]).toEqual(expect.arrayContaining(["esbuild", "postject"]));
    expect([...missing]).toEqual([]);
  });
});
