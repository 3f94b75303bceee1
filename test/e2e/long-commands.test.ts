// Backup, restore, copy and rotation as scripts and people run them: JSON for the ones, a line that shows how far it is for the others.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ENTRY, NODE, postern, startPostern, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

const SQLITE = ["--store", "sqlite"];

it("prints results as JSON and nothing beside them, and shows on a terminal how far it is", async () => {
  await using directory = await temporaryDirectory();
  const file = (name: string): string => join(directory.path, name);
  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await postern(...args, "-o", "json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout);
  };
  {
    await using server = await startPostern(file("data"), SQLITE);
    const to = ["--kubeconfig", server.adminKubeconfig];
    const ring = await json("encryption-key", "rotate", ...to);
    expect(ring.keys[0]).toMatchObject({ isPrimary: true });
    expect(ring.reencryption).toMatchObject({ primary: ring.keys[0].id, left: 0 });
    expect(await json("encryption-key", "status", ...to)).toMatchObject({ serverKeys: ring.serverKeys });
    const out = [file("a.backup"), file("a.keys")];
    const backup = ["backup", ...to, "--out", out[0] ?? "", "--revocations-out", out[1] ?? ""];
    expect(await json(...backup)).toEqual({ files: out });
    await server.stop();
  }
  mkdirSync(file("restored"));
  cpSync(file("data/server.key"), file("restored/server.key"));
  const restore = [
    "restore",
    "--in",
    file("a.backup"),
    "--data-dir",
    file("restored"),
    "--revocations",
    file("a.keys"),
  ];
  const restored = await json(...restore);
  expect(restored).toEqual({
    entries: expect.any(Number),
    accessKeys: { kept: 1, disabled: 0, leftOut: 0 },
    leftOut: { accessRequests: 0, oneTimeValues: 0 },
    revocationsAsOf: expect.stringMatching(/^20/),
    needsPreviousServerKey: false,
  });
  const copied = await json(
    "store",
    "copy",
    "--from",
    `sqlite:${file("restored/postern.db")}`,
    "--to",
    `sqlite:${file("b.db")}`,
  );
  expect(copied).toEqual({ entries: restored.entries, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });

  // util-linux's `script` runs a command on a terminal of its own.
  if (spawnSync("script", ["--version"]).status !== 0) return;
  const command = [NODE, ENTRY, "backup", "--data-dir", file("restored"), "--out", file("c.backup")].join(" ");
  const shown = await succeed(tool("script", ["--quiet", "--return", "--command", command, "/dev/null"]));
  const lines = shown.split("\r\u001b[K");
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.at(-2)).toMatch(/^writing: \d+ of \d+ entries, \d+ %/);
  expect(lines.at(-1)).toMatch(/^\S+c\.backup written\r?\n$/);
  expect(existsSync(file("c.backup"))).toBe(true);
});
