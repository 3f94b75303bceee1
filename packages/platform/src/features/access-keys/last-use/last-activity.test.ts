// The last use of keys: exact in memory, written once a minute, without delaying requests.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";
import { createLastActivity, MAX_NETWORKS } from "./last-activity.ts";
import { createLastActivityWriter } from "./last-activity-writer.ts";
import type { PeriodicWriter } from "./periodic-writer.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };

let server: AccessKeyServer;
let writer: PeriodicWriter;
let key: string;
const errors: unknown[] = [];
const announced: string[] = [];

beforeEach(async () => {
  server = await createAccessKeyServer();
  await server.send({ method: "POST", url: "users", user: admin, body: { metadata: { name: "jane" } } });
  const spec = { user: "jane", ttl: 600, ttlAfterLastActivity: true };
  const body = { metadata: { name: "k" }, spec };
  key = (await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body })).body.spec.key;
  writer = createLastActivityWriter({
    records: server.activityRecords,
    storage: server.storage,
    keys: server.keys,
    activity: server.activity,
    ...server.time,
    onNewNetwork: ({ name }, network) => announced.push(`${name} ${network}`),
    onError: (error) => errors.push(error),
  });
});

afterEach(async () => {
  await writer[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  expect(errors).toEqual([]);
});

const UNKNOWN = { name: "", uid: "" };

const get = async () => (await server.send({ url: "ownedaccesskeys/k", user: admin })).body;
const put = (body: object) => server.send({ method: "PUT", url: "ownedaccesskeys/k", user: admin, body });

async function use(): Promise<void> {
  await server.login(key);
  server.time.advance(60_000);
  await writer.flush();
}

describe("createLastActivityWriter", () => {
  it("writes the last use after a minute, with the new end of life", async () => {
    await server.login(key);
    expect((await get()).status.lastActivity).toBe(undefined);
    server.time.advance(999);
    expect((await get()).status.lastActivity).toBe(undefined);
    // The first use is written after a second.
    server.time.advance(1);
    await expect.poll(async () => (await get()).status.lastActivity).toBe("2026-01-01T00:00:00Z");
    server.time.advance(29_000);
    await server.login(key);
    server.time.advance(30_000);
    await writer.flush();
    expect((await get()).status).toMatchObject({
      lastActivity: "2026-01-01T00:00:30Z",
      expirationTimestamp: "2026-01-01T00:10:30Z",
    });
  });

  it("writes at once what it is asked for, and leaves the rest for later", async () => {
    const before = server.cache.revision;
    await server.login(key);
    await writer.flush(["another"]);
    expect(server.cache.revision).toBe(before);
    await writer.flush([(await get()).metadata.uid]);
    expect((await get()).status.lastActivity).toBe("2026-01-01T00:00:00Z");
    const written = server.cache.revision;
    await writer.flush();
    expect(server.cache.revision).toBe(written);
  });

  it("writes once a minute however often the key is used, and nothing while it is not", async () => {
    const before = server.cache.revision;
    const { resourceVersion } = (await get()).metadata;
    for (let second = 0; second < 120; second++) {
      await server.login(key);
      server.time.advance(1_000);
      // The first use is written by itself.
      if (second === 0) await expect.poll(() => server.cache.revision).toBe(before + 1);
      if (second % 60 === 59) await writer.flush();
    }
    expect(server.cache.revision).toBe(before + 3);
    server.time.advance(600_000);
    await writer.flush();
    expect(server.cache.revision).toBe(before + 3);
    expect((await get()).metadata.resourceVersion).toBe(resourceVersion);
  });

  it("writes where the last use came from, as far as it is short", async () => {
    await server.login(key, { address: "198.51.100.1", userAgent: "x".repeat(5_000) });
    await writer.flush();
    const { lastUsedFrom } = (await get()).status;
    expect(lastUsedFrom).toEqual({ address: "198.51.100.1", userAgent: "x".repeat(200) });
    server.time.advance(1_000);
    await server.login(key, { address: "198.51.100.2", userAgent: "kubectl" });
    await writer.flush();
    expect((await get()).status.lastUsedFrom).toEqual({ address: "198.51.100.2", userAgent: "kubectl" });
  });

  it("announces a use from a network that the key was not used from before, once", async () => {
    const from = async (...addresses: readonly string[]): Promise<readonly string[]> => {
      announced.length = 0;
      for (const address of addresses) await server.login(key, { address });
      server.time.advance(1_000);
      await writer.flush();
      return [...announced];
    };
    // A key is at home where it is used first.
    expect(await from("192.0.2.1", "2001:db8::1")).toEqual([]);
    expect(await from("192.0.2.1", "2001:db8::2", "2001:db8::3")).toEqual([]);
    expect(await from("192.0.2.1", "198.51.100.7", "192.0.2.1")).toEqual(["k 198.51.100.7"]);
    expect(await from("198.51.100.7")).toEqual([]);
    const many = Array.from({ length: 30 }, (_, at) => `203.0.113.${at}`);
    expect((await from(...many)).length).toBeLessThanOrEqual(MAX_NETWORKS);
    expect(await from("198.18.0.1")).toEqual([]);
    expect(await from("198.18.0.2")).toEqual([]);
  });

  it("writes uses of such a key in time where a thousand others have expired", async () => {
    const names = Array.from({ length: 1_024 }, (_, at) => `expired${at}`);
    const keys = { byUid: (uid: string) => ({ name: uid, uid, ttl: 8, countsFromActivity: true }) };
    const { activity, storage, time, activityRecords: records } = server;
    await using other = createLastActivityWriter({
      ...time,
      activity,
      keys,
      records,
      storage,
      onError: (error) => errors.push(error),
    });
    for (const name of names) activity.record(name, time.clock.now());
    await other.flush();
    const pass = async (seconds: number, each: () => void = () => undefined) => {
      for (let second = 0; second < seconds; second++) {
        each();
        time.advance(1_000);
        await other.flush([]);
        await server.cache.refresh();
      }
    };
    // 64 in a second look whether they have been used.
    await pass(32);
    await pass(8, () => activity.record("short", time.clock.now()));
    expect(time.clock.now() - (activity.written({ name: "short", uid: "short" }) ?? 0)).toBeLessThanOrEqual(4_000);
  });

  it("announces no network that another server knows", async () => {
    await using other = await createAccessKeyServer({ storage: server.storage });
    await server.login(key, { address: "192.0.2.1" });
    await writer.flush();
    await other.cache.refresh();
    const heard: string[] = [];
    await using writerOfOther = createLastActivityWriter({
      records: other.activityRecords,
      storage: other.storage,
      keys: other.keys,
      activity: other.activity,
      ...other.time,
      onNewNetwork: (_key, network) => heard.push(network),
      onError: (error) => errors.push(error),
    });
    await other.login(key, { address: "192.0.2.1" });
    other.time.advance(1_000);
    await other.login(key, { address: "198.51.100.1" });
    await writerOfOther.flush();
    expect(heard).toEqual(["198.51.100.1"]);
    await server.cache.refresh();
    server.time.advance(5_000);
    announced.length = 0;
    await server.login(key, { address: "198.51.100.1" });
    await writer.flush();
    expect(announced).toEqual([]);
  });

  it("writes uses of a key that soon expires without them so often that other servers go on accepting it", async () => {
    await using other = await createAccessKeyServer({ storage: server.storage });
    const body = { metadata: { name: "short" }, spec: { user: "jane", ttl: 8, ttlAfterLastActivity: true } };
    const short = (await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body })).body.spec.key;
    for (let second = 0; second < 100; second++) {
      await server.login(short);
      for (const { time } of [server, other]) time.advance(1_000);
      // The written use is at most a quarter of the TTL old.
      await expect
        .poll(async () => {
          await other.cache.refresh();
          return other.time.clock.now() - (other.activity.written(other.keys.byName("short") ?? UNKNOWN) ?? 0);
        })
        .toBeLessThanOrEqual(3_000);
    }
    expect((await other.login(short)).user).toMatchObject({ name: "jane" });
    // It is written no more when it is used no more.
    for (const { time } of [server, other]) time.advance(2_000);
    await writer.flush();
    const { revision } = server.cache;
    for (const { time } of [server, other]) time.advance(10_000);
    await server.cache.refresh();
    expect(server.cache.revision).toBe(revision);
    await expect(other.login(short)).rejects.toThrow("key not found");
  });

  it("changes neither generation nor managers, nor what the key is known as", async () => {
    const before = await get();
    const { credential, user } = await server.login(key);
    let cut = 0;
    const watch = credential?.onRevoked?.(() => cut++);
    const { revision } = server.keys.byName("k") ?? {};
    await use();
    const { metadata } = await get();
    expect(metadata).toEqual(before.metadata);
    expect(server.keys.byName("k")?.revision).toBe(revision);
    expect((await server.login(key)).user).toEqual(user);
    expect(cut).toBe(0);
    watch?.[Symbol.dispose]();
  });

  it("never makes the update or deletion of a client conflict", async () => {
    const read = await get();
    await use();
    await use();
    const written = await put({ ...read, spec: { ...read.spec, displayName: "new" } });
    expect([written.status, written.body.spec.displayName]).toEqual([200, "new"]);
    expect(written.body.status.lastActivity).toBe("2026-01-01T00:01:00Z");
    await use();
    const removed = await server.send({
      method: "DELETE",
      url: "ownedaccesskeys/k",
      user: admin,
      body: { preconditions: { resourceVersion: written.body.metadata.resourceVersion } },
    });
    expect(removed.status).toBe(200);
  });

  it("still lets what others changed conflict", async () => {
    const read = await get();
    await use();
    const other = await get();
    expect((await put({ ...other, spec: { ...other.spec, displayName: "theirs" } })).status).toBe(200);
    await use();
    expect((await put({ ...read, spec: { ...read.spec, displayName: "mine" } })).status).toBe(409);
    expect((await put({ ...other, spec: { ...other.spec, displayName: "mine" } })).status).toBe(409);
    expect((await get()).spec.displayName).toBe("theirs");
  });

  it("is shown in lists, to watches that begin, and to administrators, and never written into the record of the key", async () => {
    await use();
    const seen = { lastActivity: "2026-01-01T00:00:00Z", expirationTimestamp: "2026-01-01T00:10:00Z" };
    const list = await server.send({ url: "ownedaccesskeys", user: admin });
    const administrators = await server.send({ url: "/apis/storage.postern/v1/accesskeys/k", user: admin });
    expect([list.body.items[0].status, administrators.body.status]).toMatchObject([seen, seen]);
    const written = await put({ ...(await get()), spec: { ...(await get()).spec, displayName: "new" } });
    expect(written.body.status).toMatchObject(seen);
    const record = (await server.dump()).split("\n").find((line) => line.includes("/ownedaccesskeys/k "));
    expect(record).not.toContain("lastActivity");
  });

  it("is shown in long lists, of the keys that were used alone", async () => {
    for (let at = 0; at < 40; at++) {
      const body = { metadata: { name: `k${at}` }, spec: { user: "jane" } };
      await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body });
    }
    await use();
    for (const url of ["ownedaccesskeys", "ownedaccesskeys?limit=20", "/apis/storage.postern/v1/accesskeys"]) {
      const { items } = (await server.send({ url, user: admin })).body;
      const used = items.filter(({ status }: { status?: { lastActivity?: string } }) => status?.lastActivity);
      expect(used.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(["k"]);
    }
  });

  it("keeps a key valid that only another server has seen in use", async () => {
    await using other = await createAccessKeyServer({ storage: server.storage });
    await other.cache.refresh();
    server.time.advance(500_000);
    other.time.advance(500_000);
    await use();
    await other.cache.refresh();
    other.time.advance(400_000);
    expect(await other.login(key)).toBeDefined();
    const { expiresAt } = other.keys.byName("k") ?? {};
    expect(expiresAt).toBe(Date.parse("2026-01-01T00:25:00Z"));
  });

  it("removes what it recorded of a key that is gone, and keeps that of the next one of its name", async () => {
    const records = async () =>
      (await server.storage.list(server.activityRecords.prefix)).entries.map(({ value }) =>
        Buffer.from(value).toString(),
      );
    await use();
    expect(await records()).toHaveLength(1);
    await server.send({ method: "DELETE", url: "ownedaccesskeys/k", user: admin });
    const body = { metadata: { name: "k" }, spec: { user: "jane" } };
    const made = (await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body })).body;
    expect((await get()).status).not.toHaveProperty("lastActivity");
    await server.login(made.spec.key);
    await writer.flush();
    expect(await records()).toEqual([expect.stringContaining(made.metadata.uid)]);
    await server.send({ method: "DELETE", url: "ownedaccesskeys/k", user: admin });
    await writer.flush();
    expect(await records()).toEqual([]);
  });

  it("forgets a deleted key, also when another takes its name", async () => {
    await server.login(key);
    await server.send({ method: "DELETE", url: "ownedaccesskeys/k", user: admin });
    const body = { metadata: { name: "k" }, spec: { user: "jane" } };
    await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body });
    await writer.flush();
    expect((await get()).status).not.toHaveProperty("lastActivity");
  });
});

it("keeps no more in memory of what a client says of itself than is shown, and no credential in it", () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const activity = createLastActivity({ current: () => 0 } as ClockEpochs);
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  for (let at = 0; at < 400; at++) {
    const userAgent = Buffer.alloc(60_000, `${at}-`).toString("latin1");
    activity.record(`uid-${at}`, at, { address: "127.0.0.1", userAgent });
  }
  expect(used() - before).toBeLessThan(4_000_000);
  expect(activity.fromOf("uid-7")?.userAgent).toHaveLength(200);
  const secret = `pst_abcdefghij_${"A1b2C3d4".repeat(6)}`;
  activity.record("uid-7", 1_000, { address: "127.0.0.1", userAgent: `curl ${secret}` });
  expect(activity.fromOf("uid-7")?.userAgent).toBe("curl pst_abcdefghij_<redacted>");
});
