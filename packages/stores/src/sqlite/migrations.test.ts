// A database of an earlier release, whatever happens on its way to this one.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StoreVersionError } from "../store-errors.ts";
import { openDatabase } from "./sqlite-driver.ts";
import { openSqliteStorage } from "./sqlite-storage.ts";

/** Written by the last release with schema 1: 30 entries, 10 of them changed, 5 deleted, compacted at 12. */
const SCHEMA_1 = fileURLToPath(new URL("testdata/schema-1.db", import.meta.url));

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  path = join(folder, "store.db");
  await copyFile(SCHEMA_1, path);
});
afterEach(() => rm(folder, { recursive: true }));

/** As it stands in the head of the file (https://www.sqlite.org/fileformat.html section 1.3): a driver would keep the file locked. */
const versionOf = async (file: string): Promise<number> => (await readFile(file)).readUInt32BE(60);

async function assertWhole(): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  const { entries, revision } = await storage.list("/");
  expect(revision).toBe(46);
  const expected = Array.from({ length: 25 }, (_, n) => [
    `/registry/a/${n}`,
    JSON.stringify(n < 10 ? { n, v: 2 } : { n }),
  ]);
  expect(new Map(entries.map(({ key, value }) => [key, Buffer.from(value).toString()]))).toEqual(
    new Map(expected as [string, string][]),
  );
  expect(await storage.create("/registry/a/next", Buffer.from("{}"))).toBe(47);
}

test("opens with all its data, and has the newest schema afterwards", async () => {
  expect(await versionOf(path)).toBe(1);
  await assertWhole();
  expect(await versionOf(path)).toBe(2);
});

test.each([
  ["the new table", "CREATE TABLE integrity"],
  ["the number of the version", "PRAGMA user_version"],
  ["the end of the transaction", "COMMIT"],
])("is the complete old one if the process is killed before %s exists", async (_, statement) => {
  const module = (name: string) => JSON.stringify(new URL(`../../dist/sqlite/${name}.js`, import.meta.url).href);
  // Dies in the middle of a migration: every statement of it goes through `exec`.
  const program = `
    import { openDatabase } from ${module("sqlite-driver")};
    import { migrate } from ${module("migrations")};
    const database = openDatabase(${JSON.stringify(path)});
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    migrate(${JSON.stringify(path)}, {
      prepare: (sql) => database.prepare(sql),
      close: () => database.close(),
      exec(sql) {
        if (sql.includes(${JSON.stringify(statement)})) process.kill(process.pid, "SIGKILL");
        database.exec(sql);
      },
    });
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  expect(await versionOf(path)).toBe(1);
  await assertWhole();
});

test("is refused when a newer release wrote it, and not changed", async () => {
  const newer = openDatabase(path);
  newer.exec("PRAGMA user_version = 3");
  newer.close();
  const before = await readFile(path);
  const error = await openSqliteStorage({ path }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreVersionError);
  expect((error as Error).message).toMatch(
    /schema version 3, this release knows up to 2: start the release that wrote it/,
  );
  expect(await readFile(path)).toEqual(before);
});
