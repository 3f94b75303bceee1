// Builds the documentation into one module, packages/console/dist/documentation.js: all pages as one compressed text, and the style in both themes.
// The server loads it at the first request below /docs. Builds only if a source has changed.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants as zlib } from "node:zlib";
import { transform } from "esbuild";
import { type Documentation, documentationSources, renderDocumentation } from "./documentation-pages.ts";
import { replaceFile } from "./replace-file.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const STYLES = join(REPOSITORY, "packages/console/src/styles");
const DIST = join(REPOSITORY, "packages/console/dist");
const MODULE = join(DIST, "documentation.js");
/** The hash of what the last build was made of. */
const RECORD = join(DIST, "documentation.json");

export async function buildDocumentation(): Promise<void> {
  const sources = await documentationSources();
  const hash = await hashOf(sources);
  if (existsSync(MODULE) && (await readFile(RECORD, "utf8").catch(() => "")) === hash) return;
  const text = joined(await renderDocumentation(sources));
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY,
    // Pages have much in common with pages far away.
    [zlib.BROTLI_PARAM_LGWIN]: zlib.BROTLI_MAX_WINDOW_BITS,
    [zlib.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  const documents = (await promisify(brotliCompress)(text, { params })).toString("base64");
  await mkdir(DIST, { recursive: true });
  const parts = Object.entries({ documents, styles: await stylesOf() });
  await replaceFile(
    MODULE,
    parts.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`).join(""),
  );
  await replaceFile(RECORD, hash);
}

/** A line of JSON that says where each page is, then the pages: the server parses no more than the line. */
function joined({ navigation, pages }: Documentation): Buffer {
  let end = 0;
  const parts = Object.entries(pages).map(([address, { title, html }]) => {
    const bytes = Buffer.from(html);
    const from = end;
    end += bytes.length;
    return { address, bytes, place: { title, from, to: end } };
  });
  const places = Object.fromEntries(parts.map(({ address, place }) => [address, place]));
  const head = Buffer.from(`${JSON.stringify({ navigation, places })}\n`);
  return Buffer.concat([head, ...parts.map(({ bytes }) => bytes)]);
}

/** Of all that a build is made of. Links lead to other files as well: a gate looks for those that are gone. */
async function hashOf(sources: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  const tools = ["documentation-build", "documentation-pages", "render-markdown"].map(
    (name) => `tools/release/${name}.ts`,
  );
  const styles = ["tokens", "documentation"].map((name) => `packages/console/src/styles/${name}.css`);
  for (const path of [...sources, ...tools, ...styles, "package-lock.json"])
    hash.update(`${path}\n`).update(await readFile(join(REPOSITORY, path)));
  return hash.digest("hex");
}

/** By theme: pages have no script that could choose one, so the style is another one for each. */
async function stylesOf(): Promise<{ readonly [theme in "system" | "light" | "dark"]: string }> {
  const [tokens, own] = await Promise.all(
    ["tokens.css", "documentation.css"].map((name) => readFile(join(STYLES, name), "utf8")),
  );
  const of = async (replaced: string): Promise<string> =>
    (await transform(`${replaced}\n${own}`, { loader: "css", minify: true })).code;
  const [byMedia, byChoice] = [':root:not([data-theme="light"])', ':root[data-theme="dark"]'];
  if (tokens === undefined || ![byMedia, byChoice].every((selector) => tokens.includes(selector)))
    throw new Error("tokens.css has other selectors for its dark theme");
  return {
    system: await of(tokens.replace(byChoice, ":root:not(:root)")),
    light: await of(tokens.replace(byMedia, ":root:not(:root)").replace(byChoice, ":root:not(:root)")),
    dark: await of(tokens.replace(byMedia, ":root:not(:root)").replace(byChoice, ":root:root")),
  };
}
