// Enforces the direction of imports: a lower layer that imports a higher one cannot be reused or understood alone.

import { importsOf, isTest, targetOf } from "./imports.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

/** Imports that each package may have: a package of ours, or a part of it. */
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
 * bottom. A feature has up to four levels: what others build on, its kinds, its controllers and its routes. Files beside the folders are listed with their extension. Tests and testing/ may import anything.
 */
const ROOMS: { readonly [pkg: string]: readonly string[] } = {
  "structured-merge": ["fieldpath", "typed", "managedfields"],
  apiserver: [
    "runtime",
    "logging",
    "tracing",
    "limits",
    "transport",
    "transport/backpressure",
    "transport/addresses",
    "transport/tls",
    "transport/connections",
    "transport/exchange",
    "transport/listener",
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
    "registry/store",
    "registry/store/reads",
    "registry/store/writes",
    "registry/store/conversion",
    "registry/served-store.ts",
    "registry/resource-registry.ts",
    "registry/wait-for-object.ts",
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
    "foundation/served-version.ts",
    "foundation/stall-watch.ts",
    "foundation/whole-young-generation.ts",
    "foundation/config",
    "foundation/upstream",
    "foundation/pki",
    "foundation/tracing",
    "foundation/encryption",
    "foundation/store",
    "foundation/lookup",
    "foundation/kubeconfig",
    "foundation/kinds",
    "foundation/http",
    "foundation/metrics",
    "foundation/foundation.ts",
    "foundation/issuers",
    "features/directory",
    "features/access-keys",
    "features/authorization",
    "features/access-keys/usage",
    "features/budgets",
    "features/certificate-authorities",
    "features/certificates",
    "features/proxy",
    "features/session-recordings",
    "features/cluster-tunnels",
    "features/virtual-clusters",
    "features/trust",
    "features/access-requests",
    "features/sign-in",
    "features/audit",
    "features/activity",
    "features/console",
    "features/documentation",
    "features/custom-resources",
    "features/kubeconfig-generators",
    "features/projects",
    "features/directory/feature.ts",
    "features/access-keys/feature.ts",
    "features/authorization/feature.ts",
    "features/budgets/feature.ts",
    "features/certificates/feature.ts",
    "features/trust/feature.ts",
    "features/wrapped-values",
    "features/access-keys/kinds",
    "features/cluster-tunnels/feature.ts",
    "features/cluster-tunnels/kinds",
    "features/virtual-clusters/feature.ts",
    "features/sign-in/feature.ts",
    "features/access-requests/feature.ts",
    "features/notices",
    "operations",
    "features/authorization/kinds",
    "features/directory/kinds",
    "features/scim",
    "features/virtual-clusters/kinds",
    "features/kubeconfig-generators/kinds",
    "features/trust/kinds",
    "features/access-requests/kinds",
    "features/sign-in/kinds",
    "features/projects/kinds",
    "features/front-proxy",
    "features/access-keys/controllers",
    "features/cluster-tunnels/controllers",
    "features/virtual-clusters/controllers",
    "features/kubeconfig-generators/controllers",
    "features/trust/controllers",
    "features/access-requests/controllers",
    "features/sign-in/controllers",
    "features/projects/controllers",
    "features/wrapped-values/controllers",
    "features/access-keys/routes",
    "features/cluster-tunnels/routes",
    "features/proxy/routes",
    "features/trust/routes",
    "features/wrapped-values/routes",
    "server",
    "bootstrap",
    "fronts",
    "operations/doctor",
    "open-transport.ts",
    "compose-server.ts",
    "server-parts.ts",
    "further-front.ts",
    "main.ts",
  ],
};

/** The command loads the platform only to serve, work on a store, read an audit log or create a certificate request. */
const PLATFORM_IN_CLI =
  /^packages\/cli\/src\/(serve\/|front-thread\.ts|doctor\.ts|audit\/|backup\/|key\/(?:compromised|proof)\.ts|kubeconfig\/issue-kubeconfig\.ts)/;

/** Packages without I/O and without Node, which run anywhere. */
const PURE = new Set(["apimachinery", "structured-merge", "cel"]);

/** The longest of the rooms that the path begins with: `features/access-keys` of `packages/platform/src/features/access-keys/rotation/rotate-value.ts`. */
function roomOf(path: string, rooms: readonly string[]): string {
  const inside = path.split("/").slice(3).join("/");
  const around = rooms.filter((room) => inside === room || inside.startsWith(`${room}/`));
  return around.sort((a, b) => b.length - a.length)[0] ?? inside;
}

const faults: string[] = [];
const files = typeScriptFiles().filter((path) => path.startsWith("packages/"));
for (const path of files) {
  const from = path.split("/")[1] ?? "";
  for (const imported of importsOf(readSource(path))) {
    const fault = faultOf(path, from, imported);
    if (fault !== undefined) faults.push(`${path}: imports ${imported}: ${fault}`);
  }
}
for (const [pkg, rooms] of Object.entries(ROOMS))
  for (const room of rooms) {
    const path = `packages/${pkg}/src/${room}`;
    if (!files.some((file) => file === path || file.startsWith(`${path}/`)))
      faults.push(`${path}: a room without files`);
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
  const [from, to] = [roomOf(path, rooms), roomOf(target, rooms)];
  if (!rooms.includes(from)) return `${from} has no place in the order of folders (tools/check-layers.ts)`;
  return rooms.indexOf(to) > rooms.indexOf(from) ? `${to} comes after ${from} in the order of folders` : undefined;
}
