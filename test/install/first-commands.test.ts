// The first command of the README as written, in a copy of the repository with what `npm ci` installs, on a machine with Node alone.

import { execFileSync, spawn } from "node:child_process";
import { mkdir, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { copyRepository } from "./testing/repository-copy.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let copy: string;
/** Node and npm, and what every system has. */
let programs: string;

const commandPath = (name: string): string =>
  execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();

beforeAll(async () => {
  directory = await temporaryDirectory();
  copy = join(directory.path, "postern");
  programs = join(directory.path, "programs");
  await mkdir(programs);
  await symlink(process.execPath, join(programs, "node"));
  for (const name of ["npm", "npx", "sh", "uname"]) await symlink(commandPath(name), join(programs, name));
  await copyRepository(copy, ({ isForTests }) => !isForTests);
});

afterAll(async () => {
  // Only what the server wrote is looked through for secrets.
  for (const name of await readdir(copy)) if (name !== "data") await rm(join(copy, name), { recursive: true });
  await directory?.[Symbol.asyncDispose]();
});

it("npm start builds, starts, and shows what to do next", async () => {
  const [, command = ""] =
    /^npm ci && (npm start)\b/m.exec(await readFile(join(REPOSITORY, "README.md"), "utf8")) ?? [];
  expect(command).toBe("npm start");
  const child = spawn("npm", ["start"], {
    cwd: copy,
    env: { PATH: programs, HOME: directory.path, POSTERN_SECURE_PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  try {
    const server = await startInstalled(child);
    await expect.poll(server.output).toContain("key create laptop --ttl 24h");
    expect(server.output()).toContain("kubeconfig demo --merge");
    expect(await readdir(join(copy, "data"))).toContain("admin.kubeconfig");
  } finally {
    // npm starts a shell, which starts the server: a group of its own.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }
});
