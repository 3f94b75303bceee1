// The container image, made by the steps of the Dockerfile in clean roots, and started as a container engine would: not as root, without
// capabilities, with a root file system that cannot be written.

import { execFile, spawn } from "node:child_process";
import { chownSync, cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { writeNpmPackage } from "../../tools/release/npm-package.ts";
import { REPOSITORY, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";
import { commandIn, performDockerfile } from "./testing/dockerfile.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { takeTour } from "./testing/tour.ts";

/** Folders that .dockerignore keeps out of the build. */
const LEFT_OUT = readFileSync(join(REPOSITORY, ".dockerignore"), "utf8")
  .split("\n")
  .filter((line) => /^[a-z]+$/.test(line));

const DOCKERFILE = join(REPOSITORY, "deploy/Dockerfile");

it("pins its base images by digest, and says what it is", () => {
  const text = readFileSync(DOCKERFILE, "utf8");
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(bases).toHaveLength(2);
  for (const base of bases) expect(base).toMatch(/^node:24-\S+@sha256:[0-9a-f]{64}$/);
  expect(text).toContain("org.opencontainers.image.revision");
});

it("copies the manifest of every package before it installs", () => {
  const text = readFileSync(DOCKERFILE, "utf8");
  const { workspaces } = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")).packages[""];
  expect(workspaces).toEqual(["packages/*"]);
  const locked = Object.keys(JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")).packages);
  for (const folder of locked.filter((path) => /^packages\/[^/]+$/.test(path)))
    expect(text).toContain(`COPY ${folder}/package.json ${folder}/`);
});

it("serves the tour from a root that cannot be written, as a user without rights", async () => {
  await using directory = await temporaryDirectory();
  const run = async ([command = "", ...args]: readonly string[]): Promise<void> => {
    await promisify(execFile)(command, args, { maxBuffer: 64 << 20 });
  };
  // The first stage installs and builds what is here already: `npm run nightly -- container` performs it, too.
  const build = (root: string): void => {
    mkdirSync(join(root, "build/dist"), { recursive: true });
    cpSync(packaged, join(root, "build/dist/npm"), { recursive: true });
  };
  const packaged = await writeNpmPackage(join(directory.path, "npm"));
  const folder = join(directory.path, "stages");
  const context = join(directory.path, "context");
  await run(["git", "clone", "--quiet", "--depth", "1", `file://${REPOSITORY}`, context]);
  for (const folder of LEFT_OUT) rmSync(join(context, folder), { recursive: true, force: true });
  const prepared = process.env["CONTAINER_BUILD"] === "1" ? {} : { build };
  const image = await performDockerfile(DOCKERFILE, { folder, context, prepared, run });
  // What others published is nothing to look through for our secrets.
  rmSync(join(folder, "build"), { recursive: true });

  expect(image).toMatchObject({ user: "1000:1000", volumes: ["/data"], cmd: ["serve"] });
  const data = join(directory.path, "data");
  mkdirSync(data);
  chownSync(data, 1000, 1000);
  const volumes = { "/data": data };
  const [program = "", ...args] = commandIn(image, [...image.entrypoint, ...image.cmd], volumes);
  await using server = await startInstalled(
    spawn(program, [...args, "--bind-address", "127.0.0.1", "--secure-port", "0"]),
  );
  await takeTour({ url: server.url, dataDir: data, directory: directory.path });

  const healthCheck = image.healthCheck.map((word) => word.replace("8443", new URL(server.url).port));
  await run(commandIn(image, healthCheck, volumes));
  await server.stop();
  const [check = "", ...rest] = commandIn(image, healthCheck, volumes);
  expect((await tool(check, rest)).code).toBe(1);
  const [touch = "", ...path] = commandIn(image, ["touch", "/app/x"], volumes);
  expect((await tool(touch, path)).stderr).toMatch(/Read-only file system|Permission denied/);
});
