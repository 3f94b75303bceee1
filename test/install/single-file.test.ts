// The single executable, in an empty directory, with nothing of Node or of the sources around it.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ARM64_PACKAGE, type Architecture, writeChecksums, writeSingleFiles } from "../../tools/release/single-file.ts";
import { byNight, everyCase } from "../../tools/test-cost/by-night.ts";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { takeTour } from "./testing/tour.ts";

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "x64";
/** Debian's qemu-user-static, and the libraries of libc6-arm64-cross and libstdc++6-arm64-cross. */
const EMULATOR = "/usr/bin/qemu-aarch64-static";
const LIBRARIES = "/usr/aarch64-linux-gnu";
/** Node for arm64 comes from npm's cache, in which `npm run package` leaves it: a test fetches nothing. */
process.env["npm_config_offline"] = "true";

function hasArm64(): boolean {
  if (!existsSync(EMULATOR) || !existsSync(join(LIBRARIES, "lib/libstdc++.so.6"))) return false;
  return execFileSync("npm", ["cache", "ls", ARM64_PACKAGE.name], { encoding: "utf8" }).includes(".tgz");
}

type Executable = {
  readonly architecture: Architecture;
  /** Prefix of the command line. */
  readonly run: readonly string[];
};

/** Serves the tour from one file in an empty directory. */
async function serveTour({ architecture, run }: Executable): Promise<void> {
  await using directory = await temporaryDirectory();
  const dist = join(directory.path, "dist");
  const written = await writeSingleFiles([architecture], dist);
  const names = written.map((path) => path.slice(dist.length + 1));
  expect(names).toEqual([`postern-linux-${architecture}`, "postern-linux.cdx.json", "postern-linux.licenses.txt"]);
  writeChecksums(dist, names);
  execFileSync("sha256sum", ["--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: dist });
  const bom = JSON.parse(readFileSync(join(dist, "postern-linux.cdx.json"), "utf8"));
  expect(bom.components.map(({ name }: { name: string }) => name)).toContain("node");

  const empty = join(directory.path, "empty");
  const file = join(empty, "postern");
  mkdirSync(empty);
  renameSync(join(dist, names[0] ?? ""), file);
  const alone = { cwd: empty, env: {} };
  const command = [...run, file];
  const [program = "", ...args] = command;
  await using server = await startInstalled(spawn(program, [...args, "serve", "--secure-port", "0"], alone));
  expect(server.output().split("\n")[0]).toMatch(/^Postern is ready at https:/);
  await takeTour({ url: server.url, directory: empty, command });
  await server.stop();
  expect(server.output()).not.toContain("Warning");

  const printed = execFileSync(program, [...args, "version", "-o", "json"], { ...alone, encoding: "utf8" });
  const version = JSON.parse(printed);
  expect(version).toMatchObject({ node: "v24.21.0", commit: expect.stringMatching(/^([0-9a-f]{40})?$/) });
  expect(version.platform).toBe(`linux/${architecture}`);
  // A hundred megabytes of Node are nothing to look through for secrets.
  rmSync(file);
}

// It writes, copies and reads the hundred megabytes several times.
it("serves the tour from one file", () => serveTour({ architecture: ARCHITECTURE, run: [] }), 180_000);

const isEmulated = ARCHITECTURE !== "arm64" && everyCase && hasArm64();
(isEmulated ? byNight : byNight.skip)(
  "serves the tour from one file on arm64, in an emulator",
  () => serveTour({ architecture: "arm64", run: [EMULATOR, "-L", LIBRARIES] }),
  600_000,
);
