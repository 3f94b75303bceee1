// The commands of pages, in their order and as they stand there, against a server that has just started.

import { readFileSync } from "node:fs";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryFiles } from "../../tools/source-files.ts";
import { ENTRY, REPOSITORY, startPostern, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";

/** Pages whose shell blocks are run here, one after the other. */
const RUN = ["docs/guides/tenants.md", "docs/guides/projects.md", "docs/guides/gitops.md"];

/** `npm run nightly -- fifty` takes on all fifty. */
const FEWER_TENANTS: readonly [string, string] = ["$(seq -w 1 50)", "07 08 50"];

/** What a reader sees at the end of a page. */
const EXPECTED: { readonly [page: string]: readonly RegExp[] } = {
  "docs/guides/tenants.md": [/^nothing changed$/m, /^default +Active/m, /"tenant-50" deleted/],
  "docs/guides/projects.md": [/^yes$/m, /^Ben may only view$/m, /^Ben has no access$/m],
  "docs/guides/gitops.md": [/^0$/m, /^[4-9]\d$/m],
};

const PREAMBLE = `
refused() {
  local message="$1" printed; shift
  if printed=$("$@" 2>&1); then echo "not refused: $*" >&2; exit 1; fi
  case "$printed" in *"$message"*) ;; *) echo "$* was refused with: $printed" >&2; exit 1 ;; esac
}
`;

describe.each(RUN)("%s", (page) => {
  it("does what it says", async () => {
    await using directory = await temporaryDirectory();
    const reader = join(directory.path, "reader");
    const programs = join(directory.path, "programs");
    for (const folder of [reader, programs]) await mkdir(folder);
    await using server = await startPostern(join(directory.path, "data"));
    await symlink(server.dataDir, join(reader, "data"));
    await writeFile(join(programs, "postern"), `#!/bin/sh\nexec '${process.execPath}' '${ENTRY}' "$@"\n`);
    await chmod(join(programs, "postern"), 0o755);
    const text = readFileSync(join(REPOSITORY, page), "utf8");
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
    const script = blocks
      .join("\n")
      .replace(...FEWER_TENANTS)
      .replaceAll("127.0.0.1:8443", new URL(server.url).host)
      .replaceAll(
        /^(.*?) +# error: (.*)$/gm,
        (_, command: string, message: string) => `refused '${message}' ${command}`,
      );
    const file = join(reader, "page.sh");
    const environment = `export HOME=$PWD PATH='${programs}':$PATH KUBECONFIG=data/admin.kubeconfig`;
    await writeFile(file, `cd '${reader}'\n${environment}\n${PREAMBLE}${script}`);
    const { code, stdout, stderr } = await tool("bash", ["-euo", "pipefail", file]);
    expect(code, `${stderr}${stdout}`).toBe(0);
    for (const pattern of EXPECTED[page] ?? []) expect(stdout).toMatch(pattern);
  });
});

it("leads from every page to pages and sections that are there", () => {
  const pages = repositoryFiles().filter((path) =>
    /^(README|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/.test(path),
  );
  const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
  const anchorsOf = (path: string): readonly string[] =>
    [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
  const files = new Set(repositoryFiles());
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([, target = "", anchor]) => {
      const path = target === "" ? page : join(page, "..", target).replace(/\/$/, "");
      const exists = files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
      if (!exists) return [`${page}: ${target}`];
      return anchor === undefined || !path.endsWith(".md") || anchorsOf(path).includes(anchor)
        ? []
        : [`${page}: ${target}#${anchor}`];
    }),
  );
  expect(dead).toEqual([]);
});
