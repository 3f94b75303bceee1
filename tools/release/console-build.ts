// Builds the console into one module, packages/console/dist/files.js: the page, and its compressed files with hashes in their names. The
// server loads it at a browser's first request. Builds only if a source has changed.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { replaceFile } from "./replace-file.ts";

type Output = { readonly name: string; readonly content: Buffer };

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const CONSOLE = join(REPOSITORY, "packages/console");
const DIST = join(CONSOLE, "dist");
const MODULE = join(DIST, "files.js");
/** The inputs of the last build. */
const RECORD = join(DIST, "build.json");

/** All inputs of a build. Of `packages/api` the console takes only types: the schemas would add 43 kB that no page reads. */
const SOURCES = ["packages/console", "packages/client/src", "packages/apimachinery/src", "packages/api/src"];
const LEFT_OUT = /(^|\/)(dist|node_modules|testing)\/|\.test\.tsx?$|\.md$/;

const CONTENT_TYPES: { readonly [ending: string]: string } = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
  woff2: "font/woff2",
};

/** Paths of all sources in the console, relative to the repository. */
export async function buildConsole(): Promise<readonly string[]> {
  const hash = await hashOfSources();
  const record = await readFile(RECORD, "utf8").then(
    (text) => JSON.parse(text) as { readonly hash: string; readonly inputs: readonly string[] },
    () => undefined,
  );
  if (record?.hash === hash && existsSync(MODULE)) return record.inputs;
  const { outputs, inputs } = await runVite();
  const page = outputs.find(({ name }) => name === "index.html")?.content.toString("utf8");
  if (page === undefined) throw new Error("vite wrote no index.html");
  const files = await Promise.all(outputs.filter(({ name }) => name !== "index.html").map(compressed));
  const inlineScripts = inlineHashes(page, /<script>(.*?)<\/script>/gs);
  const inlineStyles = inlineHashes(page, /<style[^>]*>(.*?)<\/style>/gs);
  await mkdir(DIST, { recursive: true });
  const parts = Object.entries({ page, inlineScripts, inlineStyles, files });
  await replaceFile(
    MODULE,
    parts.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`).join(""),
  );
  await replaceFile(RECORD, JSON.stringify({ hash, inputs }));
  return inputs;
}

async function hashOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of SOURCES) {
    const paths = await readdir(join(REPOSITORY, folder), { recursive: true, withFileTypes: true });
    const names = paths.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    for (const name of names.filter((path) => !LEFT_OUT.test(relative(REPOSITORY, path))).sort())
      hash.update(`${name}\n`).update(await readFile(name));
  }
  for (const name of ["package-lock.json", "tools/release/console-build.ts"])
    hash.update(await readFile(join(REPOSITORY, name)));
  return hash.digest("hex");
}

async function runVite(): Promise<{ readonly outputs: readonly Output[]; readonly inputs: readonly string[] }> {
  // Loaded only to build.
  const { build } = await import("vite");
  // Vite uses it: in tests it is `test`, which would bundle React's slower development code.
  process.env["NODE_ENV"] = "production";
  const built = await build({ root: CONSOLE, configFile: join(CONSOLE, "vite.config.ts"), logLevel: "warn" });
  if (!("output" in built)) throw new Error("vite built more than one output, or watches");
  const inputs = new Set<string>();
  const outputs = built.output.map((part): Output => {
    if (part.type === "asset") return { name: part.fileName, content: Buffer.from(part.source) };
    for (const id of part.moduleIds) {
      const [path = ""] = id.split("?");
      if (path.startsWith(REPOSITORY)) inputs.add(relative(REPOSITORY, path));
    }
    return { name: part.fileName, content: Buffer.from(part.code) };
  });
  const unlisted = [...inputs].find(
    (path) => path.startsWith("packages/") && !SOURCES.some((from) => path.startsWith(`${from}/`)),
  );
  if (unlisted !== undefined) throw new Error(`${unlisted} is not in SOURCES: import only types, or list its folder`);
  return { outputs, inputs: [...inputs].sort() };
}

async function compressed({ name, content }: Output) {
  const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (contentType === undefined) throw new Error(`${name}: of what type?`);
  const quality = { params: { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY } };
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(content, quality),
    promisify(gzip)(content, { level: 9 }),
  ]);
  return {
    path: `/${name}`,
    contentType,
    brotli: brotli.toString("base64"),
    gzip: gzipped.toString("base64"),
  };
}

const inlineHashes = (page: string, elements: RegExp): readonly string[] =>
  [...page.matchAll(elements)].map(([, text = ""]) => createHash("sha256").update(text).digest("base64"));
