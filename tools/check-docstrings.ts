// Compiles the TypeScript of `@example` blocks in docstrings and of the packages' READMEs: an example that no longer compiles misleads.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

// Below node_modules, so that packages are resolved, and git and other gates ignore it.
const FOLDER = fileURLToPath(new URL("../node_modules/.cache/docstrings/", import.meta.url));

const examples = repositoryFiles()
  .filter((path) => /^packages\/[^/]+\/(src\/.*\.ts|README\.md)$/.test(path) && !path.endsWith(".test.ts"))
  .flatMap((path) => examplesOf(readSource(path), path.endsWith(".md")).map((code) => ({ path, code })));

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const options = {
  extends: "../../../tsconfig.check.json",
  compilerOptions: {
    typeRoots: ["../../@types"],
    // The name of the command's package where it is installed.
    paths: { "postern/client": ["../../../packages/client/src/index.ts"] },
  },
  include: ["*.ts"],
};
writeFileSync(`${FOLDER}tsconfig.json`, JSON.stringify(options));
for (const [index, { code }] of examples.entries()) writeFileSync(`${FOLDER}example-${index}.ts`, code);

reportGate("docstrings", examples.length, compile());

function examplesOf(source: string, isMarkdown: boolean): readonly string[] {
  const text = isMarkdown ? source : source.replaceAll(/^ *\* ?/gm, "");
  const fence = isMarkdown ? /^```ts\n(.*?)^```$/gms : /^@example\n```ts\n(.*?)^```$/gms;
  return [...text.matchAll(fence)].map(([, code]) => code ?? "");
}

/** Errors with the file of the example. */
function compile(): readonly string[] {
  try {
    execFileSync("npx", ["--no-install", "tsc", "-p", `${FOLDER}tsconfig.json`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    return [];
  } catch (error) {
    const output = String((error as { readonly stdout?: unknown }).stdout ?? error);
    return output
      .split("\n")
      .filter((line) => line !== "")
      .map((line) =>
        line.replace(/.*example-(\d+)\.ts/, (_, index: string) => `${examples[Number(index)]?.path ?? ""}: example`),
      );
  }
}
