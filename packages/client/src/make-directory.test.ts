import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makeDirectory } from "./make-directory.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-make-directory-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("makes all that is missing with the mode, and leaves what is there", async () => {
  const path = join(folder, "a/b/c");
  await makeDirectory(path, 0o700);
  for (const each of [path, join(folder, "a")]) expect((await stat(each)).mode & 0o777).toBe(0o700);
  await makeDirectory(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

it("fails below a file, and at a file", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  await expect(makeDirectory(file)).rejects.toThrow("EEXIST");
  await expect(makeDirectory(join(file, "a/b"))).rejects.toThrow("ENOTDIR");
});

// The recursion of `mkdir` does not end there.
it.runIf(process.platform === "linux")("fails where a parent is there and nothing can be made in it", async () => {
  await expect(makeDirectory("/proc/postern/a")).rejects.toThrow(/ENOENT|EACCES/);
});
