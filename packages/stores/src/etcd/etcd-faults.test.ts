// The etcd store when members fail, when it shares etcd with others, and when etcd does not let it in.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, StorageUnavailableError, ValueTooLargeError } from "@postern/apiserver/storage/storage-errors";
import { WatchRecorder } from "@postern/apiserver/storage/testing/watch-recorder";
import { keyOf } from "@postern/apiserver/storage/watcher-set";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreWriteRefusedError } from "../store-errors.ts";
import { EtcdConnection } from "./etcd-connection.ts";
import { migrateEtcd } from "./etcd-schema.ts";
import { openEtcdStorage } from "./etcd-storage.ts";
import { systemScheduler } from "./etcd-timers.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";

const missing = whyNoEtcd() !== undefined;
const value = Buffer.from("x");
/** For what works: no machine is as slow. */
const PATIENCE_MS = 30_000;

/** Again and again, as clients do, until it works. */
async function insist<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) throw error;
      await nextTurn();
    }
  }
}

/** An attempt without an answer may have been the one that worked. */
function insistOnCreating(storage: Storage, key: string): Promise<Revision> {
  return insist(() =>
    storage.create(key, value).catch((error: unknown) => {
      if (error instanceof KeyExistsError && error.current !== undefined) return error.current.revision;
      throw error;
    }),
  );
}

describe.skipIf(missing)("three members", () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
  });
  afterAll(() => etcd[Symbol.asyncDispose]());

  test("a store whose first endpoint is down works from the start", async () => {
    await using storage = await openEtcdStorage({ endpoints: ["127.0.0.1:1", ...etcd.endpoints], prefix: "/first" });
    expect(await storage.create("/a", value)).toBeGreaterThan(1);
  });

  test.each([
    ["dies", (index: number) => etcd.members[index]!.kill(), (index: number) => etcd.members[index]!.restart()],
    [
      "stands still",
      async (index: number) => etcd.members[index]!.pause(),
      async (index: number) => etcd.members[index]!.resume(),
    ],
  ])(
    "when the member in use %s reads go on, writes soon do, and a watch sees every one of them once",
    async (how, fail, mend) => {
      await using storage = await openEtcdStorage({
        endpoints: etcd.endpoints,
        prefix: `/${how.replace(" ", "-")}`,
        requestTimeoutMs: 4_000,
      });
      const from = await storage.currentRevision();
      using watch = WatchRecorder.start(storage, "/", from);
      await storage.create("/before", value);
      await fail(0);
      expect((await storage.get("/before"))?.value).toEqual(value);
      const last = await insistOnCreating(storage, "/after");
      await watch.reached(last);
      expect(watch.events.map((event) => event.type === "put" && event.entry.key)).toEqual(["/before", "/after"]);
      await mend(0);
    },
  );

  test("without a quorum everything fails within the bound, health fails, watches end; with it, all recovers", async () => {
    await using storage = await openEtcdStorage({
      endpoints: etcd.endpoints,
      prefix: "/quorum",
      requestTimeoutMs: 2_000,
    });
    const revision = await storage.create("/a", value);
    using watch = WatchRecorder.start(storage, "/", revision);
    await storage.health.check();
    await Promise.all([etcd.members[1]!.kill(), etcd.members[2]!.kill()]);
    const attempts = [
      storage.get("/a"),
      storage.list("/"),
      storage.create("/b", value),
      storage.update("/a", value, revision),
      storage.currentRevision(),
      storage.health.check(),
    ];
    await Promise.all(attempts.map((attempt) => expect(attempt).rejects.toBeInstanceOf(StorageUnavailableError)));
    expect(await watch.ended()).toBeInstanceOf(StorageUnavailableError);
    await Promise.all([etcd.members[1]!.restart(), etcd.members[2]!.restart()]);
    await insist(() => storage.health.check());
    expect((await insist(() => storage.get("/a")))?.revision).toBeGreaterThanOrEqual(revision);
  });
});

