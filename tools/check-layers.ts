// Enforces the direction of imports: a lower layer that imports a higher one cannot be reused or understood alone.

import { importsOf, isTest, targetOf } from "./imports.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

/** What each package may import: a package of ours, or a part of it. */
const MAY_IMPORT: { readonly [from: string]: readonly string[] } = {
  apimachinery: [],
  "structured-merge": ["apimachinery"],
  cel: ["apimachinery"],
  client: ["apimachinery"],
  api: ["apimachinery"],
  apiserver: ["apimachinery", "structured-merge"],
  kubernetes: ["apimachinery", "structured-merge", "cel", "apiserver"],
  stores: ["apimachinery", "apiserver/storage"],
  platform: ["apimachinery", "structured-merge", "cel", "api", "apiserver", "kubernetes", "stores", "client"],
  cli: ["apimachinery", "client", "api", "platform", "console"],
  console: ["apimachinery", "client", "api"],
};

/**
 * The folders of a package in order: each imports only from earlier ones, types included, so that the top can change without the
 * bottom. Files beside the folders are listed with their extension. Tests and testing/ may import anything.
 */
const ROOMS: { readonly [pkg: string]: readonly string[] } = {
  "structured-merge": ["fieldpath", "typed", "managedfields"],
  apiserver: [
    "runtime",
    "logging",
    "tracing",
    "limits",
    "transport",
    "request",
    "version",
    "health",
    "storage",
    "cache",
    "x509",
    "authentication",
    "authorization",
    "audit",
    "metrics",
    "context",
    "registry",
    "admission",
    "endpoints",
    "chain",
    "controllers",
    "server",
    "index.ts",
  ],
  kubernetes: [
    "service-accounts",
    "builtin",
    "controllers",
    "webhooks",
    "custom-resources",
    "policies",
    "server",
    "index.ts",
  ],
  platform: [
    "served-version.ts",
    "config",
    "pki",
    "kubeconfig",
    "directory",
    "proxy",
    "encryption",
    "tracing",
    "store",
    "lookup",
    "access-keys",
    "budgets",
    "authorization",
    "certificates",
    "clusters",
    "audit",
    "trust",
    "sign-in",
    "console",
    "core",
    "operations",
    "resources",
    "controllers",
    "notices",
    "server",
    "bootstrap",
    "doctor",
    "compose-server.ts",
    "main.ts",
  ],
};

/** The command loads the platform only to serve, work on a store, read an audit log or create a certificate request. */
const PLATFORM_IN_CLI =
  /^packages\/cli\/src\/(serve\.ts|doctor\.ts|configuration-flags\.ts|audit\/|backup\/|key\/compromised\.ts|kubeconfig\/issue-kubeconfig\.ts)/;

/** Packages without I/O and without Node, which run anywhere. */
const PURE = new Set(["apimachinery", "structured-merge", "cel"]);

/** `access-keys` of `packages/platform/src/access-keys/rotation/rotate-value.ts`. */
const roomOf = (path: string): string => path.split("/")[3] ?? "";

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
    return PURE.has(from) && !isTest(path) ? `${from} is pure and runs anywhere` : undefined;
  }
  if (imported.startsWith(".")) {
    const root = `packages/${from}/`;
    const target = targetOf(path, imported);
    return target.startsWith(root) ? upwards(path, target) : "relative imports stay within their package";
  }
  if (!imported.startsWith("@postern/")) return undefined;
  const target = imported.slice("@postern/".length);
  if (target === from || target.startsWith(`${from}/`))
    return isTest(path) ? undefined : "a package imports itself by relative path";
  const allowed = MAY_IMPORT[from] ?? [];
  if (!allowed.some((part) => target === part || target.startsWith(`${part}/`)))
    return `${from} may import only ${allowed.join(", ")}`;
  if (from === "cli" && target.startsWith("platform/") && !PLATFORM_IN_CLI.test(path) && !isTest(path)) {
    return "only the commands that serve, work on a store or read an audit log know the platform";
  }
  return undefined;
}

function upwards(path: string, target: string): string | undefined {
  const rooms = ROOMS[path.split("/")[1] ?? ""];
  if (rooms === undefined || isTest(path)) return undefined;
  const [from, to] = [rooms.indexOf(roomOf(path)), rooms.indexOf(roomOf(target))];
  if (from < 0) return `${roomOf(path)} has no place in the order of folders (tools/check-layers.ts)`;
  return to > from ? `${roomOf(target)} comes after ${roomOf(path)} in the order of folders` : undefined;
}
