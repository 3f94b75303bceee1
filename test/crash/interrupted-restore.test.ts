// A restore into a database file that stands still, is killed, has no room, or meets what another store has left: no server starts on
// less than all of it, nothing that is there is lost, and the same command brings it to its end.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterAll, beforeAll, expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { ENTRY, postern, startPostern, succeed, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { spawnBehind } from "./testing/spawn-behind.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const FILES = ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"];
const SQLITE = ["--store", "sqlite"];

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
const at = (...names: readonly string[]): string => join(directory.path, ...names);
let stays: string;
let revoked: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  await (await startPostern(at("origin"), SQLITE)).stop();
  {
    // So much that a restore can be stopped in the middle of it.
    await using storage = await openSqliteStorage({ path: at("origin", "postern.db") });
    for (let from = 0; from < 2_000; from += 500) {
      const keys = Array.from({ length: 500 }, (_, index) => `/ballast/${from + index}`);
      await Promise.all(keys.map((key) => storage.create(key, Buffer.alloc(16_000, key))));
    }
  }
  await using server = await startPostern(at("origin"), SQLITE);
  const [http, key] = [await httpClient(server), await adminKey(server)];
  const make = async (name: string): Promise<string> =>
    (await http(KEYS, { key, body: { metadata: { name }, spec: {} } })).body.spec.key;
  stays = await make("stays");
  revoked = await make("revoked");
  const { adminKubeconfig } = server;
  await succeed(postern("backup", "--kubeconfig", adminKubeconfig, "--out", at("backup")));
  expect((await http(`${KEYS}/revoked`, { key, method: "DELETE" })).status).toBe(200);
  await succeed(postern("backup", "--kubeconfig", adminKubeconfig, "--revocations-out", at("in-force")));
  await server.stop("SIGKILL");
});

afterAll(async () => await directory?.[Symbol.asyncDispose]());

async function newDataDir(name: string): Promise<string> {
  await mkdir(at(name));
  for (const file of FILES) await cp(at("origin", file), at(name, file));
  return at(name);
}

const restoreInto = (dataDir: string): readonly string[] => [
  "restore",
  "--in",
  at("backup"),
  "--data-dir",
  dataDir,
  "--revocations",
  at("in-force"),
];

async function refuses(outcome: ReturnType<typeof postern>, line: RegExp): Promise<void> {
  const { code, stderr } = await outcome;
  expect(stderr).toMatch(line);
  expect(stderr).toMatch(/^postern: [^\n]+\n$/);
  expect(stderr).not.toContain("unexpected failure");
  expect(code).toBe(1);
}

const serve = (dataDir: string) => postern("serve", "--data-dir", dataDir, "--secure-port", "0", ...SQLITE);

async function expectRestored(dataDir: string): Promise<void> {
  await using server = await startPostern(dataDir, SQLITE);
  const http = await httpClient(server);
  expect((await http("/apis", { key: stays })).status).toBe(200);
  expect((await http("/apis", { key: revoked })).status).toBe(401);
  expect((await http(`${KEYS}/stays`, { key: await adminKey(server) })).status).toBe(200);
  expect(await server.stop()).toBe(0);
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

it("is refused by servers and other restores, and continues after a kill", async () => {
  const dataDir = await newDataDir("killed");
  const child = spawnBehind(ENTRY, ...restoreInto(dataDir));
  const exited = once(child, "exit");
  await expect.poll(() => sizeOf(join(dataDir, "postern.db.partial")), { interval: 5 }).toBeGreaterThan(1 << 20);
  child.kill("SIGSTOP");
  expect(await readdir(dataDir)).not.toContain("postern.db");

  await refuses(postern(...restoreInto(dataDir)), /another restore or copy into .*postern\.db is in progress/);
  await refuses(serve(dataDir), /postern\.db does not exist yet: .*run the same postern restore/);
  child.kill("SIGKILL");
  expect(await exited).toEqual([null, "SIGKILL"]);
  await refuses(serve(dataDir), /was interrupted: run the same .* or delete .*postern\.db\.partial/);
  expect(await readFile(join(dataDir, "admin.kubeconfig"))).toEqual(await readFile(at("origin", "admin.kubeconfig")));

  const said = await succeed(postern(...restoreInto(dataDir)));
  expect(said).toMatch(/access keys: 2 kept, 0 disabled, 1 left out/);
  expect(said).toMatch(
    /keys and access that were revoked after 20\S+Z, the time of the --revocations list, are valid again/,
  );
  expect((await readdir(dataDir)).filter((name) => name.includes("partial"))).toEqual([]);
  await expectRestored(dataDir);
});

it("is refused beside the write-ahead log of another store, which would be taken for its newest state", async () => {
  const dataDir = await newDataDir("left");
  const log = join(dataDir, "postern.db-wal");
  await cp(at("origin", "postern.db-wal"), log);
  const before = await readFile(log);
  expect(before.length).toBeGreaterThan(0);
  await refuses(postern(...restoreInto(dataDir)), /postern\.db-wal exists without .*move it to the place/);
  await refuses(serve(dataDir), /postern\.db-wal exists without .*restore the file/);
  expect(await readFile(log)).toEqual(before);
  await rename(log, at("moved-wal"));
  await succeed(postern(...restoreInto(dataDir)));
  await expectRestored(dataDir);
});

it("reports a full disk, and leaves nothing behind", async ({ skip }) => {
  const dataDir = await newDataDir("full");
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", dataDir]);
  if (mount.status !== 0) return skip("a small disk can only be made by root");
  try {
    for (const file of FILES) await cp(at("origin", file), join(dataDir, file));
    await refuses(postern(...restoreInto(dataDir)), /the disk is full: free space in .*full and run the same command/);
    expect((await readdir(dataDir)).toSorted()).toEqual(FILES.toSorted());
    await refuses(
      postern("store", "copy", "--from", `sqlite:${at("origin", "postern.db")}`, "--to", `sqlite:${dataDir}/copy.db`),
      /the disk is full/,
    );
    await refuses(
      postern("backup", "--data-dir", at("origin"), "--out", join(dataDir, "backup")),
      /cannot write .*backup \(ENOSPC\)/,
    );
    expect((await readdir(dataDir)).toSorted()).toEqual(FILES.toSorted());
    spawnSync("mount", ["-o", "remount,size=400m", dataDir]);
    await succeed(postern(...restoreInto(dataDir)));
    await expectRestored(dataDir);
  } finally {
    spawnSync("umount", [dataDir]);
    await rm(dataDir, { recursive: true });
  }
});
