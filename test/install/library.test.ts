// The library as a stranger uses it: packed by the command of its README, installed into an empty directory, its first example pasted.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { kubectlClients } from "../e2e/testing/kubectl-clients.ts";
import { kubectlWith, NODE, REPOSITORY, succeed, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { foldersWithDependencies, startLocalRegistry } from "./testing/local-registry.ts";

const MODULES = join(REPOSITORY, "node_modules");
const EXAMPLES = join(REPOSITORY, "examples/embed");
const README = readFileSync(join(REPOSITORY, "packages/kubernetes/README.md"), "utf8");
const PACK = /^npm pack .*$/m.exec(README)?.[0] ?? "";
const EXAMPLE = /^```ts\n(.*?)^```$/ms.exec(README)?.[1] ?? "";
const MANIFEST = /<<'END'\n(.*?)^END$/ms.exec(README)?.[1] ?? "";
const TABLE = /^```\n(NAME.*?)^```$/ms.exec(README)?.[1] ?? "";
const PACKAGES = ["apimachinery", "apiserver", "cel", "kubernetes", "stores", "structured-merge"];
const WAIT = { timeout: 60_000, interval: 50 };

const run = promisify(execFile);
const { clients } = await kubectlClients();
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
/** With the packages alone. */
let project: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  const packed = join(directory.path, "packed");
  project = join(directory.path, "bakery");
  await Promise.all([mkdir(packed), mkdir(project)]);
  expect(PACK).toContain("--pack-destination /tmp");
  await run("sh", ["-c", PACK.replace("/tmp", packed)], { cwd: REPOSITORY });
  const tarballs = (await readdir(packed)).map((name) => join(packed, name));
  const manifests = PACKAGES.map((name) =>
    JSON.parse(readFileSync(join(MODULES, "@postern", name, "package.json"), "utf8")),
  );
  const needed = manifests.flatMap(({ dependencies }) => Object.keys(dependencies));
  const others = foldersWithDependencies(
    [...new Set(needed)].filter((name) => !name.startsWith("@postern/")),
    MODULES,
  );
  await using registry = await startLocalRegistry(others, join(directory.path, "registry"));
  const options = ["--registry", registry.url, "--cache", join(directory.path, "npm"), "--no-audit", "--no-fund"];
  await run("npm", ["install", ...options, ...tarballs], { cwd: project });
}, 300_000);

afterAll(async () => await directory?.[Symbol.asyncDispose]());

it("installs compiled code and types, and neither sources nor tests", async () => {
  const scope = join(project, "node_modules/@postern");
  expect((await readdir(scope)).toSorted()).toEqual(PACKAGES);
  const files = await readdir(scope, { recursive: true });
  const wanted = ["kubernetes/dist/index.js", "kubernetes/dist/index.d.ts", "kubernetes/README.md"];
  for (const file of [...wanted, ...PACKAGES.map((name) => `${name}/LICENSE`)]) {
    expect(files).toContain(file);
  }
  expect(files.filter((file) => /\/src\/|\.test\.|\/testing\/|tsbuildinfo/.test(file))).toEqual([]);
});

it.each([
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
])(
  "compiles under a strict compiler with its types and all examples: module %s, resolution %s",
  async (module, moduleResolution) => {
    await writeFile(join(project, "example.mts"), EXAMPLE);
    await cp(EXAMPLES, join(project, "examples"), { recursive: true });
    const strict = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    };
    const modules = { module, moduleResolution, allowImportingTsExtensions: true, verbatimModuleSyntax: true };
    const compilerOptions = { target: "es2023", ...strict, ...modules, noEmit: true, types: ["node"] };
    await writeFile(join(project, "examples/package.json"), '{ "type": "module" }');
    const tsconfig = { compilerOptions, include: ["example.mts", "examples"] };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify(tsconfig));
    await run(join(MODULES, ".bin/tsc"), ["-p", project], { cwd: project });
  },
);

it.each([
  ["as it is", (code: string) => code],
  [
    "with SQLite",
    (code: string) =>
      `import { openSqliteStorage } from "@postern/stores";\n${code}`.replace(
        "createMemoryStorage();",
        'await openSqliteStorage({ path: "bakery.db" });',
      ),
  ],
])("runs the first example of the README when it is pasted, %s", async (what, change) => {
  await writeFile(join(project, "server.mjs"), change(EXAMPLE));
  const server = spawn(NODE, ["server.mjs"], { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  server.stderr.on("data", (data) => (errors += data));
  const ended = once(server, "exit");
  try {
    const lines = createInterface(server.stdout);
    const first = Promise.race([once(lines, "line"), ended.then(() => Promise.reject(new Error(errors)))]);
    expect(String(await first)).toMatch(
      /^https:\/\/127\.0\.0\.1:\d+: kubectl --kubeconfig bakery\.kubeconfig get loaves$/,
    );
    const kubectl = kubectlWith(
      join(project, "bakery.kubeconfig"),
      join(project, "cache"),
      clients[0]?.program ?? "kubectl",
    );
    expect(await succeed(kubectl(["explain", "loaf.spec"]))).toContain("The flour that the loaf is made of.");
    expect(await succeed(kubectl(["apply", "-f", "-"], MANIFEST))).toContain("monday created");
    await expect.poll(() => succeed(kubectl(["get", "loaves"])), WAIT).toBe(TABLE);
    const files = await readdir(project);
    expect(files.includes("bakery.db")).toBe(what === "with SQLite");
  } finally {
    server.kill("SIGTERM");
  }
  expect(await ended).toEqual([0, null]);
  expect(errors).toBe("");
});
