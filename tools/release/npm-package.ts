// Writes the npm package `postern` to dist/npm: the command as a bundle, the client with its types, README and licences. It needs no
// compiler, and no package except the SQLite driver on Node without SQLite.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { renderManPages } from "../../packages/cli/src/help/man-pages.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { silentContext } from "../silent-context.ts";
import { readBuildInfo } from "./build-info.ts";
import { bundleModules, REPOSITORY } from "./bundle-command.ts";
import { billOfMaterials } from "./sbom.ts";
import { thirdPartyLicences } from "./third-party.ts";

/** The entry of the command. Old versions of Node parse it, too: it uses only syntax of Node 10. */
const COMMAND = `#!/usr/bin/env node
"use strict";
var version = process.versions.node.split(".").map(Number);
if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  console.error("postern: needs Node 20.19 or newer, this is Node " + process.versions.node);
  process.exit(1);
}
import("../bundle/postern.js");
`;

/** Returns the folder of the package, ready for \`npm pack\` and \`npm publish\`. */
export async function writeNpmPackage(folder = join(REPOSITORY, "dist", "npm")): Promise<string> {
  const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
  const manifest = (path: string) => JSON.parse(read(path)) as { readonly [name: string]: Record<string, string> };
  rmSync(folder, { recursive: true, force: true });
  const write = (name: string, contents: string | Uint8Array, mode = 0o644): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), contents, { mode });
  };
  const { files, inputs } = await bundleModules({ sourcemap: false });
  for (const { name, contents } of files) write(`bundle/${name}`, contents);
  write("bin/postern.cjs", COMMAND, 0o755);
  const clientInputs = await writeClient(folder);
  for (const name of ["LICENSE", "CHANGELOG.md"]) cpSync(join(REPOSITORY, name), join(folder, name));
  write("README.md", read("packages/cli/README.md"));
  const sources = [...inputs, ...clientInputs];
  write("THIRD-PARTY-LICENSES", thirdPartyLicences(sources));
  write("sbom.cdx.json", billOfMaterials(sources));
  const pages = renderManPages(await createProgram(silentContext));
  for (const { name, text } of pages) write(`man/${name}`, text);
  const { description, license, keywords } = manifest("package.json");
  const driver = manifest("packages/stores/package.json")["dependencies"]?.["@photostructure/sqlite"];
  const published = {
    name: "postern",
    version: readBuildInfo().version,
    description,
    keywords,
    license,
    type: "module",
    engines: manifest("package.json")["engines"],
    bin: { postern: "bin/postern.cjs" },
    man: pages.map(({ name }) => `./man/${name}`),
    exports: { "./client": { types: "./client/types/client/index.d.ts", default: "./client/index.js" } },
    // Loaded only by Node without SQLite, up to 22.12.
    optionalDependencies: { "@photostructure/sqlite": driver },
  };
  write("package.json", `${JSON.stringify(published, null, 2)}\n`);
  return folder;
}

/** The client library as one module, and its declarations. Returns its sources. */
async function writeClient(folder: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: { index: join(REPOSITORY, "packages/client/src/index.ts") },
    outdir: join(folder, "client"),
    absWorkingDir: REPOSITORY,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["@postern/source"],
    metafile: true,
    logLevel: "warning",
  });
  copyDeclarations("client", "index", join(folder, "client", "types"));
  return Object.keys(metafile.inputs);
}

const IMPORTED = /(from |import\()"(?:@postern\/([a-z-]+)\/|(\.{1,2}\/))([^"]+?)(?:\.[jt]s)?"/g;

/** Copies a declaration file with all its imports, and makes imports between packages relative. */
function copyDeclarations(packageName: string, module: string, folder: string, copied = new Set<string>()): void {
  const target = `${packageName}/${module}`;
  if (copied.has(target)) return;
  copied.add(target);
  const source = readFileSync(join(REPOSITORY, "packages", packageName, "dist", `${module}.d.ts`), "utf8");
  const text = source.replace(IMPORTED, (_, before: string, other: string | undefined, dots: string, path: string) => {
    const imported = other === undefined ? join(dirname(target), dots ?? "", path) : `${other}/${path}`;
    const [owner = "", ...rest] = imported.split("/");
    copyDeclarations(owner, rest.join("/"), folder, copied);
    const address = relative(dirname(target), imported);
    return `${before}"${address.startsWith(".") ? "" : "./"}${address}.js"`;
  });
  const file = join(folder, `${target}.d.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text.replace(/\n?\/\/# sourceMappingURL=.*\n?$/, "\n"));
}

/** Packs the folder, and returns the path of the tarball. */
export function packFolder(folder: string, destination: string): string {
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", destination];
  mkdirSync(destination, { recursive: true });
  return join(destination, execFileSync("npm", args, { cwd: folder, encoding: "utf8" }).trim());
}
