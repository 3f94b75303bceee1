// READMEs of folders, ARCHITECTURE.md and decisions name files and folders that exist.

import { dirname, join } from "node:path/posix";
import { describe, expect, it } from "vitest";
import { readSource, repositoryFiles } from "./source-files.ts";

const files = repositoryFiles();
/** In backticks, without placeholders such as `<name>`. */
const namedIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/`([\w./-]+(?:\.tsx?|[\w-]\/))`/g)].map(([, term = ""]) => term)),
];
const isBelow = (folder: string, name: string): boolean =>
  files.some((file) => file.startsWith(`${folder}/`) && matches(file, name));
const matches = (file: string, name: string): boolean =>
  name.endsWith("/") ? `/${file}`.includes(`/${name}`) : `/${file}`.endsWith(`/${name}`);

/** A bare name is below the folder of the README; a path is relative to it, or ends a path of the repository. */
function exists(readme: string, name: string): boolean {
  const folder = dirname(readme);
  if (name.startsWith("../")) {
    const target = join(folder, name);
    return files.some((file) => (name.endsWith("/") ? file.startsWith(target) : file === target));
  }
  if (isBelow(folder, name)) return true;
  return name.includes("/") && files.some((file) => matches(file, name));
}

describe("a README", () => {
  const named = files
    .filter((path) => /^(packages|test|benchmarks|examples|deploy|tools)\/.*README\.md$/.test(path))
    .flatMap((path) => namedIn(readSource(path)).map((name) => ({ path, name })));

  it("names files and folders that exist", () => {
    const inTrustRules = (name: string) =>
      exists("packages/platform/src/features/trust/kinds/trust-rules/README.md", name);
    const absent = ["no-such-file.ts", "../no-such-file.ts", "no-such/folder/", "key-ring.ts"];
    expect(absent.filter(inTrustRules)).toEqual([]);
    expect(["strategy.ts", "../index.ts", "../../trust-rule-index.ts"].filter((name) => !inTrustRules(name))).toEqual(
      [],
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ path, name }) => !exists(path, name))).toEqual([]);
  });
});

// The map and decisions leave out `src/`, and what is in front of the folder that a section is about.
const short = new Set([...files, ...files.map((path) => path.replace("/src/", "/"))]);
const missing = (names: readonly string[]): readonly string[] =>
  names.filter((name) => ![...short].some((file) => matches(file, name)));

describe("ARCHITECTURE.md", () => {
  it("names files and folders that exist", () => {
    const named = namedIn(readSource("ARCHITECTURE.md"));
    expect(missing(["platform/served-version.ts", "no-such-folder/"])).toHaveLength(2);
    expect(named.length).toBeGreaterThan(80);
    expect(missing(named)).toEqual([]);
  });

  it("names files of a folder, where a row begins with the folder", () => {
    const rows = [...readSource("ARCHITECTURE.md").matchAll(/^\| (`(?:apiserver|platform)\/.*?) \| (.*) \|$/gm)];
    const quoted = (text: string) => [...text.matchAll(/`([\w/-]+)`/g)].map(([, term = ""]) => term);
    const strays = rows.flatMap(([, folders = "", names = ""]) => {
      const [first = "", ...further] = quoted(folders);
      const [pkg = ""] = first.split("/");
      const below = [...short].filter((file) =>
        // A further folder is of the same package, or is a package itself.
        [first, ...further.flatMap((folder) => [folder, `${pkg}/${folder}`])].some((folder) =>
          file.startsWith(`packages/${folder}/`),
        ),
      );
      return quoted(names).filter((name) => !below.some((file) => matches(file, `${name}.ts`)));
    });
    expect(rows.length).toBeGreaterThan(12);
    expect(strays).toEqual([]);
  });
});

describe("a decision", () => {
  it("names paths that exist; a name without its folder may be of a file that is gone", () => {
    const pages = files.filter((path) => /^docs\/adr\/\d{4}-/.test(path)).map(readSource);
    const paths = pages.flatMap(namedIn).filter((name) => /\/.*\.tsx?$/.test(name));
    expect(paths.length).toBeGreaterThan(150);
    expect(missing(paths)).toEqual([]);
  });
});
