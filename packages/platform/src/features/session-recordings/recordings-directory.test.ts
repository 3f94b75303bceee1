import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { RecordingError, RecordingsFullError } from "./recording-file.ts";
import {
  type OpenRecording,
  openRecordingsDirectory,
  type RecordingLimits,
  type RecordingRange,
} from "./recordings-directory.ts";

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

const OWNER = { project: "project:shop", user: "alice" };

const newRecording = (auditId: string, owner = OWNER, startedAt = Date.now()) => ({
  auditId,
  startedAt,
  about: { user: "alice", startTime: new Date(startedAt).toISOString() },
  owner,
});

async function record(directory: Directory, auditId: string, texts: readonly string[], owner = OWNER) {
  const recording = await directory.create(newRecording(auditId, owner));
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

async function all(directory: Directory, range: RecordingRange = {}, count = 100) {
  const found = await Promise.all((await directory.newest(range, count)).map(directory.describe));
  return found.filter((each) => each !== undefined);
}

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
    for (const auditId of ["z", "a", "m"]) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await record(directory, auditId, ["2"]);
    }
    const found = await all(directory);
    expect(found.at(-1)).toMatchObject({ name: first.name, state: "Complete", about: { user: "alice" } });
    expect(found.map(({ name }) => name.split("-")[1])).toEqual(["m", "a", "z", first.name.split("-")[1]]);
    const other = await openDirectory({}, Buffer.alloc(32, 8), parent);
    expect(await all(other.directory)).toEqual([]);
    expect(await other.directory.find(first.name)).toBeUndefined();
  });

  it("lists those of a time, of a project, and before another, by their names", async () => {
    const { directory } = await openDirectory();
    const names = new Map<string, string>();
    for (const [auditId, at, project] of [
      ["a", "2026-11-30T08:00:00.000Z", "project:shop"],
      ["b", "2026-11-30T08:00:00.001Z", "project:bank"],
      ["c", "2026-11-30T09:00:00.000Z", "project:shop"],
    ] as const) {
      const recording = await directory.create(newRecording(auditId, { ...OWNER, project }, Date.parse(at)));
      await recording.writer.close();
      names.set(recording.name, auditId);
    }
    const listed = async (range: RecordingRange, count = 10) =>
      (await directory.newest(range, count)).map(({ name }) => names.get(name)).join("");
    const middle = Date.parse("2026-11-30T08:00:00.001Z");
    const nameOf = (wanted: string) => [...names].find(([, auditId]) => auditId === wanted)?.[0];
    expect(await listed({})).toBe("cba");
    expect(await listed({}, 1)).toBe("c");
    expect(await listed({ since: middle })).toBe("cb");
    expect(await listed({ until: middle })).toBe("a");
    expect(await listed({ until: Number.MAX_SAFE_INTEGER })).toBe("cba");
    expect(await listed({ project: "project:shop" })).toBe("ca");
    expect(await listed({ before: nameOf("c") })).toBe("ba");
    expect(await listed({ before: nameOf("c"), project: "project:shop" })).toBe("a");
  });

  it("lists each once that changes its name meanwhile", async () => {
    const { directory, path } = await openDirectory();
    const { name } = await record(directory, "a", ["1"]);
    const [file] = await directory.newest({}, 10);
    await writeFile(join(path, `${name}.cast.part`), "");
    expect(await directory.newest({}, 10)).toHaveLength(1);
    await rm(join(path, `${name}.cast.part`));
    const asItWas = { name, file: `${name}.cast.part`, isComplete: false };
    expect(file).toMatchObject({ isComplete: true });
    expect(await directory.describe(asItWas)).toMatchObject({ name, state: "Complete" });
  });

  it("says of a recording that its server left, at its end, that it broke off", async () => {
    const { path, directory } = await openDirectory();
    const startedAt = Date.now() - 7_200_000;
    const recording = await directory.create(newRecording("left", OWNER, startedAt));
    await recording.writer.write('{"version":2}\n');
    await recording.writer.close();
    expect(await directory.find(recording.name)).toMatchObject({ state: "Open" });
    expect(await textOf(directory, recording.name)).toBe('{"version":2}\n');
    const writtenAt = new Date(startedAt + 60_000);
    await utimes(join(path, `${recording.name}.cast.part`), writtenAt, writtenAt);
    expect(await directory.find(recording.name)).toMatchObject({ state: "Interrupted" });
    expect(await textOf(directory, recording.name)).toBe(
      '{"version":2}\n[60,"m","recording broke off: the server, or its thread, was ended"]\n',
    );
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
    for (const name of ["../other", "..", "", "20261130T000000000Z-../../x-000000000000000000000000", "other"])
      expect(await directory.find(name)).toBeUndefined();
  });

  it("reads a file that was cut off anywhere as far as its last whole chunk", async () => {
    const { path, directory } = await openDirectory();
    const recording = await directory.create(newRecording("killed"));
    await recording.writer.write("first\n");
    const whole = recording.writer.size;
    await recording.writer.write("second\n");
    await recording.writer.close();
    const file = join(path, `${recording.name}.cast.part`);
    // With the hole of its reservation.
    expect((await stat(file)).size).toBeGreaterThan(recording.writer.size);
    expect(await textOf(directory, recording.name)).toBe("first\nsecond\n");
    await truncate(file, recording.writer.size);
    expect(await directory.find(recording.name)).toMatchObject({ state: "Open" });
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

  const TOTAL = 4 << 20;
  /** Without files that are renamed or removed meanwhile. */
  const sizeOf = async (path: string): Promise<number> => {
    const found = await Promise.allSettled((await readdir(path)).map((file) => stat(join(path, file))));
    const sizes = found.map((each) => (each.status === "fulfilled" ? Math.max(each.value.size, 16 << 10) : 0));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  /** As much as there is room for. */
  async function fill(directory: Directory, owner = OWNER) {
    const opened: OpenRecording[] = [];
    try {
      for (;;) opened.push(await directory.create(newRecording("fill", owner)));
    } catch (error) {
      expect(error).toBeInstanceOf(RecordingsFullError);
    }
    return opened;
  }

  it("never has more than its limit, with open recordings of several threads that grow at once", async () => {
    const { parent, path, directory } = await openDirectory({ totalBytes: TOTAL });
    const threads = [directory, (await openDirectory({ totalBytes: TOTAL }, KEY, parent)).directory];
    let refused = 0;
    let largest = 0;
    await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const owner = { project: `project:${index % 3}`, user: `user-${index % 4}` };
        const recording = await threads[index % 2]?.create(newRecording("grows", owner));
        if (recording === undefined) return;
        const text = "x".repeat(50_000);
        try {
          for (;;) {
            await recording.writer.reserve(text.length);
            largest = Math.max(largest, await sizeOf(path));
            await recording.writer.write(text);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(RecordingsFullError);
          refused++;
        }
        await recording.writer.finish();
        await recording.complete();
      }),
    );
    expect(refused).toBe(24);
    const used = await sizeOf(path);
    // Those that begin at once may refuse one another, and then leave room.
    expect(used).toBeGreaterThan(TOTAL / 2);
    expect(used).toBeLessThanOrEqual(TOTAL);
    // A refused reservation is visible until it is withdrawn.
    expect(largest).toBeLessThanOrEqual(TOTAL + 24 * (80 << 10));
  });

  it("leaves room for other users of a project, and for other projects, whatever one of them takes", async () => {
    const { path, directory } = await openDirectory({ totalBytes: TOTAL });
    const greedy = await fill(directory);
    const ofUser = await sizeOf(path);
    const colleague = await fill(directory, { project: OWNER.project, user: "bob" });
    const ofProject = await sizeOf(path);
    const other = await fill(directory, { project: "project:other", user: "alice" });
    const further = await fill(directory, { project: "cluster:c", user: "carol" });
    // 16/25 and 4/5 of the limit, to a file.
    expect(ofUser / TOTAL).toBeCloseTo(0.64, 1);
    expect(ofProject / TOTAL).toBeLessThanOrEqual(0.8);
    for (const opened of [colleague, other, further]) expect(opened.length).toBeGreaterThan(3);
    expect(await sizeOf(path)).toBeLessThanOrEqual(TOTAL);
    expect(greedy.length).toBeGreaterThan(colleague.length);
    // Room that is given back is there at once.
    for (const recording of greedy) await recording.discard();
    await (await directory.create(newRecording("again"))).discard();
  });

  it("leaves no file of a recording that has no room", async () => {
    const { path, directory } = await openDirectory({ totalBytes: 1 << 20 });
    await fill(directory);
    const before = (await readdir(path)).length;
    await expect(directory.create(newRecording("more"))).rejects.toThrow(RecordingsFullError);
    expect((await readdir(path)).length).toBe(before);
  });

  it("takes what was reserved as free once the server that had reserved it is long gone", async () => {
    const { path, directory } = await openDirectory({ totalBytes: TOTAL });
    const left = await directory.create(newRecording("left"));
    await left.writer.reserve(1 << 20);
    const other = await openRecordingsDirectory({
      path,
      key: KEY,
      limits: { totalBytes: TOTAL, maxAgeMs: 0 },
      clock,
      random,
    });
    await other.tend();
    expect(other.usedBytes).toBeGreaterThan(1 << 20);
    const file = join(path, `${left.name}.cast.part`);
    const hoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(file, hoursAgo, hoursAgo);
    await other.tend();
    expect(other.usedBytes).toBeLessThan(100_000);
    // The server that has it open is still there.
    await directory.tend();
    await other.tend();
    expect(other.usedBytes).toBeGreaterThan(1 << 20);
    await left.writer.finish();
    expect((await stat(file)).size).toBe(left.writer.size);
  });

  it("does not delete the recording of a session that goes on and shows nothing", async () => {
    const { path, directory } = await openDirectory({ maxAgeMs: 3_600_000 });
    const idle = await directory.create(newRecording("idle"));
    const file = join(path, `${idle.name}.cast.part`);
    const hoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(file, hoursAgo, hoursAgo);
    await directory.tend();
    await idle.writer.write("still here\n");
    await idle.writer.finish();
    await idle.complete();
    expect(await textOf(directory, idle.name)).toBe("still here\n");
  });

  it("deletes what is older than its limit, and nothing else", async () => {
    const { parent, path, directory } = await openDirectory({ maxAgeMs: 3_600_000 });
    const old = await record(directory, "old", ["x"]);
    const young = await record(directory, "young", ["x"]);
    await writeFile(join(path, "note.txt"), "kept");
    const hoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(join(path, `${old.name}.cast`), hoursAgo, hoursAgo);
    await utimes(join(path, "note.txt"), hoursAgo, hoursAgo);
    await (await openDirectory({ maxAgeMs: 3_600_000 }, KEY, parent)).directory.tend();
    expect((await readdir(path)).sort()).toEqual([`${young.name}.cast`, "note.txt"].sort());
  });
});
