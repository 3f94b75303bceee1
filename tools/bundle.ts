// The last step of the build: puts the command into few files. Node takes longer to find and load its eight hundred modules than to run them.

import { readFile } from "node:fs/promises";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { replaceBuild } from "./replace-build.ts";

const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

const FOLDER = pathOf("packages/cli/bundle");
const OWN_MODULE = /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/;

/** What a module finds by its own address it finds as before: the address is that of the module as `tsc` has built it. */
const withAddresses: Plugin = {
  name: "with-addresses",
  setup({ onLoad }) {
    onLoad({ filter: OWN_MODULE }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes("import.meta.url")) return undefined;
      const built = path.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, ".js");
      const address = relative(FOLDER, built).split(sep).join("/");
      const contents = source.replaceAll("import.meta.url", `new URL("${address}", import.meta.url).href`);
      return { contents, loader: "ts" };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: { postern: pathOf("packages/cli/src/main.ts") },
  outdir: FOLDER,
  // Written below, so that the command is whole at every moment.
  write: false,
  bundle: true,
  // What is loaded on demand stays in files of its own.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  conditions: ["@postern/source"],
  sourcemap: true,
  logLevel: "warning",
  // They find files beside themselves, and only a server on etcd needs them.
  external: ["@grpc/*"],
  // For dependencies that are not written as modules; under a name that no source gives it.
  banner: {
    js: 'import { createRequire as bundledRequire } from "node:module"; const require = bundledRequire(import.meta.url);',
  },
  plugins: [withAddresses],
});
const ENTRY = "postern.js";
const files = outputFiles.map(({ path, contents }) => {
  const name = relative(FOLDER, path);
  return { name, contents, mode: name === ENTRY ? 0o755 : 0o644 };
});
await replaceBuild(FOLDER, files, ENTRY);
