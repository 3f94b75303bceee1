// Between a real database file and a real etcd, with a server on either end.

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { http1 } from "@postern/apiserver/transport/testing/test-clients";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfiguration } from "../foundation/config/configuration.ts";
import { startServer } from "../main.ts";
import { copyStore } from "./copy-store.ts";
import { summarizeStore } from "./read-store.ts";
import { backupStore, copyBetween, restoreStore } from "./store-commands.ts";

const { signal } = new AbortController();

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "postern-copy-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const configure = (dataDir: string, store: string, flags: { readonly [flag: string]: string } = {}) =>
  loadConfiguration({
    flags: new Map(
      Object.entries({
        ...flags,
        "data-dir": dataDir,
        store,
        "secure-port": "0",
        "log-level": "silent",
        "shutdown-drain-seconds": "0",
      }),
    ),
    workingDirectory: root,
  });

/** Starts a server on the store and gives what it answers to a key. */
async function statusFor(key: string, configuration: Awaited<ReturnType<typeof configure>>): Promise<number> {
  const server = await startServer(configuration);
  try {
    const { status } = await http1({
      port: Number(new URL(server.url).port),
      path: "/apis/management.postern/v1/selves",
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: "{}",
    });
    return status;
  } finally {
    await server.close();
  }
}

describe("a copy of a store", () => {
  it("has the same entries, and is restored only into an empty store", async () => {
    const from = createMemoryStorage();
    for (let index = 0; index < 1_001; index++) await from.create(`/k/${index}`, Buffer.from(`${index}`));
    const to = createMemoryStorage();
    expect(await copyStore(from, to, signal)).toEqual(await summarizeStore(to, signal));
    await expect(copyStore(from, to, signal)).rejects.toThrow(/not empty/);
  });

  it("is refused when it does not end up with the same", async () => {
    const from = createMemoryStorage();
    await from.create("/k", Buffer.from("value"));
    const to = createMemoryStorage();
    const careless = {
      ...to,
      get: to.get.bind(to),
      list: to.list.bind(to),
      create: (key: string) => to.create(key, Buffer.from("other")),
    };
    await expect(copyStore(from, careless as typeof to, signal)).rejects.toThrow(/the copy differs/);
  });

  it.skipIf(whyNoEtcd() !== undefined)("moves a server to etcd and back, and backups go either way", async () => {
    await using etcd = await startEtcd();
    const address = `etcd://${etcd.endpoints.map((endpoint) => endpoint.replace(/^https?:\/\//, "")).join(",")}`;
    const dataDir = join(root, "data");
    const sqlite = await configure(dataDir, "sqlite");
    const first = await startServer(sqlite);
    const key = /token: (\S+)/.exec(await readFile(first.adminKubeconfigPath, "utf8"))?.[1] ?? "";
    await first.close();

    const inEtcd = await configure(dataDir, address);
    const copied = await copyBetween(sqlite, inEtcd, signal);
    expect(copied.entries).toBeGreaterThan(10);
    await expect(copyBetween(sqlite, inEtcd, signal)).rejects.toThrow(/not empty/);
    const back = await configure(dataDir, "sqlite:back.db");
    expect(await copyBetween(inEtcd, back, signal)).toEqual(copied);
    await expect(copyBetween(inEtcd, back, signal)).rejects.toThrow(/already exists/);
    expect(await statusFor(key, back)).toBe(201);

    // As if an earlier release had written it, for whom a mark would be one of a newer one.
    await using written = await openEtcdStorage({ endpoints: etcd.endpoints });
    const { connection, keys } = written;
    const mark = { key: keys.schema };
    const remove = { compare: [], success: [{ request_delete_range: mark }] };
    await connection.call(connection.methods.txn, remove, { repeatable: true });
    await copyBetween(inEtcd, await configure(dataDir, "sqlite:again.db"), signal);
    await backupStore(inEtcd, { out: join(root, "unmarked") }, signal);
    expect((await connection.call(connection.methods.range, mark, { repeatable: true })).kvs ?? []).toEqual([]);

    const server = await startServer(inEtcd);
    const out = join(root, "of-etcd");
    await backupStore(inEtcd, { out, revocationsOut: join(root, "in-force") }, signal);
    await server.close();
    const restoredDir = join(root, "restored");
    await cp(join(dataDir, "server.key"), join(restoredDir, "server.key"));
    const restored = await configure(restoredDir, "sqlite");
    const choice = { type: "revocations", file: join(root, "in-force") } as const;
    // Found out before anything is written: in etcd it would stay there.
    const damaged = join(root, "damaged");
    await writeFile(damaged, (await readFile(out)).subarray(0, -1));
    const elsewhere = await configure(restoredDir, address, { "etcd-prefix": "/elsewhere" });
    await expect(restoreStore({ configuration: elsewhere, file: damaged, choice })).rejects.toThrow(/incomplete/);
    await using place = await openEtcdStorage({ endpoints: etcd.endpoints, prefix: "/elsewhere" });
    expect((await place.list("")).entries).toEqual([]);
    const report = await restoreStore({ configuration: restored, file: out, choice });
    expect(report.keys).toEqual({ kept: 1, disabled: 0, "left out": 0 });
    expect(await statusFor(key, restored)).toBe(201);
    await expect(restoreStore({ configuration: inEtcd, file: out, choice })).rejects.toThrow(/not empty/);
  });
});
