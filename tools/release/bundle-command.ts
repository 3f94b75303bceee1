// Bundles the `postern` command and all third-party code that it runs into few files. Node takes longer to find and load the eight hundred
// modules than to run them.

import { readFile } from "node:fs/promises";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { type BuildOptions, type BuildResult, build, type Metafile, type OutputFile, type Plugin } from "esbuild";
import { descriptionTexts } from "../../packages/kubernetes/src/builtin/published/description-texts.ts";
import { readBuildInfo } from "./build-info.ts";
import { buildConsole } from "./console-build.ts";
import { buildDocumentation } from "./documentation-build.ts";

export type Bundle = {
  readonly files: readonly { readonly name: string; readonly contents: Uint8Array }[];
  /** Paths of all sources in the bundle, relative to the repository. */
  readonly inputs: readonly string[];
};

/** The file of a bundle that runs the command. */
export const ENTRY = "postern.js";

export const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

const fromRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const COMMAND = fromRepository("packages/cli/src/main.ts");
/** A thread, and the name of its file, built by `tsc`, in the source that starts it. */
const THREADS = [
  {
    name: "sqlite-thread",
    source: fromRepository("packages/stores/src/sqlite/sqlite-worker.ts"),
    startedIn: /[\\/]sqlite-storage\.ts$/,
    address: 'new URL("../../dist/sqlite/sqlite-worker.js", import.meta.url)',
  },
  {
    name: "work-thread",
    source: fromRepository("packages/kubernetes/src/server/work-thread-main.ts"),
    startedIn: /[\\/]start-work-threads\.ts$/,
    address: 'new URL("../../dist/server/work-thread-main.js", import.meta.url)',
  },
  {
    name: "cluster-thread",
    source: fromRepository(
      "packages/platform/src/features/virtual-clusters/embedded/threads/inside/cluster-thread-main.ts",
    ),
    startedIn: /[\\/]thread-process\.ts$/,
    // As it is formatted there.
    address: `new URL(
  "../../../../../../dist/features/virtual-clusters/embedded/threads/inside/cluster-thread-main.js",
  import.meta.url,
)`,
    // It starts threads for long work.
    starts: ["work-thread"],
  },
] as const satisfies readonly Thread[];

/** Of the single script. As a module of the bundle it runs itself, with the modules of the command. */
const FRONT_THREAD: Thread = {
  name: "front-thread",
  source: fromRepository("packages/cli/src/front-thread.ts"),
  startedIn: /[\\/]cli[\\/]src[\\/]front-thread\.ts$/,
  address: "new URL(import.meta.url)",
  // It uses the database thread that the first one has started.
  starts: ["work-thread", "cluster-thread"],
};

/** `starts` names earlier threads, which this one starts. */
type Thread = {
  readonly name: string;
  readonly source: string;
  readonly startedIn: RegExp;
  readonly address: string;
  readonly starts?: readonly string[];
};

/** The threads are part of the bundle: a server that starts one later must not load that of another build. */
const withThread = (
  { startedIn, address }: Thread,
  bundled: string,
  change: BundleOptions["change"] = (_path, source) => source,
): Plugin => ({
  name: "with-thread",
  setup({ onLoad, onEnd }) {
    let replaced = 0;
    onLoad({ filter: startedIn }, async ({ path }) => {
      const parts = change(relative(REPOSITORY, path), await readFile(path, "utf8")).split(address);
      replaced += parts.length - 1;
      return { contents: parts.join(bundled), loader: "ts" };
    });
    onEnd(() => {
      if (replaced !== 1) throw new Error(`expected ${address} once in the sources, found it ${replaced} times`);
    });
  },
});

const withChange = (change: (path: string, source: string) => string): Plugin => ({
  name: "with-change",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: change(relative(REPOSITORY, path), await readFile(path, "utf8")),
      loader: "ts",
    }));
  },
});

/**
 * `import` of `node:http` reads all its exports, such as WebSocket, for which Node 22 and newer load undici: as long as all the rest of a
 * short command takes. `require` reads none.
 */
const HTTP_BY_REQUIRE: Plugin = {
  name: "http-by-require",
  setup({ onResolve, onLoad }) {
    const namespace = "by-require";
    onResolve({ filter: /^(node:)?http$/ }, ({ importer, kind }) =>
      // `import()` of a CommonJS module would provide only a default export.
      kind !== "import-statement" || importer === "node:http"
        ? { path: "node:http", external: true }
        : { path: "node:http", namespace },
    );
    onLoad({ filter: /.*/, namespace }, () => ({ contents: 'module.exports = require("node:http");' }));
  },
};

/** Three quarters of a megabyte that only OpenAPI documents have, in the server and in each cluster thread. */
export const PACKED_DESCRIPTIONS: Plugin = {
  name: "packed-descriptions",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]published[\\/]description-texts\.ts$/ }, () => {
      const packed = brotliCompressSync(descriptionTexts()).toString("base64");
      const contents = `import { brotliDecompressSync } from "node:zlib";
export const descriptionTexts = () => brotliDecompressSync(Buffer.from("${packed}", "base64")).toString();`;
      return { contents, loader: "js" };
    });
  },
};

