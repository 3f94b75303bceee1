// How the console is built, and served with live reload: `npm run dev -w @postern/console`.

import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/** Paths that the server answers, and the console does not. */
const SERVER =
  "^/(api|apis|docs|login|oauth|kubernetes|openapi|version|leaks|profile/access-keys|audit/events|activity)(/|\\?|$)";

/** The page loads at once the modules that the first module imports step by step. */
const preloadSteps: Plugin = {
  name: "preload-steps",
  transformIndexHtml(_html, { chunk, bundle = {} }) {
    const files = new Set<string>();
    const add = (file: string): void => {
      if (files.has(file)) return;
      files.add(file);
      const part = bundle[file];
      for (const imported of part?.type === "chunk" ? part.imports : []) add(imported);
    };
    for (const file of chunk?.dynamicImports ?? []) add(file);
    return [...files]
      .filter((file) => file !== chunk?.fileName && !chunk?.imports.includes(file))
      .map((file) => ({
        tag: "link",
        attrs: { rel: "modulepreload", crossorigin: true, href: `/${file}` },
        injectTo: "head",
      }));
  },
};

type Modules = {
  getModuleInfo(
    id: string,
  ): { readonly importedIds: readonly string[]; readonly dynamicallyImportedIds: readonly string[] } | null;
};

const LATER = "home";
const HOME = /\/pages\/home\//;
const FIRST_MODULE = fileURLToPath(new URL("src/main.ts", import.meta.url));

/**
 * The file of a module that the first page evaluates: one for each step of the first module, and one for what it loads a moment later, so that small modules that other pages share take no
 * request each. The server limits requests by source address, and many people may share one. Undefined for all other modules.
 */
function createStepOf(): (id: string, modules: Modules) => string | undefined {
  let steps: Map<string, string> | undefined;
  return (id, modules) => {
    if (steps === undefined) {
      steps = new Map();
      for (const [at, first] of (modules.getModuleInfo(FIRST_MODULE)?.dynamicallyImportedIds ?? []).entries()) {
        const open = [first];
        for (const each of open) {
          if (steps.has(each)) continue;
          steps.set(each, `step-${at}`);
          open.push(...(modules.getModuleInfo(each)?.importedIds ?? []));
        }
      }
      // Parts of the first page that follow it, with what other pages share of them.
      const parts = [...steps.keys()].flatMap((id) => modules.getModuleInfo(id)?.dynamicallyImportedIds ?? []);
      const later = parts.filter((id) => HOME.test(id));
      for (const each of later) {
        if (steps.has(each)) continue;
        steps.set(each, LATER);
        later.push(...(modules.getModuleInfo(each)?.importedIds ?? []));
      }
    }
    return steps.get(id);
  };
}
const stepOf = createStepOf();

/** The files of the steps, or the one that follows them. */
function firstFileOf(id: string, modules: Modules, isLater: boolean): string | null {
  const file = stepOf(id, modules);
  return file !== undefined && (file === LATER) === isLater ? file : null;
}

export default defineConfig({
  plugins: [preloadSteps],
  resolve: { conditions: ["@postern/source", "module", "browser", "development|production"] },
  build: {
    write: false,
    target: "es2023",
    // Away from the paths of the API, with hashes in their names.
    assetsDir: "console",
    // Everything in a file: the policy of the page takes no data: but for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      // They depend on how busy the machine is, and are the first lines of a first start.
      checks: { bundlerTimings: false },
      output: {
        codeSplitting: {
          // A group takes what its modules import as well: the steps first.
          groups: [
            { debugName: "steps", priority: 2, name: (id, modules) => firstFileOf(id, modules, false) },
            { debugName: "home", priority: 1, name: (id, modules) => firstFileOf(id, modules, true) },
            // Modules that several other pages share: in files of their own they were twenty, some with a few lines.
            { name: "shared", minShareCount: 2 },
          ],
        },
      },
      onLog(level, log, report) {
        // "use client" is for servers that render.
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
    },
  },
  server: {
    proxy: {
      [SERVER]: {
        target: process.env["POSTERN_URL"] ?? "https://127.0.0.1:8443",
        // The server of a laptop has a certificate of its own, and knows itself by its own address.
        secure: false,
        changeOrigin: true,
        headers: { origin: process.env["POSTERN_URL"] ?? "https://127.0.0.1:8443" },
      },
    },
  },
});
