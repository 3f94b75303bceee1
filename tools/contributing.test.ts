// The recipes of CONTRIBUTING.md name files and identifiers that exist, so that they can be followed as written.

import { expect, it } from "vitest";
import { readSource, repositoryFiles } from "./source-files.ts";

const [, recipes = ""] = readSource("CONTRIBUTING.md").split(/^## Recipes$/m);
const files = repositoryFiles();
/** In backticks, without placeholders such as `<name>`. */
const terms = [...new Set([...recipes.matchAll(/`([^`<>\s]+)`/g)].map(([, term = ""]) => term))];
const paths = terms.filter((term) => /\/$|\.(ts|md)$/.test(term));
const identifiers = terms.filter((term) => /^[A-Za-z][A-Za-z_]{3,}$/.test(term));

/** Paths are relative to the repository, or to a package that the recipe is about. */
const missingPaths = (all: readonly string[]): readonly string[] =>
  all.filter((path) => {
    const isFolder = path.endsWith("/");
    return !files.some((file) => (isFolder ? `/${file}`.includes(`/${path}`) : `/${file}`.endsWith(`/${path}`)));
  });

it("names files and folders that exist", () => {
  expect(paths.length).toBeGreaterThan(20);
  expect(missingPaths(["chain/no-such-file.ts", "no-such-folder/"])).toHaveLength(2);
  expect(missingPaths(paths)).toEqual([]);
});

it("names identifiers that the sources have", () => {
  const sources = files.filter((path) => /^(packages|test|tools)\/.*\.ts$/.test(path)).map((path) => readSource(path));
  const found = new Set(sources.flatMap((source) => source.match(/\w{4,}/g) ?? []));
  expect(identifiers.length).toBeGreaterThan(15);
  expect(identifiers.filter((identifier) => !found.has(identifier))).toEqual([]);
});