test.skipIf(missing)(
  "a write does not wait for a member that accepts connections and never answers: the next one gets it",
  async () => {
    await using etcd = await startEtcd();
    const silent = createServer((socket) => socket.on("error", () => undefined).resume()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const endpoints = [`127.0.0.1:${(silent.address() as AddressInfo).port}`, ...etcd.endpoints];
    using connection = new EtcdConnection({ endpoints, requestTimeoutMs: 10_000, scheduler: systemScheduler });
    const write = { compare: [], success: [{ request_put: { key: Buffer.from("/silent"), value } }] };
    const answer = await connection.call(connection.methods.txn, write, { repeatable: false });
    expect(answer.succeeded).toBe(true);
    silent.close();
  },
);

describe.skipIf(missing)("one member", () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd[Symbol.asyncDispose]());
  const open = (prefix: string) => openEtcdStorage({ endpoints: etcd.endpoints, prefix });

  test("stores with prefixes of their own do not see each other", async () => {
    await using one = await open("/one");
    await using other = await open("/one-more");
    await one.create("/a", value);
    await other.create("/b", value);
    expect((await one.list("/")).entries.map(({ key }) => key)).toEqual(["/a"]);
    expect((await other.list("")).entries.map(({ key }) => key)).toEqual(["/b"]);
  });

  test("a watch reaches the newest revision also if another server wrote it", async () => {
    await using mine = await open("/mine");
    await using foreign = await open("/foreign");
    using watch = WatchRecorder.start(mine, "/", await mine.currentRevision());
    await foreign.create("/a", value);
    await watch.reached(await mine.currentRevision());
    expect(watch.events).toEqual([]);
  });

  test("a watch from the past catches up also if another server wrote last", async () => {
    await using before = await open("/past");
    const first = await before.create("/a", value);
    await before.create("/b", value);
    await using foreign = await open("/foreign");
    await foreign.create("/b", value);
    await using again = await open("/past");
    const newest = await again.currentRevision();
    using watch = WatchRecorder.start(again, "/", first);
    await watch.reached(newest);
    expect(watch.log).toHaveLength(1);
  });

  test("a watch continues without a gap when etcd is killed and restarts", async () => {
    await using storage = await open("/restart");
    using watch = WatchRecorder.start(storage, "/", await storage.currentRevision());
    await storage.create("/a", value);
    await etcd.members[0]!.kill();
    await etcd.members[0]!.restart();
    const last = await insistOnCreating(storage, "/b");
    await watch.reached(last);
    expect(watch.log.map((line) => line.split("@")[0])).toEqual(["put /a", "put /b"]);
  });

  test("a list larger than one etcd message is of one revision, despite concurrent writes", async () => {
    await using storage = await open("/large");
    const { connection, keys } = storage;
    const names = Array.from({ length: 2_500 }, (_, index) => `/n${String(index).padStart(4, "0")}`);
    for (let start = 0; start < names.length; start += 100) {
      const success = names
        .slice(start, start + 100)
        .map((name) => ({ request_put: { key: keys.encode(name), value } }));
      await connection.call(connection.methods.txn, { compare: [], success }, { repeatable: false });
    }
    const before = await storage.currentRevision();
    const listing = storage.list("/");
    const writes = Array.from({ length: 50 }, (_, index) => storage.create(`/zz${index}`, value));
    const list = await listing;
    await Promise.all(writes);
    expect(list.revision).toBeGreaterThanOrEqual(before);
    expect(list).toEqual(await storage.list("/", { revision: list.revision }));
    expect(list.entries.slice(0, names.length).map(({ key }) => key)).toEqual(names);
    const page = await storage.list("/", { limit: 1_700, revision: before });
    expect(page).toMatchObject({ remaining: 800 });
    expect(page.entries).toHaveLength(1_700);
  });

  test("an etcd that never answers: watches end, health fails, and all recovers once it answers again", async () => {
    await using storage = await openEtcdStorage({
      endpoints: etcd.endpoints,
      prefix: "/swallowed",
      requestTimeoutMs: 2_000,
    });
    using watch = WatchRecorder.start(storage, "/", await storage.currentRevision());
    etcd.members[0]!.pause();
    expect(await watch.ended()).toBeInstanceOf(StorageUnavailableError);
    await expect(storage.health.check()).rejects.toBeInstanceOf(StorageUnavailableError);
    using late = WatchRecorder.start(storage, "/", 1);
    expect(await late.ended()).toBeInstanceOf(StorageUnavailableError);
    etcd.members[0]!.resume();
    await insist(() => storage.health.check());
    using again = WatchRecorder.start(storage, "/", await storage.currentRevision());
    await again.reached(await insistOnCreating(storage, "/a"));
    expect(again.events).toHaveLength(1);
  });

  test("etcd accepts the largest value with the longest key; with a smaller limit, the error is the same", async () => {
    const key = `/${"k".repeat(1_000)}`;
    const largest = Buffer.alloc((3 << 19) - (8 << 10), "x");
    await using storage = await open("/sizes");
    const created = await storage.create(key, largest);
    await storage.update(key, largest, created);
    expect((await storage.get(key))?.value).toHaveLength(largest.length);
    await expect(storage.create("/a", Buffer.alloc(largest.length + 1))).rejects.toBeInstanceOf(ValueTooLargeError);

    await using strict = await startEtcd({ flags: ["--max-request-bytes", "65536"] });
    await using small = await openEtcdStorage({ endpoints: strict.endpoints });
    await expect(small.create("/a", Buffer.alloc(100_000))).rejects.toBeInstanceOf(ValueTooLargeError);
    await small.create("/a", Buffer.alloc(50_000));
  });

  test("keys that do not begin with a slash are a mistake of the caller", async () => {
    await using storage = await open("/mistake");
    await expect(storage.create("a", value)).rejects.toBeInstanceOf(RangeError);
    for (const prefix of ["", "/", "/a/", "/a."]) await expect(open(prefix)).rejects.toBeInstanceOf(RangeError);
  });

  test("nothing listens: opening fails within the bound, and names the endpoints", async () => {
    const opening = openEtcdStorage({ endpoints: ["127.0.0.1:1"], requestTimeoutMs: 500 });
    await expect(opening).rejects.toThrow(/etcd at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
  });
});

