// The image that the Dockerfile makes, by its own steps, from a clean clone.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeNpmPackage } from "../../../tools/release/npm-package.ts";
import { REPOSITORY } from "../../e2e/testing/postern-process.ts";
import { type Image, performDockerfile } from "./dockerfile.ts";

export const DOCKERFILE = join(REPOSITORY, "deploy/Dockerfile");

/** Folders that .dockerignore keeps out of the build. */
export const LEFT_OUT = readFileSync(join(REPOSITORY, ".dockerignore"), "utf8")
  .split("\n")
  .filter((line) => /^[a-z]+$/.test(line));

export const runCommand = async ([command = "", ...args]: readonly string[]): Promise<void> => {
  await promisify(execFile)(command, args, { maxBuffer: 64 << 20 });
};

/**
 * Writes the root into the folder. The first stage of the Dockerfile, which installs from the registry, is made of what is built here already, unless
 * CONTAINER_BUILD is 1: `npm run nightly -- container`.
 */
export async function buildImage(folder: string): Promise<Image> {
  const stages = join(folder, "stages");
  const context = join(folder, "context");
  const packaged = await writeNpmPackage(join(folder, "npm"));
  const build = (root: string): void => {
    mkdirSync(join(root, "build/dist"), { recursive: true });
    cpSync(packaged, join(root, "build/dist/npm"), { recursive: true });
  };
  await runCommand(["git", "clone", "--quiet", "--depth", "1", `file://${REPOSITORY}`, context]);
  for (const name of LEFT_OUT) rmSync(join(context, name), { recursive: true, force: true });
  const prepared = process.env["CONTAINER_BUILD"] === "1" ? {} : { build };
  const image = await performDockerfile(DOCKERFILE, { folder: stages, context, prepared, run: runCommand });
  // Third-party content need not be searched for our secrets.
  rmSync(join(stages, "build"), { recursive: true });
  return image;
}
