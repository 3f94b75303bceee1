// The rest of an unfinished restore or copy into a real etcd: it is never taken for a store, and only the same restore or copy continues it.

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Configuration, loadConfiguration } from "../foundation/config/configuration.ts";
import { startServer } from "../main.ts";
import { backupStore, copyBetween, type KeyChoice, restoreStore } from "./store-commands.ts";

const { signal } = new AbortController();
/** More than etcd takes, and the last to come: everything else has been written by then. */
const LARGE_KEY = "/registry/zzz";
const TOO_LARGE = /\/registry\/zzz is too large for this store \(the value has 2097152 bytes, more than \d+\)/;
const ANOTHER = /part of another restore or copy, which was interrupted: run that command again/;
const UNFINISHED = /part of a restore or copy that was interrupted: run the same/;

describe.skipIf(whyNoEtcd() !== undefined)("a store whose filling was interrupted", () => {
  let root: string;
  let etcd: EtcdCluster;
  let sqlite: Configuration;
  const at = (name: string): string => join(root, name);

  const configure = (store: string, flags: { readonly [flag: string]: string } = {}): Promise<Configuration> =>
    loadConfiguration({
      flags: new Map(
        Object.entries({
          "data-dir": at("data"),
          "secure-port": "0",
          "log-level": "silent",
          "shutdown-drain-seconds": "0",
          ...flags,
          store,
        }),
      ),
      workingDirectory: root,
    });
  const inEtcd = (prefix: string) => configure(`etcd://${etcd.endpoints.join(",")}`, { "etcd-prefix": prefix });

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "postern-interrupted-"));
    etcd = await startEtcd();
    sqlite = await configure("sqlite");
    await (await startServer(sqlite)).close();
    await using storage = await openSqliteStorage({ path: at("data/postern.db") });
    await storage.create(LARGE_KEY, Buffer.alloc(2 << 20, "x"));
  });
  afterAll(async () => {
    await etcd?.[Symbol.asyncDispose]();
    await rm(root, { recursive: true });
  });

  it("is refused by servers, backups and other copies; the same copy continues", async () => {
    const target = await inEtcd("/copied");
    await expect(copyBetween(sqlite, target, signal)).rejects.toThrow(TOO_LARGE);
    const start = startServer(target);
    await expect(start).rejects.toThrow(UNFINISHED);
    await expect(backupStore(target, { out: at("of-half") }, signal)).rejects.toThrow(UNFINISHED);
    const onward = await configure("sqlite:onward.db");
    await expect(copyBetween(target, onward, signal)).rejects.toThrow(UNFINISHED);

    await cp(at("data/postern.db"), at("other.db"));
    await expect(copyBetween(await configure("sqlite:other.db"), target, signal)).rejects.toThrow(ANOTHER);
    await expect(copyBetween(sqlite, target, signal)).rejects.toThrow(TOO_LARGE);
    // As where the administrator has deleted what is too large.
    {
      await using storage = await openSqliteStorage({ path: at("data/postern.db") });
      const large = await storage.get(LARGE_KEY);
      await storage.delete(LARGE_KEY, large?.revision ?? 0);
    }
    const { entries } = await copyBetween(sqlite, target, signal);
    expect(entries).toBeGreaterThan(10);
    const server = await startServer(target);
    await server.close();
  });

  it("is refused by another restore, and by one with other flags for keys; the same restore continues", async () => {
    const other = await configure("sqlite:other.db");
    // Lists are newer than both backups.
    for (const name of ["backup", "later"]) await backupStore(other, { out: at(name) }, signal);
    for (const name of ["keys", "later-keys"]) await backupStore(other, { revocationsOut: at(name) }, signal);
    const target = await inEtcd("/restored");
    const restore = (file: string, choice: KeyChoice) =>
      restoreStore({ configuration: target, file: at(file), choice });
    const first: KeyChoice = { type: "revocations", file: at("keys") };
    await expect(restore("backup", first)).rejects.toThrow(TOO_LARGE);
    for (const choice of [
      { type: "keep" },
      { type: "disable" },
      { type: "revocations", file: at("later-keys") },
      { type: "newer-store", configuration: other },
    ] as const) {
      await expect(restore("backup", choice), choice.type).rejects.toThrow(ANOTHER);
    }
    await expect(restore("later", first)).rejects.toThrow(ANOTHER);
    await expect(restore("backup", first)).rejects.toThrow(TOO_LARGE);
    await using storage = await openEtcdStorage({ endpoints: etcd.endpoints, prefix: "/restored" });
    expect((await storage.list("/registry/")).entries.length).toBeGreaterThan(10);
  });
});
