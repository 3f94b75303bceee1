import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { importsOf } from "./imports.ts";
import { readSource, typeScriptFiles } from "./source-files.ts";

type Exports = { readonly [path: string]: { readonly "@postern/source": string } | null };

const imported = new Set(
  typeScriptFiles().flatMap((path) => importsOf(readSource(path)).filter((name) => name.startsWith("@postern/"))),
);

describe.each(["apiserver", "kubernetes"])("the exports of %s", (name) => {
  const { exports }: { readonly exports: Exports } = JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8"));
  const modules = Object.entries(exports).filter(([path, target]) => !path.includes("*") && path !== "." && target);

  test("open of closed folders only modules that another package imports", () => {
    const unused = modules.map(([path]) => path).filter((path) => !imported.has(`@postern/${name}/${path.slice(2)}`));
    expect(unused).toEqual([]);
  });

  test("name files that exist", () => {
    const sources = modules.map(([, target]) => `packages/${name}/${target?.["@postern/source"]}`);
    expect(sources.filter((path) => !existsSync(path))).toEqual([]);
  });
});
