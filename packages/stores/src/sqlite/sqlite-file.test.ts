// The SQLite store and its file: one process at a time, no damage to unknown files, clear errors when the disk is full.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreVersionError } from "../store-errors.ts";
import { openDatabase } from "./sqlite-driver.ts";
import { StoreCorruptError, StoreLockedError } from "./sqlite-errors.ts";
import { openSqliteStorage } from "./sqlite-storage.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  path = join(folder, "made", "store.db");
});
afterEach(() => rm(folder, { recursive: true }));

/** Another process that has the store open, and says so. */
async function startHolder() {
  const program = `
    import { openSqliteStorage } from ${JSON.stringify(new URL("../../dist/sqlite/sqlite-storage.js", import.meta.url).href)};
    const storage = await openSqliteStorage({ path: ${JSON.stringify(path)} });
    await storage.create("/held", Buffer.from("x"));
    console.log("open");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

async function fill(open: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    const error = await open().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) return error;
  }
}

describe("a write-ahead log without its database", () => {
  test.each(["is gone", "is empty"])("is refused if the database %s, and stays unchanged", async (state) => {
    const holder = await startHolder();
    holder.kill("SIGKILL");
    await once(holder, "exit");
    const log = await readFile(`${path}-wal`);
    expect(log.length).toBeGreaterThan(0);
    await cp(path, `${path}.kept`);
    if (state === "is gone") await rm(path);
    else await truncate(path);
    await expect(openSqliteStorage({ path })).rejects.toThrow(/-wal exists without .*restore the file/);
    await expect(openSqliteStorage({ path })).rejects.toBeInstanceOf(StoreCorruptError);
    expect(await readFile(`${path}-wal`)).toEqual(log);

    await cp(`${path}.kept`, path);
    await using storage = await openSqliteStorage({ path });
    expect(Buffer.from((await storage.get("/held"))?.value ?? []).toString()).toBe("x");
  });
});

describe("one process only", () => {
  test("a second open of the same file is refused with StoreLockedError, and disturbs nothing", async () => {
    await using storage = await openSqliteStorage({ path });
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(openSqliteStorage({ path })).rejects.toBeInstanceOf(StoreLockedError);
    }
    expect(await storage.create("/a", Buffer.from("x"))).toBe(2);
  });

  test("a file that another process has open is refused; once that process is killed it opens, complete", async () => {
    const holder = await startHolder();
    await expect(openSqliteStorage({ path })).rejects.toBeInstanceOf(StoreLockedError);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    await using storage = await openSqliteStorage({ path });
    expect((await storage.list("/")).entries.map((entry) => entry.key)).toEqual(["/held"]);
  });

  test("a closed store can be opened again at once", async () => {
    for (let round = 0; round < 3; round++) {
      await using storage = await openSqliteStorage({ path });
      expect(await storage.currentRevision()).toBe(1 + round);
      await storage.create(`/${round}`, Buffer.from("x"));
    }
  });
});

describe("the content of the file", () => {
  test("is readable by its owner alone", async () => {
    await using _storage = await openSqliteStorage({ path });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(`${path}-wal`)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "made"))).mode & 0o777).toBe(0o700);
  });

  test("is left alone when it is no database", async () => {
    path = join(folder, "notes.txt");
    await writeFile(path, "these are my notes, ".repeat(1_000));
    const before = await readFile(path);
    const error = await openSqliteStorage({ path }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreCorruptError);
    expect((error as Error).message).toContain(path);
    expect(await readFile(path)).toEqual(before);
  });

  test("is left alone when another program made it", async () => {
    path = join(folder, "other.db");
    const other = openDatabase(path);
    other.exec("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')");
    other.close();
    const before = await readFile(path);
    await expect(openSqliteStorage({ path })).rejects.toThrow(/database of another application/);
    expect(await readFile(path)).toEqual(before);
  });

  test("is left alone when a newer release wrote it", async () => {
    await (await openSqliteStorage({ path }))[Symbol.asyncDispose]();
    const newer = openDatabase(path);
    newer.exec("PRAGMA user_version = 4711");
    newer.close();
    await expect(openSqliteStorage({ path })).rejects.toBeInstanceOf(StoreVersionError);
  });

  test.each([
    ["cut short", async (file: string) => truncate(file, 3 * 4_096 + 17)],
    [
      "overwritten in the middle",
      async (file: string) => {
        const bytes = await readFile(file);
        bytes.fill(0xab, 4_096, 5 * 4_096);
        await writeFile(file, bytes);
      },
    ],
  ])("is reported as damaged with StoreCorruptError when it is %s, and left alone", async (_how, damage) => {
    const storage = await openSqliteStorage({ path });
    await Promise.all(Array.from({ length: 200 }, (_, index) => storage.create(`/${index}`, Buffer.alloc(500, "x"))));
    await storage[Symbol.asyncDispose]();
    await damage(path);
    const before = await readFile(path);
    await expect(openSqliteStorage({ path })).rejects.toBeInstanceOf(StoreCorruptError);
    expect(await readFile(path)).toEqual(before);
  });

  test("takes the log in while it is written: that stays small", async () => {
    await using storage = await openSqliteStorage({ path });
    const value = Buffer.alloc(10_000, "x");
    for (let batch = 0; batch < 60; batch++) {
      await Promise.all(Array.from({ length: 50 }, (_, at) => storage.create(`/${batch}/${at}`, value)));
    }
    expect((await stat(path)).size).toBeGreaterThan(24 << 20);
    expect((await stat(`${path}-wal`)).size).toBeLessThan(8 << 20);
  });

  test("cannot be had where the folder cannot be written", async () => {
    await writeFile(join(folder, "made"), "a file, not a folder");
    await expect(openSqliteStorage({ path })).rejects.toThrow(/ENOTDIR|EEXIST/);
    await chmod(folder, 0o700);
  });
});

describe("a full store", () => {
  const value = Buffer.alloc(10_000, "x");

  test("refuses growth with StorageFullError, and still reads and deletes", async () => {
    await using storage = await openSqliteStorage({ path, maxBytes: 1 << 20 });
    let written = 0;
    const error = await fill(async () => {
      await storage.create(`/${written}`, value);
      written++;
    });
    expect(error).toBeInstanceOf(StorageFullError);
    expect(written).toBeGreaterThan(50);
    const { entries, revision } = await storage.list("/");
    expect(entries).toHaveLength(written);
    await expect(storage.update("/0", value, entries[0]!.revision)).rejects.toBeInstanceOf(StorageFullError);
    expect(await storage.delete("/0", entries[0]!.revision)).toBe(revision + 1);
    expect(await storage.get("/0")).toBeUndefined();
  });

  test("takes writes again once deletions have been compacted, without a restart", async () => {
    await using storage = await openSqliteStorage({ path, maxBytes: 1 << 20 });
    let written = 0;
    await fill(async () => {
      await storage.create(`/${written}`, value);
      written++;
    });
    const { entries } = await storage.list("/");
    await Promise.all(entries.map((entry) => storage.delete(entry.key, entry.revision)));
    await storage.compact(await storage.currentRevision());
    let revision: number | undefined;
    while (revision === undefined) revision = await storage.create("/again", value).catch(() => undefined);
    expect((await storage.get("/again"))?.revision).toBe(revision);
  });
});
