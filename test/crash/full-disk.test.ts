// The disk is full, really: what was acknowledged stays, what was not is refused, and writes go on by themselves once there is room.

import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { expect, test } from "vitest";
import { type Answer, adminKey, httpClient, insist } from "../e2e/testing/http-client.ts";
import { postern, startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "./testing/small-disk.ts";

const SIZE_MIB = 8;
const SQLITE = ["--store", "sqlite"];
const ENTRIES = 3_000;

test("SQLite on a full disk refuses with StorageFullError, loses nothing, and recovers without a restart", async ({
  skip,
}) => {
  await using directory = await temporaryDirectory();
  const folder = join(directory.path, "small");
  await mkdir(folder);
  using disk = mountSmallDisk(folder, SIZE_MIB << 20);
  if (disk === undefined) return skip(NO_SMALL_DISK);
  const ballast = join(folder, "ballast");
  await writeFile(ballast, Buffer.alloc((SIZE_MIB / 2) << 20));
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  const value = Buffer.alloc(10_000, "x");
  const acknowledged = new Map<string, number>();
  let failure: unknown;
  for (let index = 0; failure === undefined; index++) {
    await storage.create(`/${index}`, value).then(
      (revision) => acknowledged.set(`/${index}`, revision),
      (error: unknown) => {
        failure = error;
      },
    );
  }
  expect(failure).toBeInstanceOf(StorageFullError);
  const stored = async () => new Map((await storage.list("/")).entries.map(({ key, revision }) => [key, revision]));
  expect(await stored()).toEqual(acknowledged);
  await expect(storage.backupTo(join(folder, "backup.db"))).rejects.toBeInstanceOf(StorageFullError);
  await expect(storage.create("/more", value)).rejects.toBeInstanceOf(StorageFullError);

  await rm(ballast);
  acknowledged.set("/again", await storage.create("/again", value));
  expect(await stored()).toEqual(acknowledged);
});

test("a copy of a store onto a disk that is too small for it fails and leaves nothing; one that has worked is whole", async ({
  skip,
}) => {
  await using directory = await temporaryDirectory();
  const [source, folder] = [join(directory.path, "source.db"), join(directory.path, "small")];
  await mkdir(folder);
  {
    await using storage = await openSqliteStorage({ path: source });
    const value = Buffer.alloc(3_000, "x");
    await Promise.all(Array.from({ length: ENTRIES }, (_, at) => storage.create(`/registry/a/b/c/${at}`, value)));
  }
  const { size } = await stat(source);
  /** Whether it has worked. */
  const copyOnto = async (bytes: number): Promise<boolean> => {
    using disk = mountSmallDisk(folder, bytes);
    if (disk === undefined) return skip(NO_SMALL_DISK);
    const path = join(folder, "copy.db");
    const { code, stderr } = await postern("store", "copy", "--from", `sqlite:${source}`, "--to", `sqlite:${path}`);
    if (code !== 0) {
      expect(stderr).toMatch(/the disk is full: free space in/);
      expect(await readdir(folder)).toEqual([]);
      return false;
    }
    await using copy = await openSqliteStorage({ path });
    expect((await copy.list("/")).entries).toHaveLength(ENTRIES);
    return true;
  };
  // The smallest disk that it works on is the one on which the least is left for the end of it.
  let [tooSmall, large] = [size / 2, size + (4 << 20)];
  expect(await copyOnto(tooSmall)).toBe(false);
  expect(await copyOnto(large)).toBe(true);
  while (large - tooSmall > 256 << 10) {
    const middle = Math.floor((tooSmall + large) / 2);
    if (await copyOnto(middle)) large = middle;
    else tooSmall = middle;
  }
});

test("a server on a full disk answers writes with 507 and reads as usual, and writes again once there is space", async ({
  skip,
}) => {
  await using directory = await temporaryDirectory();
  const folder = join(directory.path, "small");
  await mkdir(folder);
  using disk = mountSmallDisk(folder, (2 * SIZE_MIB) << 20);
  if (disk === undefined) return skip(NO_SMALL_DISK);
  const ballast = join(folder, "ballast");
  const dataDir = join(folder, "data");
  const acknowledged: string[] = [];
  const path = "/api/v1/namespaces/default/secrets";
  const named = (name: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { text: "x".repeat(50_000) },
  });
  {
    await using server = await startPostern(dataDir, SQLITE);
    const [http, key] = [await httpClient(server), await adminKey(server)];
    // One that is sent again may have been done.
    const create = async (name: string): Promise<Answer> => {
      const answer = await insist(() => http(path, { key, body: named(name) }));
      if (answer.status === 201 || answer.status === 409) acknowledged.push(name);
      return answer;
    };
    await writeFile(ballast, Buffer.alloc(SIZE_MIB << 20));
    let refused = await http(path, { key });
    for (let at = 0; refused.status < 400 || refused.status === 409; at++) refused = await create(`s${at}`);
    expect(refused.body).toMatchObject({ kind: "Status", code: 507, reason: "InsufficientStorage" });
    expect(refused.body.message).toMatch(/nothing was written/);
    expect((await http(`${path}/s0`, { key })).status).toBe(200);
    expect((await create("more")).status).toBe(507);
    await rm(ballast);
    expect([201, 409]).toContain((await create("again")).status);
    await server.stop("SIGKILL");
  }
  // The file that the kill left beside the database has to be made anew, and there is no room for it.
  await Promise.all(["postern.db-shm"].map((name) => rm(join(dataDir, name), { force: true })));
  await writeFile(ballast, Buffer.alloc(2 * (SIZE_MIB << 20))).catch(() => {});
  await expect(startPostern(dataDir, SQLITE)).rejects.toThrow(/disk is full|free space/);
  await rm(ballast);
  await using server = await startPostern(dataDir, SQLITE);
  const [http, key] = [await httpClient(server), await adminKey(server)];
  const names = (await http(path, { key })).body.items.map(({ metadata }: any) => metadata.name);
  expect(names.sort()).toEqual(acknowledged.sort());
});
