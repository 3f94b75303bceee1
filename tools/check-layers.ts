// Keeps the direction of imports: a lower layer that imports a higher one cannot be reused or understood alone.

import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

/** What each package may import of ours: a package, or one part of it. */
const MAY_IMPORT: { readonly [from: string]: readonly string[] } = {
  apimachinery: [],
  client: ["apimachinery"],
  apiserver: ["apimachinery"],
  stores: ["apimachinery", "apiserver/storage"],
  platform: ["apimachinery", "apiserver", "stores", "client"],
  cli: ["apimachinery", "client", "platform"],
  console: ["apimachinery", "client"],
};

/** The command loads the platform only where it serves, works on a store or writes a certificate request. */
const PLATFORM_IN_CLI =
  /^packages\/cli\/src\/(serve\.ts|doctor\.ts|configuration-flags\.ts|backup\/|kubeconfig\/issue-kubeconfig\.ts)/;

const IMPORT = /(?:import|export)\s[^"';]*?from\s*"([^"]+)"|import\s*\(\s*"([^"]+)"\s*\)|import\s+"([^"]+)"/g;

const importsOf = (source: string): readonly string[] =>
  [...source.matchAll(IMPORT)].map(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? "");

const isTest = (path: string): boolean => /\.test\.ts$|\/testing\//.test(path);

const faults: string[] = [];
const files = typeScriptFiles().filter((path) => path.startsWith("packages/"));
for (const path of files) {
  const from = path.split("/")[1] ?? "";
  for (const imported of importsOf(readSource(path))) {
    const fault = faultOf(path, from, imported);
    if (fault !== undefined) faults.push(`${path}: imports ${imported}: ${fault}`);
  }
}
reportGate("layers", files.length, faults);

function faultOf(path: string, from: string, imported: string): string | undefined {
  if (imported.startsWith("node:")) {
    return from === "apimachinery" && !isTest(path) ? "apimachinery is pure and runs anywhere" : undefined;
  }
  if (imported.startsWith(".")) {
    const root = `packages/${from}/`;
    const target = new URL(imported, `file:///${path}`).pathname.slice(1);
    return target.startsWith(root) ? undefined : "relative imports stay within their package";
  }
  if (!imported.startsWith("@postern/")) return undefined;
  const target = imported.slice("@postern/".length);
  if (target === from || target.startsWith(`${from}/`))
    return isTest(path) ? undefined : "a package imports itself by relative path";
  const allowed = MAY_IMPORT[from] ?? [];
  if (!allowed.some((part) => target === part || target.startsWith(`${part}/`)))
    return `${from} may import only ${allowed.join(", ")}`;
  if (from === "cli" && target.startsWith("platform/") && !PLATFORM_IN_CLI.test(path) && !isTest(path)) {
    return "only the commands that serve or work on a store know the platform";
  }
  return undefined;
}
