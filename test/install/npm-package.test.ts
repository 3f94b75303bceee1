// The npm package, installed from its tarball alone into an empty directory, on the Node of this run; by night on the
// newest as well.

import { execFile, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeBinary } from "../../tools/release/node-binary.ts";
import { packFolder, writeNpmPackage } from "../../tools/release/npm-package.ts";
import { casesOf } from "../../tools/test-cost/by-night.ts";
import { NODE, REPOSITORY, succeed, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { startLocalRegistry } from "./testing/local-registry.ts";
import { takeTour } from "./testing/tour.ts";

const MODULES = join(REPOSITORY, "node_modules");
const NODES = [
  ["the Node of this run", NODE],
  ["Node 26", nodeBinary("node-26")],
] as const;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let packaged: string;
/** Where the tarball is installed. */
let project: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  packaged = await writeNpmPackage(join(directory.path, "package"));
  project = join(directory.path, "project");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{"private":true}');
  const others = ["@photostructure/sqlite", "node-gyp-build", "node-addon-api"].map((name) => join(MODULES, name));
  await using registry = await startLocalRegistry(others, join(directory.path, "registry"));
  const tarball = packFolder(packaged, directory.path);
  const npm = ["install", "--registry", registry.url, "--cache", join(directory.path, "npm"), "--no-audit", tarball];
  // The registry answers in this process: it must not wait.
  await promisify(execFile)("npm", npm, { cwd: project });
  // A package as a release has it, built and installed.
}, 180_000);

afterAll(async () => await directory[Symbol.asyncDispose]());

const command = (): string => join(project, "node_modules/.bin/postern");

it("is small, and has what a package needs", async () => {
  const files = await readdir(packaged, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  // The module of cluster threads is 3.8 MB of it: a thread shares no part of the server's modules. The types of pods are in both. The documentation is 0.6 MB.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(14.5e6);
  const names = await readdir(packaged);
  for (const name of ["README.md", "LICENSE", "CHANGELOG.md", "THIRD-PARTY-LICENSES", "sbom.cdx.json"])
    expect(names).toContain(name);
  const { dependencies, scripts } = JSON.parse(readFileSync(join(packaged, "package.json"), "utf8"));
  expect(dependencies).toBeUndefined();
  expect(scripts).toBeUndefined();
});

it("has a man page for each command, which npm installs", () => {
  const { man } = JSON.parse(readFileSync(join(packaged, "package.json"), "utf8"));
  expect(man).toEqual(expect.arrayContaining(["./man/postern.1", "./man/postern-key-create.1"]));
  for (const page of man) expect(readFileSync(join(packaged, page), "utf8")).toMatch(/^\.TH POSTERN/);
});

it("names every package whose code is inside, with licence and hash", () => {
  const { components } = JSON.parse(readFileSync(join(packaged, "sbom.cdx.json"), "utf8"));
  const licences = readFileSync(join(packaged, "THIRD-PARTY-LICENSES"), "utf8");
  const names = components.map(({ group, name }: { group?: string; name: string }) =>
    group === undefined ? name : `${group}/${name}`,
  );
  expect(names).toEqual(
    expect.arrayContaining([
      "@opentelemetry/sdk-trace-base",
      "commander",
      "pino",
      "prom-client",
      "protobufjs",
      "ws",
      "yaml",
    ]),
  );
  for (const name of names) expect(licences).toContain(`\n${name} `);
  for (const { hashes } of components) expect(hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/);
});

describe.each(casesOf(NODES, ([, node]) => node === NODE))("on %s", (_, node) => {
  it("serves the tour, and its first line says that it is ready", async () => {
    // The Node of the run can be one of the others.
    const reader = await mkdtemp(join(directory.path, "reader-"));
    const args = [command(), "serve", "--secure-port", "0"];
    await using server = await startInstalled(spawn(node, args, { cwd: reader, env: { PATH: process.env["PATH"] } }));
    // Where the directory for temporary files is in memory, the server warns of that first.
    const [first] = server
      .output()
      .split("\n")
      .filter((line) => !line.includes("is in memory (tmpfs)"));
    expect(first).toMatch(/^Postern is ready at https:/);
    await takeTour({ url: server.url, directory: reader, command: [node, command()] });
    await server.stop();
    expect(server.output()).not.toContain("Warning");
  });

  it("loads the client library", async () => {
    const script = 'import("postern/client").then((all) => console.log(Object.keys(all).join(" ")))';
    const printed = execFileSync(node, ["-e", script], { cwd: project, encoding: "utf8" });
    expect(printed).toContain("Informer createApiClient");
  });
});

it("says in one sentence that a Node is too old", async () => {
  const old = 'Object.defineProperty(process.versions, "node", { value: "18.20.8" });';
  const script = `${old} require(${JSON.stringify(join(project, "node_modules/postern/bin/postern.cjs"))})`;
  expect(await tool(NODE, ["-e", script])).toEqual({
    code: 1,
    stdout: "",
    stderr: "postern: needs Node 20.19 or newer, this is Node 18.20.8\n",
  });
});

it("types the client library for a program that is compiled strictly", async () => {
  const program = `
    import { createApiClient, createNodeTransport, createResourceClient, loadConnection } from "postern/client";
    const connection = await loadConnection({ environment: process.env });
    await using transport = createNodeTransport(connection.transport);
    const client = createApiClient({ transport, ...(connection.token && { token: connection.token }) });
    const keys = createResourceClient(client, { group: "management.postern", version: "v1", resource: "ownedaccesskeys" });
    for (const key of (await keys.list()).items) console.log(key.metadata.name);
    // @ts-expect-error: there is no such call.
    keys.lst();
  `;
  await writeFile(join(project, "program.mts"), program);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    typeRoots: [join(MODULES, "@types")],
    types: ["node"],
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.mts"] }));
  await succeed(tool(NODE, [join(MODULES, "typescript/bin/tsc"), "-p", project]));
});
