// The systemd unit: systemd's own verdict on it, and the system calls that a server really makes. systemd-machine.test.ts runs it.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  ENTRY,
  NODE,
  REPOSITORY,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { takeTour } from "./testing/tour.ts";

const UNIT = join(REPOSITORY, "deploy/systemd/postern.service");

it("passes systemd-analyze, with an exposure below 2.0", async () => {
  await using directory = await temporaryDirectory();
  const unit = join(directory.path, "postern.service");
  // The command has to be there, and here it is not installed.
  await writeFile(unit, readFileSync(UNIT, "utf8").replace("/usr/local/bin/postern", "/usr/bin/env"));
  expect(await tool("systemd-analyze", ["verify", unit])).toEqual({ code: 0, stdout: "", stderr: "" });
  // The threshold counts tenths.
  await succeed(tool("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit]));
});

it("allows every system call that a server makes", async () => {
  const filters = [...readFileSync(UNIT, "utf8").matchAll(/^SystemCallFilter=(~?)(.+)$/gm)];
  const allowed = new Set<string>();
  for (const [, not, groups = ""] of filters)
    for (const group of groups.split(" "))
      for (const call of callsOf(group)) not === "~" ? allowed.delete(call) : allowed.add(call);
  expect(allowed.has("openat")).toBe(true);
  expect(allowed.has("sched_setscheduler")).toBe(false);

  await using directory = await temporaryDirectory();
  const trace = join(directory.path, "trace");
  const data = join(directory.path, "data");
  // The server itself is the child process, so that it gets the signals. All but the allowed ones are traced, and execve to show that the trace works. The question mark passes names of other architectures.
  const filter = [...allowed].filter((call) => call !== "execve").map((call) => `?${call}`);
  const strace = [
    "strace",
    "--daemonize",
    "--follow-forks",
    "--seccomp-bpf",
    "--signal=none",
    `--trace=!${filter.join(",")}`,
  ];
  {
    await using server = await startPostern(data, [], { run: [...strace, "--output", trace] });
    await takeTour({ url: server.url, directory: directory.path, command: [NODE, ENTRY] });
    await server.stop();
  }
  const traced = (await readFile(trace, "utf8")).split("\n").flatMap((line) => /^\d+ +(\w+)\(/.exec(line)?.[1] ?? []);
  // SQLite gives new files to the owner of the database where it runs as root, as in this test.
  expect([...new Set(traced)].filter((call) => call !== "fchown")).toEqual(["execve"]);
});

/** The calls of a group, and of those inside of it. */
function callsOf(group: string): readonly string[] {
  if (!group.startsWith("@")) return [group];
  const printed = execFileSync("systemd-analyze", ["syscall-filter", group], { encoding: "utf8" });
  return printed.split("\n").flatMap((line) => callsIn(/^ {4}([@\w-]+)$/.exec(line)?.[1]));
}

const callsIn = (name: string | undefined): readonly string[] => (name === undefined ? [] : callsOf(name));
