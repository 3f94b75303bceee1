// The last step of the build: puts the command into few files. Node takes longer to find and load its eight hundred modules than to run them.

import { readFile } from "node:fs/promises";
import { basename, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type OutputFile, type Plugin } from "esbuild";
import { replaceBuild } from "./replace-build.ts";

const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

const FOLDER = pathOf("packages/cli/bundle");
const OWN_MODULE = /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/;

/** How the store names the thread of the database, which `tsc` has built, too. */
const THREAD_ADDRESS = 'new URL("../../dist/sqlite/sqlite-worker.js", import.meta.url)';

/**
 * What a module finds by its own address it finds as before: the address is that of the module as `tsc` has built it. Only the thread is a
 * file of the bundle, `thread`: a server that opens its store later than it begins must not find one of another build.
 */
const withAddresses = (thread?: string): Plugin => ({
  name: "with-addresses",
  setup({ onLoad, onEnd }) {
    let threads = 0;
    onLoad({ filter: OWN_MODULE }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes("import.meta.url")) return undefined;
      const built = path.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, ".js");
      const address = relative(FOLDER, built).split(sep).join("/");
      const own = `new URL("${address}", import.meta.url).href`;
      const [before = "", ...behind] = source.split(THREAD_ADDRESS);
      threads += behind.length;
      const contents = [before, ...behind].map((text) => text.replaceAll("import.meta.url", own));
      return { contents: contents.join(`new URL("./${thread}", import.meta.url)`), loader: "ts" };
    });
    onEnd(() => {
      if (threads !== (thread === undefined ? 0 : 1))
        throw new Error(`${THREAD_ADDRESS} is in the sources ${threads} times`);
    });
  },
});

const SHARED = {
  outdir: FOLDER,
  // Written below, so that the command is whole at every moment.
  write: false,
  bundle: true,
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
} as const satisfies BuildOptions;

const { outputFiles: threadFiles } = await build({
  ...SHARED,
  entryPoints: { "sqlite-thread": pathOf("packages/stores/src/sqlite/sqlite-worker.ts") },
  // Its name tells its content, as those of all files but the entry.
  entryNames: "[name]-[hash]",
  plugins: [withAddresses()],
});
const threadPath = threadFiles.find(({ path }) => path.endsWith(".js"))?.path;
if (threadPath === undefined) throw new Error("the thread of the database was not built");

const { outputFiles: commandFiles } = await build({
  ...SHARED,
  entryPoints: { postern: pathOf("packages/cli/src/main.ts") },
  // What is loaded on demand stays in files of its own.
  splitting: true,
  plugins: [withAddresses(basename(threadPath))],
});
const ENTRY = "postern.js";
const files = [...threadFiles, ...commandFiles].map(({ path, contents }: OutputFile) => {
  const name = relative(FOLDER, path);
  return { name, contents, mode: name === ENTRY ? 0o755 : 0o644 };
});
await replaceBuild(FOLDER, files, ENTRY);
