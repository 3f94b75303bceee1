// Each script of package.json can start: every module that it imports is found under its conditions, and has what is imported from it. Scripts with
// options are started for real, with one that none of them has.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { scripts: Record<string, string> };

/** Such as `tsx --conditions=@postern/source benchmarks/http.ts`: the condition, and the file. */
const TSX = /\btsx (?:--conditions=(\S+) )?(\S+\.ts)/g;
const started = Object.entries(scripts).flatMap(([script, command]) =>
  [...command.matchAll(TSX)].map(([, condition, file = ""]) => ({ script, condition, file })),
);

it("finds the files that scripts start", () => {
  expect(started.map(({ file }) => file)).toContain("benchmarks/http.ts");
});

it.each(started)("$script: the modules of $file are there", async ({ condition, file }) => {
  const { errors } = await build({
    entryPoints: [`${root}${file}`],
    absWorkingDir: root,
    bundle: true,
    write: false,
    outdir: "unwritten",
    platform: "node",
    format: "esm",
    conditions: condition === undefined ? [] : [condition],
    // Of packages that are not ours only their presence counts, which npm sees to.
    plugins: [
      {
        name: "others",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || path.startsWith("@postern/") ? undefined : { path, external: true },
          ),
      },
    ],
    logLevel: "silent",
  });
  expect(errors).toEqual([]);
});

const withOptions = started.filter(({ file }) => readFileSync(`${root}${file}`, "utf8").includes("parseArgs("));

it.each(withOptions)(
  "$script: $file starts, and refuses an option that it does not have",
  async ({ condition, file }) => {
    const conditions = condition === undefined ? [] : [`--conditions=${condition}`];
    const args = ["--import", "tsx", ...conditions, file, "--no-such-option"];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    expect(await text(child.stderr)).toContain("ERR_PARSE_ARGS_UNKNOWN_OPTION");
  },
  120_000,
);
