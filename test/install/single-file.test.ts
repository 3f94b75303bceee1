// The single executable, in an empty directory, with nothing of Node or of the sources around it.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeChecksums, writeSingleFiles } from "../../tools/release/single-file.ts";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { startInstalled } from "./testing/installed-server.ts";
import { takeTour } from "./testing/tour.ts";

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "x64";

it("serves the tour from one file", async () => {
  await using directory = await temporaryDirectory();
  const dist = join(directory.path, "dist");
  const written = await writeSingleFiles([ARCHITECTURE], dist);
  const names = written.map((path) => path.slice(dist.length + 1));
  expect(names).toEqual([`postern-linux-${ARCHITECTURE}`, "postern-linux.cdx.json", "postern-linux.licenses.txt"]);
  writeChecksums(dist, names);
  execFileSync("sha256sum", ["--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: dist });
  const bom = JSON.parse(readFileSync(join(dist, "postern-linux.cdx.json"), "utf8"));
  expect(bom.components.map(({ name }: { name: string }) => name)).toContain("node");

  const empty = join(directory.path, "empty");
  const program = join(empty, "postern");
  mkdirSync(empty);
  renameSync(join(dist, names[0] ?? ""), program);
  const alone = { cwd: empty, env: {} };
  await using server = await startInstalled(spawn(program, ["serve", "--secure-port", "0"], alone));
  expect(server.output().split("\n")[0]).toMatch(/^Postern is ready at https:/);
  await takeTour({ url: server.url, directory: empty, command: [program] });
  await server.stop();
  expect(server.output()).not.toContain("Warning");

  const version = JSON.parse(execFileSync(program, ["version", "-o", "json"], { ...alone, encoding: "utf8" }));
  expect(version).toMatchObject({ node: "v24.21.0", commit: expect.stringMatching(/^([0-9a-f]{40})?$/) });
  // A hundred megabytes of Node are nothing to look through for secrets.
  rmSync(program);
  // It writes, copies and reads the hundred megabytes several times.
}, 180_000);