describe.skipIf(missing)("TLS", () => {
  let folder: string;
  let etcd: EtcdCluster;
  const pem = (name: string) => readFile(join(folder, name));
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: folder });
    if (status !== 0) throw new Error(stderr.toString());
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postern-etcd-tls-"));
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl("req", "-x509", ...curve, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test ca");
    for (const name of ["server", "client"]) {
      openssl(
        "req",
        ...curve,
        "-keyout",
        `${name}.key`,
        "-out",
        `${name}.csr`,
        "-subj",
        `/CN=${name}`,
        "-addext",
        "subjectAltName=IP:127.0.0.1",
      );
      openssl(
        "x509",
        "-req",
        "-in",
        `${name}.csr`,
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-copy_extensions",
        "copy",
        "-out",
        `${name}.crt`,
      );
    }
    const files = ["--cert-file", "server.crt", "--key-file", "server.key", "--trusted-ca-file", "ca.crt"];
    const flags = files.map((flag, index) => (index % 2 === 0 ? flag : join(folder, flag)));
    etcd = await startEtcd({ scheme: "https", flags: [...flags, "--client-cert-auth"] });
  });
  afterAll(async () => {
    await etcd[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const openWith = (requestTimeoutMs: number, tls?: { ca?: Uint8Array; cert?: Uint8Array; key?: Uint8Array }) =>
    openEtcdStorage({ endpoints: etcd.endpoints, requestTimeoutMs, ...(tls && { tls }) });

  test("a client with a certificate of the authority that etcd trusts is let in", async () => {
    await using storage = await openWith(PATIENCE_MS, {
      ca: await pem("ca.crt"),
      cert: await pem("client.crt"),
      key: await pem("client.key"),
    });
    expect(await storage.create("/a", value)).toBeGreaterThan(1);
  });

  test("new certificates are used while watches continue; those that do not work change nothing", async () => {
    const credentials = { ca: await pem("ca.crt"), cert: await pem("client.crt"), key: await pem("client.key") };
    await using storage = await openEtcdStorage({
      endpoints: etcd.endpoints,
      tls: credentials,
    });
    using recorder = WatchRecorder.start(storage, "/", await storage.currentRevision());
    await storage.create("/before", value);
    const before = storage.connection.endpoint;
    // The pair of the server stands for another one of the same authority; what is cut off is no certificate.
    await storage.connection.setTls({ ...credentials, cert: await pem("server.crt"), key: await pem("server.key") });
    const last = await storage.create("/between", value);
    await expect(storage.connection.setTls({ ...credentials, cert: Buffer.from("none") })).rejects.toThrow();
    await expect(storage.connection.setTls({ ca: credentials.ca })).rejects.toThrow();
    await recorder.reached(last);
    // Only then the watch has to move.
    await expect.poll(() => before.closed, { timeout: PATIENCE_MS }).toBe(true);
    const after = await storage.create("/after", value);
    await recorder.reached(after);
    expect(recorder.events.map(keyOf)).toEqual(["/before", "/between", "/after"]);
    await storage.health.check();
  });

  test("data of a newer release is refused and unchanged", async () => {
    const credentials = { ca: await pem("ca.crt"), cert: await pem("client.crt"), key: await pem("client.key") };
    const options = { endpoints: etcd.endpoints, prefix: "/newer", tls: credentials };
    {
      await using storage = await openEtcdStorage(options);
      const { connection, keys } = storage;
      const written = { compare: [], success: [{ request_put: { key: keys.schema, value: Buffer.from("3") } }] };
      await connection.call(connection.methods.txn, written, { repeatable: false });
    }
    await expect(openEtcdStorage(options)).rejects.toThrow(/schema version 3, this release knows up to 2/);
  });

  test("without a certificate, without TLS, or with an unknown CA, the store does not open", async () => {
    const open = (tls?: Parameters<typeof openWith>[1]) => openWith(1_000, tls);
    await expect(open({ ca: await pem("ca.crt") })).rejects.toBeInstanceOf(StorageUnavailableError);
    await expect(open()).rejects.toBeInstanceOf(StorageUnavailableError);
    await expect(open({ cert: await pem("client.crt"), key: await pem("client.key") })).rejects.toBeInstanceOf(
      StorageUnavailableError,
    );
  });

  // The last one: from then on every client of this etcd needs a user.
  test("a read-only user can open a store, and gets an error for writes", async () => {
    const credentials = { ca: await pem("ca.crt"), cert: await pem("client.crt"), key: await pem("client.key") };
    /** Etcd takes orders about its users over HTTP as well. */
    const order = async (path: string, body: object): Promise<void> => {
      const url = `https://${etcd.endpoints[0]}/v3/auth/${path}`;
      const sent = request(url, { ...credentials, method: "POST", agent: false }).end(JSON.stringify(body));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      expect([path, response.resume().statusCode]).toEqual([path, 200]);
    };
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const perm = { permType: "READ", key: base64("/read."), range_end: base64("/read0") };
    // The user of a certificate is the one that its common name says.
    for (const name of ["root", "client"]) await order("user/add", { name, options: { no_password: true } });
    for (const name of ["root", "reader"]) await order("role/add", { name });
    await order("role/grant", { name: "reader", perm });
    await order("user/grant", { user: "root", role: "root" });
    await order("user/grant", { user: "client", role: "reader" });
    await order("enable", {});
    await using storage = await openEtcdStorage({ endpoints: etcd.endpoints, prefix: "/read", tls: credentials });
    expect((await storage.list("/")).entries).toEqual([]);
    await expect(storage.create("/a", value)).rejects.toBeInstanceOf(StorageUnavailableError);
    const refusal = await migrateEtcd(storage).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StoreWriteRefusedError);
    expect(refusal).toMatchObject({ message: "etcd does not allow its user to write the keys from /read. to /read0" });
  });
});
