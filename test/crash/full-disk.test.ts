// The disk is full, really: what was acknowledged stays, what was not is refused, and writes go on by themselves once there is room.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { expect, test } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { startPostern } from "../e2e/testing/postern-process.ts";

const SIZE_MIB = 8;

test("SQLite on a full disk refuses with StorageFullError, loses nothing, and recovers without a restart", async ({
  skip,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "postern-full-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE_MIB}m`, "tmpfs", folder]);
  if (mount.status !== 0) {
    await rm(folder, { recursive: true });
    return skip("a small disk can only be made by root");
  }
  try {
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
  } finally {
    spawnSync("umount", [folder]);
    await rm(folder, { recursive: true });
  }
});

test("a server on a full disk answers writes with 507, goes on reading, and writes again once there is room", async ({
  skip,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "postern-full-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${2 * SIZE_MIB}m`, "tmpfs", folder]);
  if (mount.status !== 0) {
    await rm(folder, { recursive: true });
    return skip("a small disk can only be made by root");
  }
  try {
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
      await using server = await startPostern(dataDir);
      const [http, key] = [await httpClient(server), await adminKey(server)];
      await writeFile(ballast, Buffer.alloc(SIZE_MIB << 20));
      let refused = await http(path, { key });
      for (let at = 0; refused.status < 400; at++) {
        refused = await http(path, { key, body: named(`s${at}`) });
        if (refused.status === 201) acknowledged.push(`s${at}`);
      }
      expect(refused.body).toMatchObject({ kind: "Status", code: 507, reason: "InsufficientStorage" });
      expect(refused.body.message).toMatch(/nothing was written/);
      expect((await http(`${path}/s0`, { key })).status).toBe(200);
      expect((await http(path, { key, body: named("more") })).status).toBe(507);
      await rm(ballast);
      expect((await http(path, { key, body: named("again") })).status).toBe(201);
      acknowledged.push("again");
      await server.stop("SIGKILL");
    }
    await using server = await startPostern(dataDir);
    const [http, key] = [await httpClient(server), await adminKey(server)];
    const names = (await http(path, { key })).body.items.map(({ metadata }: any) => metadata.name);
    expect(names.sort()).toEqual(acknowledged.sort());
  } finally {
    spawnSync("umount", [folder]);
    await rm(folder, { recursive: true });
  }
});
