import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { RecordingError } from "./recording-file.ts";
import { openRecordingsDirectory, type RecordingLimits, RecordingsFullError } from "./recordings-directory.ts";

const KEY = Buffer.alloc(32, 7);
const { clock, random } = systemRuntime;
const SECRET = "the secret that the terminal showed";

async function openDirectory(limits: Partial<RecordingLimits> = {}, key = KEY, at?: string) {
  const parent = at ?? (await mkdtemp(join(tmpdir(), "postern-recordings-")));
  if (at === undefined) onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const path = join(parent, "recordings");
  const all = { totalBytes: 1 << 20, maxAgeMs: 0, ...limits };
  return { parent, path, directory: await openRecordingsDirectory({ path, key, limits: all, clock, random }) };
}

type Directory = Awaited<ReturnType<typeof openDirectory>>["directory"];

async function record(directory: Directory, auditId: string, texts: readonly string[]) {
  const recording = await directory.create(auditId, { user: "alice" });
  for (const text of texts) await recording.writer.write(text);
  const sha256 = await recording.writer.finish();
  await recording.complete();
  return { name: recording.name, sha256 };
}

async function textOf(directory: Directory, name: string): Promise<string> {
  const found = await directory.find(name);
  if (found === undefined) throw new Error("no such recording");
  const parts: Uint8Array[] = [];
  for await (const part of directory.read(found)) parts.push(part);
  return Buffer.concat(parts).toString();
}

const all = async (directory: Directory) => {
  const found = [];
  for await (const each of directory.list()) found.push(each);
  return found;
};

describe("a directory of recordings", () => {
  it("is for its owner alone, as are the files, and the files show nothing of what they hold", async () => {
    const { path, directory } = await openDirectory();
    const { name, sha256 } = await record(directory, "audit-1", [SECRET, "more\n"]);
    const file = join(path, `${name}.cast`);
    expect([(await stat(path)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
    const bytes = await readFile(file);
    expect(bytes.includes(SECRET) || bytes.includes("alice")).toBe(false);
    const { createHash } = await import("node:crypto");
    expect(sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(await textOf(directory, name)).toBe(`${SECRET}more\n`);
  });

  it("lists the newest first, with what each is of, and is empty for another key", async () => {
    const { parent, directory } = await openDirectory();
    const first = await record(directory, "a", ["1"]);
    await expect
      .poll(async () => (await record(directory, "b", ["2"])).name.slice(0, 16))
      .not.toBe(first.name.slice(0, 16));
    const found = await all(directory);
    expect(found.at(-1)).toMatchObject({ name: first.name, isComplete: true, about: { user: "alice" } });
    expect((found[0]?.name ?? "") > first.name).toBe(true);
    const other = await openDirectory({}, Buffer.alloc(32, 8), parent);
    expect(await all(other.directory)).toEqual([]);
    expect(await other.directory.find(first.name)).toBeUndefined();
  });

  it("keeps two sessions with the same audit ID apart", async () => {
    const { path, directory } = await openDirectory();
    const names = new Set([
      (await record(directory, "same", ["1"])).name,
      (await record(directory, "same", ["2"])).name,
    ]);
    expect([names.size, (await readdir(path)).length]).toEqual([2, 2]);
  });

  it("finds no other files", async () => {
    const { parent, directory } = await openDirectory();
    await writeFile(join(parent, "other.cast"), "x");
    for (const name of ["../other", "..", "", "20261130T000000Z-../../x-00000000", "other"])
      expect(await directory.find(name)).toBeUndefined();
  });

  it("reads a file that was cut off anywhere as far as its last whole chunk", async () => {
    const { path, directory } = await openDirectory();
    const recording = await directory.create("killed", { user: "alice" });
    await recording.writer.write("first\n");
    const whole = recording.writer.size;
    await recording.writer.write("second\n");
    await recording.writer.close();
    const file = join(path, `${recording.name}.cast.part`);
    expect(await directory.find(recording.name)).toMatchObject({ isComplete: false });
    expect(await textOf(directory, recording.name)).toBe("first\nsecond\n");
    for (let size = recording.writer.size - 1; size > whole; size--) {
      await truncate(file, size);
      expect(await textOf(directory, recording.name)).toBe("first\n");
    }
  });

  it.each(["salt", "chunk"])("breaks off where a byte of the %s was changed", async (where) => {
    const { path, directory } = await openDirectory();
    const { name } = await record(directory, "changed", ["first\n", "second\n"]);
    const file = join(path, `${name}.cast`);
    const found = await directory.find(name);
    const bytes = await readFile(file);
    const at = where === "salt" ? 25 : bytes.length - 40;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(file, bytes);
    const reading = async () => {
      for await (const part of directory.read(found ?? expect.unreachable())) expect(part.length).toBeGreaterThan(0);
    };
    await expect(reading()).rejects.toThrow(RecordingError);
  });

  it("takes no further recording when it is full", async () => {
    const { directory } = await openDirectory({ totalBytes: 10 });
    // Measured when the first one began.
    await record(directory, "1", ["x".repeat(100)]);
    const { directory: again } = await openDirectory({ totalBytes: 10 }, KEY);
    await record(again, "2", ["y"]);
    const full = await openDirectory({ totalBytes: 1 << 20 });
    await record(full.directory, "3", ["z"]);
    const { directory: late } = await openDirectory({ totalBytes: 10 }, KEY, full.parent);
    await expect(late.create("4", {})).rejects.toThrow(RecordingsFullError);
  });

  it("deletes what is older than its limit, and nothing else", async () => {
    const { path, directory } = await openDirectory({ maxAgeMs: 3_600_000 });
    const old = await record(directory, "old", ["x"]);
    const young = await record(directory, "young", ["x"]);
    await writeFile(join(path, "note.txt"), "kept");
    const hoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(join(path, `${old.name}.cast`), hoursAgo, hoursAgo);
    await utimes(join(path, "note.txt"), hoursAgo, hoursAgo);
    await directory.expire();
    expect((await readdir(path)).sort()).toEqual([`${young.name}.cast`, "note.txt"].sort());
  });
});
