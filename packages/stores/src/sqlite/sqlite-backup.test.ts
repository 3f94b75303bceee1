// A backup taken while the store serves: the state of one moment, in a file that is itself a store.

import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ListResult, Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSqliteStorage, type SqliteStorage } from "./sqlite-storage.ts";

let folder: string;
let storage: SqliteStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-backup-"));
  storage = await openSqliteStorage({ path: join(folder, "store.db") });
});
afterEach(async () => {
  await storage[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const backup = () => join(folder, "backup.db");
/** Texts are compared in a hundredth of the time that arrays of bytes take. */
const legible = ({ entries, ...rest }: ListResult) => ({
  ...rest,
  entries: entries.map(({ value, ...entry }) => ({ ...entry, value: Buffer.from(value).toString("latin1") })),
});

test("a backup of an empty store is an empty store", async () => {
  expect(await storage.backupTo(backup())).toBe(1);
  await using copy = await openSqliteStorage({ path: backup() });
  expect(await copy.list("/")).toEqual({ entries: [], revision: 1, remaining: 0 });
});

test("a backup holds exactly the state of its revision, whatever is written meanwhile, and accepts writes after it", async () => {
  const value = Buffer.alloc(4_000, "x");
  const revisions: Revision[] = await Promise.all(
    Array.from({ length: 500 }, (_, index) => storage.create(`/${index}`, value)),
  );
  await storage.delete("/7", revisions[7]!);
  const copying = storage.backupTo(backup());
  const writes = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      index === 7
        ? storage.create("/new", value)
        : storage.update(`/${index}`, Buffer.from("later"), revisions[index]!),
    ),
  );
  const revision = await copying;
  await using copy = await openSqliteStorage({ path: backup() });
  expect(await copy.currentRevision()).toBe(revision);
  expect(legible(await copy.list("/"))).toEqual(legible(await storage.list("/", { revision })));
  await expect(copy.list("/", { revision: revision - 1 })).rejects.toBeInstanceOf(RevisionCompactedError);
  expect(writes).toHaveLength(200);
  const [first] = (await copy.list("/", { limit: 1 })).entries;
  expect(await copy.update(first!.key, value, first!.revision)).toBe(revision + 1);
  expect(await copy.create("/7", value)).toBe(revision + 2);
});

test("a backup is readable by its owner alone, overwrites nothing, and leaves no part of itself behind", async () => {
  await storage.create("/a", Buffer.from("x"));
  await writeFile(`${backup()}.partial`, "from a run that was killed");
  await storage.backupTo(backup());
  expect((await stat(backup())).mode & 0o777).toBe(0o600);
  await expect(storage.backupTo(backup())).rejects.toMatchObject({ code: "EEXIST" });
  await expect(storage.backupTo(join(folder, "nowhere", "backup.db"))).rejects.toMatchObject({ code: "ENOENT" });
  expect((await readdir(folder)).filter((name) => name.startsWith("backup"))).toEqual(["backup.db"]);
});
