// npm packs the LICENSE of a package's own folder: that of the repository is in no tarball of a library.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const packages = readdirSync("packages").filter((name) => existsSync(`packages/${name}/package.json`));
const libraries = packages.filter((name) => {
  const { files } = JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8"));
  return Array.isArray(files) && files.includes("dist");
});

it.each(libraries)("the tarball of %s contains the licence", (name) => {
  expect(readFileSync(`packages/${name}/LICENSE`, "utf8")).toBe(readFileSync("LICENSE", "utf8"));
});

it("covers the packages that the library's README packs", () => {
  const [command = ""] = /^npm pack .*$/m.exec(readFileSync("packages/kubernetes/README.md", "utf8")) ?? [];
  const packed = [...command.matchAll(/packages\/([a-z-]+)|@postern\/([a-z-]+)/g)].map(
    ([, folder, name]) => folder ?? name,
  );
  expect(packed.length).toBeGreaterThan(0);
  expect(libraries).toEqual(expect.arrayContaining(packed));
});
