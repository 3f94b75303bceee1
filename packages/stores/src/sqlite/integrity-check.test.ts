// Large files are checked while they serve. Here every file is a large one.

import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "./sqlite-driver.ts";
import { StoreCorruptError } from "./sqlite-errors.ts";
import { openSqliteStorage, type SqliteStorage } from "./sqlite-storage.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-integrity-"));
  path = join(folder, "store.db");
});
afterEach(() => rm(folder, { recursive: true }));

async function fill(): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  await Promise.all(Array.from({ length: 500 }, (_, at) => storage.create(`/k/${at}`, Buffer.alloc(900, "x"))));
}

/** Opens the file as one that is too large to be checked before, and waits for what the check says. */
async function checked(): Promise<{ readonly storage: SqliteStorage; readonly fault: string | undefined }> {
  let tell = (_: string | undefined) => {};
  const told = new Promise<string | undefined>((resolve) => {
    tell = resolve;
  });
  const storage = await openSqliteStorage({ path, maxQuickCheckBytes: 0, onChecked: tell });
  return { storage, fault: await told };
}

test("a file that is whole is found to be, while others write to it", async () => {
  await fill();
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  let fault: string | undefined;
  await using storage = await openSqliteStorage({
    path,
    maxQuickCheckBytes: 0,
    onChecked(found) {
      fault = found;
      tell();
    },
  });
  let over = false;
  void told.then(() => {
    over = true;
  });
  for (let at = 0; !over; at++) {
    const revision = await storage.create(`/w/${at}`, Buffer.alloc(100));
    if (at % 3 === 0) await storage.delete(`/w/${at}`, revision);
    if (at % 50 === 0) await storage.compact(revision);
  }
  expect(fault).toBeUndefined();
  await storage.health.check();
});

test("a result is valid for a day: the next start skips the check", async () => {
  await fill();
  await (await checked()).storage[Symbol.asyncDispose]();
  let asked = false;
  const storage = await openSqliteStorage({ path, maxQuickCheckBytes: 0, onChecked: () => (asked = true) });
  for (let at = 0; at < 20; at++) await storage.create(`/n/${at}`, Buffer.alloc(1));
  await storage[Symbol.asyncDispose]();
  expect(asked).toBe(false);
  const database = openDatabase(path);
  const row = database.prepare("SELECT checked_at, fault FROM integrity").get();
  database.close();
  expect(row?.["fault"]).toBe("");
  expect(Number(row?.["checked_at"])).toBeGreaterThan(Date.now() - 60_000);
});

test("damage that a start does not notice is found, reported, and prevents the next start", async () => {
  await fill();
  const size = (await readFile(path)).length;
  const file = await open(path, "r+");
  // A page in the second half: neither the schema nor where new rows go.
  const page = Math.floor((size / 4_096) * 0.6);
  await file.write(Buffer.alloc(4_096, 0xab), 0, 4_096, page * 4_096);
  await file.close();

  const { storage, fault } = await checked();
  expect(fault).toMatch(/is damaged .*: stop the server, keep a copy of the file, and restore a backup/);
  await expect(storage.health.check()).rejects.toBeInstanceOf(StoreCorruptError);
  await storage[Symbol.asyncDispose]();
  await expect(openSqliteStorage({ path, maxQuickCheckBytes: 0 })).rejects.toBeInstanceOf(StoreCorruptError);
});

test("an index entry without its row is found", async () => {
  await fill();
  const before = await readFile(path);
  const database = openDatabase(path);
  database.exec("DELETE FROM revisions WHERE revision = 250");
  database.close();
  const mixed = await readFile(path);
  // The pages of the index as they were, those of the table as they are (https://www.sqlite.org/fileformat.html section 1.6).
  for (let at = 4_096; at < mixed.length; at += 4_096) {
    if (INDEX_PAGES.has(mixed[at] ?? 0)) before.copy(mixed, at, at, at + 4_096);
  }
  await writeFile(path, mixed);
  const { storage, fault } = await checked();
  await storage[Symbol.asyncDispose]();
  expect(fault).toMatch(/leads to revision 250, which is not there/);
});

const INDEX_PAGES: ReadonlySet<number> = new Set([0x02, 0x0a]);