const shared = () =>
  ({
    outdir: fromRepository("packages/cli/bundle"),
    absWorkingDir: REPOSITORY,
    // The callers write: a bundle appears as a whole or not at all.
    write: false,
    bundle: true,
    platform: "node",
    target: "node20",
    conditions: ["@postern/source"],
    metafile: true,
    logLevel: "warning",
    // Half a megabyte less. Names and lines stay as they are, for traces of the stack.
    minifySyntax: true,
    define: { POSTERN_BUILD: JSON.stringify(readBuildInfo()) },
  }) as const satisfies BuildOptions;

/** For dependencies that are CommonJS modules; under a name that no source uses. */
const REQUIRE =
  'import { createRequire as bundledRequire } from "node:module"; const require = bundledRequire(import.meta.url);';

export type BundleOptions = {
  readonly sourcemap: boolean;
  /** Changes a source of ours on its way into the bundle; `path` is relative to the repository. Default: none is changed. */
  readonly change?: (path: string, source: string) => string;
};

/** ECMAScript modules. Code that the command loads on demand is in separate files; all names but the entry's contain a hash of the content. */
export async function bundleModules({ sourcemap, change }: BundleOptions): Promise<Bundle> {
  const [consoleInputs] = await Promise.all([buildConsole(), buildDocumentation()]);
  const modules = { ...shared(), sourcemap, format: "esm", banner: { js: REQUIRE } } as const satisfies BuildOptions;
  const { threads, addresses } = await buildThreads(
    THREADS,
    ({ name, source }, starts) =>
      build({
        ...modules,
        entryPoints: { [name]: source },
        entryNames: "[name]-[hash]",
        plugins: [
          HTTP_BY_REQUIRE,
          PACKED_DESCRIPTIONS,
          ...starts.map(({ thread, address }) => withThread(thread, address, change)),
          ...(change === undefined ? [] : [withChange(change)]),
        ],
      }),
    (script) => `new URL("./${basename(script.path)}", import.meta.url)`,
  );
  const command = await build({
    ...modules,
    entryPoints: { postern: COMMAND },
    splitting: true,
    plugins: [
      HTTP_BY_REQUIRE,
      PACKED_DESCRIPTIONS,
      ...THREADS.map((thread, index) => withThread(thread, addresses[index] ?? "", change)),
      ...(change === undefined ? [] : [withChange(change)]),
    ],
  });
  const files = [...threads, command]
    .flatMap(({ outputFiles }) => outputFiles)
    .map(({ path, contents }) => ({
      name: relative(modules.outdir, path),
      contents,
    }));
  return {
    files,
    inputs: [...inputsOf(...threads.map(({ metafile }) => metafile), command.metafile), ...consoleInputs],
  };
}

/** One self-contained CommonJS script for Node's single executable applications. The threads are `data:` URLs in it. */
export async function bundleScript(): Promise<Bundle> {
  const [consoleInputs] = await Promise.all([buildConsole(), buildDocumentation()]);
  // There are no files beside the program: modules that ask for their own address get one that `createRequire` accepts.
  const alone = { ...shared(), minifyWhitespace: true } as const;
  const define = { ...alone.define, "import.meta.url": '"file:///postern/postern.js"' };
  const all = [...THREADS, FRONT_THREAD];
  const { threads, addresses } = await buildThreads(
    all,
    ({ name, source }, starts) =>
      build({
        ...alone,
        format: "esm",
        banner: { js: REQUIRE.replace("import.meta.url", define["import.meta.url"]) },
        define,
        entryPoints: { [name]: source },
        plugins: [PACKED_DESCRIPTIONS, ...starts.map(({ thread, address }) => withThread(thread, address))],
      }),
    (script) => `new URL("data:text/javascript;base64,${Buffer.from(script.contents).toString("base64")}")`,
  );
  const command = await build({
    ...alone,
    format: "cjs",
    define,
    plugins: [PACKED_DESCRIPTIONS, ...all.map((thread, index) => withThread(thread, addresses[index] ?? ""))],
    entryPoints: { postern: COMMAND },
  });
  const { contents } = scriptOf(command.outputFiles);
  return {
    files: [{ name: ENTRY, contents }],
    inputs: [...inputsOf(...threads.map(({ metafile }) => metafile), command.metafile), ...consoleInputs],
  };
}

type Started = { readonly thread: Thread; readonly address: string };

/** The results, and the address of each as code, in the order of `all`: a thread comes after those that it starts. */
async function buildThreads<Result extends BuildResult & { readonly outputFiles: OutputFile[] }>(
  all: readonly Thread[],
  buildThread: (thread: Thread, starts: readonly Started[]) => Promise<Result>,
  addressOf: (script: OutputFile) => string,
): Promise<{ readonly threads: readonly Result[]; readonly addresses: readonly string[] }> {
  const threads: Result[] = [];
  const built: Started[] = [];
  for (const thread of all) {
    const result = await buildThread(
      thread,
      built.filter((other) => thread.starts?.includes(other.thread.name)),
    );
    threads.push(result);
    built.push({ thread, address: addressOf(scriptOf(result.outputFiles)) });
  }
  return { threads, addresses: built.map(({ address }) => address) };
}

function scriptOf(files: readonly OutputFile[]): OutputFile {
  const script = files.find(({ path }) => path.endsWith(".js"));
  if (script === undefined) throw new Error("esbuild wrote no script");
  return script;
}

const inputsOf = (...metafiles: readonly Metafile[]): readonly string[] => [
  ...new Set(metafiles.flatMap(({ inputs }) => Object.keys(inputs))),
];
