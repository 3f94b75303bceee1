// The table of the README, row by row as written, in a copy of the repository: what each row builds, and what it starts. Docker is a stand-in that records
// what it is asked for, since `container.test.ts` builds the image by the steps of the Dockerfile; Helm renders instead of installing.

import { spawn } from "node:child_process";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubernetesTools } from "../e2e/testing/kubernetes-tools.ts";
import { REPOSITORY, succeed, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { startLocalRegistry } from "./testing/local-registry.ts";
import { copyRepository } from "./testing/repository-copy.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let copy: string;
let programs: string;
let rows: ReadonlyMap<string, { readonly build: string; readonly start: string }>;

beforeAll(async () => {
  directory = await temporaryDirectory();
  [copy, programs] = [join(directory.path, "postern"), join(directory.path, "programs")];
  await mkdir(programs);
  await copyRepository(copy, () => true);
  await symlink(join(REPOSITORY, "tools/nodes/node_modules"), join(copy, "tools/nodes/node_modules"));
  const readme = await readFile(join(REPOSITORY, "README.md"), "utf8");
  const found = readme.matchAll(/^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \|$/gm);
  rows = new Map([...found].map(([, way = "", build = "", start = ""]) => [way, { build, start }]));
});

afterAll(async () => {
  // Only what servers wrote is looked through for secrets.
  await rm(copy, { recursive: true });
  await rm(join(directory.path, "npm"), { recursive: true, force: true });
  await directory?.[Symbol.asyncDispose]();
});

const row = (way: string) => rows.get(way) ?? { build: "", start: "" };
/** Commands find stand-ins first, then what npm installs globally. */
const environment = (extra: { readonly [name: string]: string } = {}): string[] =>
  Object.entries({
    PATH: `${programs}:${join(directory.path, "npm/bin")}:${process.env["PATH"]}`,
    HOME: directory.path,
    npm_config_prefix: join(directory.path, "npm"),
    POSTERN_SECURE_PORT: "0",
    ...extra,
  }).map(([name, value]) => `${name}=${value}`);

const runInCopy = (command: string, extra?: { readonly [name: string]: string }) =>
  succeed(tool("env", ["-C", copy, ...environment(extra), "sh", "-euc", command]));

async function expectReady(command: string, extra: { readonly [name: string]: string }): Promise<void> {
  const child = spawn("env", ["-C", copy, ...environment(extra), "sh", "-euc", command], {
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: the shell starts the server.
    detached: true,
  });
  try {
    const server = await startInstalled(child);
    await expect.poll(server.output).toContain("key create laptop --ttl 24h");
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }
}

const program = (name: string, script: string): Promise<void> =>
  writeFile(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

it("has these rows", () => {
  expect([...rows.keys()]).toEqual(["npm package", "one file for Linux", "container image", "Helm chart", "source"]);
  // first-commands.test.ts performs it.
  expect(row("source")).toEqual({ build: "npm ci", start: "npm start" });
});

describe("the row of", () => {
  it("the npm package", async () => {
    const { build, start } = row("npm package");
    await runInCopy(build);
    const others = ["@photostructure/sqlite", "node-gyp-build", "node-addon-api"];
    const folders = others.map((name) => join(REPOSITORY, "node_modules", name));
    await using registry = await startLocalRegistry(folders, join(directory.path, "registry"));
    await expectReady(start, { npm_config_registry: registry.url, POSTERN_DATA_DIR: join(directory.path, "by-npm") });
  });

  it("the one file", async () => {
    const { build, start } = row("one file for Linux");
    await runInCopy(build);
    const written = start.replace("x64", process.arch === "arm64" ? "arm64" : "x64");
    await expectReady(written, { POSTERN_DATA_DIR: join(directory.path, "by-file") });
  });

  it("the container image", async () => {
    const { build, start } = row("container image");
    const log = join(directory.path, "docker.txt");
    await program("docker", `echo "$@" >> '${log}'`);
    await runInCopy(build);
    await runInCopy(start);
    const [version, built = "", started] = (await readFile(log, "utf8")).trim().split("\n");
    expect(version).toBe("--version");
    expect(built).toMatch(/^build --file deploy\/Dockerfile --tag postern (--build-arg [A-Z_]+=\S* )+\.$/);
    expect(started).toBe("run --name postern --publish 8443:8443 postern");
    expect(await readFile(join(copy, "deploy/Dockerfile"), "utf8")).toContain("EXPOSE 8443");
  });

  it("the Helm chart", async () => {
    const { build, start } = row("Helm chart");
    const { helm } = await kubernetesTools("1.35");
    await program("helm", `[ "$1" = install ] && shift && exec '${helm}' template "$@"`);
    await runInCopy(build);
    const manifests = parseAllDocuments(await runInCopy(start)).map((document) => document.toJS());
    expect(manifests.map((manifest) => manifest?.kind)).toContain("StatefulSet");
  });
});
