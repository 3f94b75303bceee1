import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { replaceBuild } from "./replace-build.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-build-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A build whose entry waits for a line, and then loads its chunk. */
const build = (version: string) => {
  const chunk = `chunk-${version}.mjs`;
  const entry = `process.stdout.write("begun\\n"); process.stdin.once("data", async () => {
    process.stdout.write((await import("./${chunk}")).version); process.exit(); });`;
  const files = Object.entries({ "main.mjs": entry, [chunk]: `export const version = "${version}";` });
  return files.map(([name, text]) => ({ name, contents: Buffer.from(text), mode: 0o755 }));
};
const place = (version: string) => replaceBuild(folder, build(version), "main.mjs");

it("lets a running command load the rest of itself", async () => {
  await place("a");
  const child = spawn(process.execPath, [join(folder, "main.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child.stdout, "data");
  await place("b");
  child.stdin.write("go on\n");
  await once(child, "close");
  expect(output).toBe("begun\na");
});

it("keeps the files of the build before and no older ones, also where nothing has changed", async () => {
  const chunks = async () => (await readdir(folder)).filter((name) => name.startsWith("chunk"));
  // From before there was a list.
  await writeFile(join(folder, "chunk-0.mjs"), "");
  await place("a");
  expect(await chunks()).toEqual(["chunk-a.mjs"]);
  await place("b");
  expect(await chunks()).toEqual(["chunk-a.mjs", "chunk-b.mjs"]);
  await place("c");
  await place("c");
  expect(await chunks()).toEqual(["chunk-c.mjs"]);
  expect(await readFile(join(folder, "main.mjs"), "utf8")).toContain("chunk-c.mjs");
  expect((await stat(join(folder, "main.mjs"))).mode & 0o111).toBe(0o111);
  expect((await readdir(folder)).filter((name) => name.endsWith(".partial"))).toEqual([]);
});
