import { createPlatformNames } from "@postern/api/platform-names";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { describe, expect, it } from "vitest";
import { testUser } from "../../../testing/request-context.ts";
import { managementRequest } from "../../authorization/request/platform-request.ts";
import { KeyUsage } from "./key-usage.ts";
import {
  coversUsage,
  decodeUsage,
  type KeyUsageSummary,
  MAX_ENTRIES,
  MAX_USES,
  mergeUsage,
} from "./key-usage-record.ts";
import { createKeyUsageWriter } from "./key-usage-writer.ts";

const PREFIX = "/registry/management/internal/key-usage/";
const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const user = testUser("jane");

/** A value that a client chose for a key. */
const CHOSEN = "chosen-by-a-client-0123456789abcdefghij";

/** A store in which one kind of write fails for as long as it is said. */
function failingStorage(write: "create" | "delete") {
  const storage = createMemoryStorage();
  const failing = { now: false };
  const working = storage[write].bind(storage) as (...call: readonly unknown[]) => Promise<number>;
  const orFail = (...call: readonly unknown[]) =>
    failing.now ? Promise.reject(new Error("disk full")) : working(...call);
  return { storage: Object.assign(storage, { [write]: orFail }), failing };
}

/** A server on a store of its own or another's, with one key, `k`. */
async function openServer(storage: Storage = createMemoryStorage(), startedAt = 1000) {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const records = { view: cache.view(PREFIX), prefix: PREFIX };
  const alive = new Set(["uid"]);
  const key = (found: boolean): any => (found ? { uid: "uid", name: "k", id: "k" } : undefined);
  const usage = new KeyUsage(
    { names, keys: { byId: (id) => key(id === "k"), isChosenValue: (text) => text === CHOSEN }, records },
    startedAt,
  );
  const failures: unknown[] = [];
  const time = manualTime();
  const writer = createKeyUsageWriter({
    records,
    storage,
    keys: { byUid: (uid) => key(alive.has(uid)) },
    usage,
    scheduler: time.scheduler,
    onError: (error) => void failures.push(error),
  });
  return {
    storage,
    cache,
    usage,
    failures,
    alive,
    time,
    writer,
    use(path: string) {
      const info = resolveRequestInfo("GET", `/apis/management.postern/v1/${path}`, new URLSearchParams());
      usage.note(managementRequest(info), { user, credential: { id: "k" } });
    },
    async stored(): Promise<KeyUsageSummary | undefined> {
      const entry = await storage.get(`${PREFIX}uid`);
      return entry === undefined ? undefined : decodeUsage(CachedObject.fromEntry(entry));
    },
    async flush() {
      await writer.flush();
      await cache.waitFor(await storage.currentRevision());
    },
  };
}

const projects = { apiGroup: "management.postern", resource: "projects", verbs: ["get"] };
const project = (name: string) => ({ list: "projects", project: name });

describe("the use of access keys", () => {
  it("is written once a minute, and only where there is something new", async () => {
    const server = await openServer();
    server.use("projects/a");
    expect(await server.stored()).toBeUndefined();
    server.time.advance(60_000);
    await server.flush();
    const uses = [projects];
    expect(await server.stored()).toEqual({
      since: 1000,
      entries: [project("a")],
      beyondScopes: [],
      complete: true,
      uses,
    });
    const revision = await server.storage.currentRevision();
    for (let times = 0; times < 10; times++) server.use("projects/a");
    await server.flush();
    expect(await server.storage.currentRevision()).toBe(revision);
    server.use("projects/b");
    await server.flush();
    expect((await server.stored())?.entries).toEqual([project("a"), project("b")]);
  });

  it("survives a start of the server, with the time since when it is known", async () => {
    const first = await openServer();
    first.use("projects/a");
    first.use("ownedaccesskeys");
    // Disposing writes what is left.
    await first.writer[Symbol.asyncDispose]();
    const second = await openServer(first.storage, 5000);
    second.use("projects/b");
    expect(second.usage.of("uid")).toEqual({
      since: 1000,
      entries: [project("a"), project("b")],
      beyondScopes: ["list management.postern/ownedaccesskeys"],
      complete: true,
      uses: [projects, { apiGroup: "management.postern", resource: "ownedaccesskeys", verbs: ["list"] }],
    });
  });

  it("is noted by resource and verb, also where every key may do it", async () => {
    const server = await openServer();
    const target = { list: "virtualClusters", project: "shop", virtualCluster: "dev" } as const;
    const inside = (verb: string, path: string) =>
      server.usage.note(
        {
          target: "ProjectVirtualCluster",
          project: "shop",
          virtualCluster: "dev",
          inner: resolveRequestInfo(verb, path, new URLSearchParams()),
        },
        { user, credential: { id: "k" } },
      );
    server.use("projects");
    inside("GET", "/api/v1/namespaces/web/pods/a/log");
    inside("GET", "/apis/apps/v1/deployments");
    inside("DELETE", "/apis/apps/v1/namespaces/web/deployments/a");
    inside("GET", "/version");
    await server.flush();
    const { uses } = (await server.stored()) as KeyUsageSummary;
    expect(uses).toEqual([
      { apiGroup: "management.postern", resource: "projects", verbs: ["list"] },
      { target, apiGroup: "", resource: "pods/log", verbs: ["get"] },
      { target, apiGroup: "apps", resource: "deployments", verbs: ["delete", "list"] },
    ]);
    // Another server adds to it, and what comes too late leaves the rest as it is.
    const other = await openServer(server.storage, 2000);
    other.use("projects/a");
    for (let number = 0; number < MAX_USES; number++) other.use(`many${number}`);
    await other.flush();
    const merged = (await server.stored()) as KeyUsageSummary;
    expect(merged.uses[0]?.verbs).toEqual(["get", "list"]);
    expect(merged.uses).toHaveLength(MAX_USES);
    const revision = await server.storage.currentRevision();
    other.use("one-more");
    await other.flush();
    expect(await server.storage.currentRevision()).toBe(revision);
  });

  it("has no credential that a client put into a path", async () => {
    const server = await openServer();
    const secret = "4tE3ATYTA3B8apNAnbdy97tGi5bC2Oynl1sDpAuxr7s";
    const value = `pst_a5kdjdnjvr_${secret}`;
    for (const path of [`projects/${value}`, `nothing/${value}`, value, `namespaces/${value}/things`]) server.use(path);
    server.use(CHOSEN);
    server.use(`projects/${CHOSEN}`);
    server.use("projects/web");
    await server.flush();
    const text = JSON.stringify(await server.stored());
    expect(text).toContain('"project":"web"');
    expect(text).toContain("get management.postern/nothing pst_a5kdjdnjvr_");
    for (const each of [secret, CHOSEN]) expect(text).not.toContain(each);
  });

  it("is that of all servers on a store, also when they write at once", async () => {
    const one = await openServer();
    const two = await openServer(one.storage, 2000);
    one.use("projects/a");
    two.use("projects/b");
    await Promise.all([one.writer.flush(), two.writer.flush()]);
    one.use("projects/c");
    two.use("projects/d");
    await Promise.all([one.flush(), two.flush()]);
    await Promise.all([one.flush(), two.flush()]);
    const expected = ["a", "b", "c", "d"];
    for (const server of [one, two]) {
      const { since, entries } = server.usage.of("uid");
      expect([since, entries.map((entry: any) => entry.project).sort()]).toEqual([1000, expected]);
      expect(server.failures).toEqual([]);
    }
  });

  it("is incomplete where a request with a credential has no room any more", async () => {
    const server = await openServer();
    for (let number = 0; number < MAX_ENTRIES; number++) server.use(`thing${number}`);
    await server.flush();
    expect(await server.stored()).toMatchObject({ complete: true });
    server.use("projects/pst_a5kdjdnjvr_4tE3ATYTA3B8apNAnbdy97tGi5bC2Oynl1sDpAuxr7s");
    await server.flush();
    expect(await server.stored()).toMatchObject({ complete: false });
  });

  it("is bounded, and marks where it is incomplete", async () => {
    const server = await openServer();
    for (let number = 0; number <= MAX_ENTRIES; number++) server.use(`projects/p${number}`);
    server.use(`namespaces/p-${"x".repeat(1000)}/virtualclusterinstances`);
    await server.flush();
    const stored = await server.stored();
    expect([stored?.entries.length, stored?.complete]).toEqual([MAX_ENTRIES, false]);
    const revision = await server.storage.currentRevision();
    server.use("projects/one-more");
    await server.flush();
    expect(await server.storage.currentRevision()).toBe(revision);
  });

  it("is deleted with its key", async () => {
    const server = await openServer();
    server.use("projects/a");
    await server.flush();
    server.use("projects/b");
    server.alive.delete("uid");
    server.usage.forget("uid");
    await server.flush();
    expect(await server.stored()).toBeUndefined();
    expect(server.failures).toEqual([]);
  });

  it("is deleted later where the store fails", async () => {
    const { storage, failing } = failingStorage("delete");
    const server = await openServer(storage);
    server.use("projects/a");
    await server.flush();
    server.alive.delete("uid");
    server.usage.forget("uid");
    failing.now = true;
    await server.flush();
    expect([server.failures.length, (await server.stored())?.entries]).toEqual([1, [project("a")]]);
    failing.now = false;
    await server.flush();
    expect(await server.stored()).toBeUndefined();
  });

  it("is written later where the store fails, and no request notices", async () => {
    const { storage, failing } = failingStorage("create");
    const server = await openServer(storage);
    failing.now = true;
    server.use("projects/a");
    await server.flush();
    expect([server.failures.length, await server.stored()]).toEqual([1, undefined]);
    failing.now = false;
    await server.flush();
    expect((await server.stored())?.entries).toEqual([project("a")]);
  });
});

describe("mergeUsage and coversUsage", () => {
  const usage = (since: number, projects: readonly string[], complete = true, verbs = ["get"]): KeyUsageSummary => ({
    since,
    entries: projects.map((name) => ({ list: "projects", project: name })),
    beyondScopes: [],
    complete,
    uses: [{ apiGroup: "", resource: "pods", verbs }],
  });
  it.each([
    [usage(1, ["a"]), usage(2, ["a"]), true],
    [usage(1, ["a", "b"]), usage(1, ["a"]), true],
    [usage(2, ["a"]), usage(1, ["a"]), false],
    [usage(1, ["a"]), usage(1, ["b"]), false],
    [usage(1, ["a"]), usage(1, ["a"], false), false],
    [usage(1, ["a"], false), usage(1, ["b"], false), true],
    [usage(1, ["a"]), usage(1, ["a"], true, ["get", "list"]), false],
    [usage(1, ["a"], true, ["get", "list"]), usage(1, ["a"]), true],
  ])("%j covers %j: %s", (known, news, expected) => {
    expect(coversUsage(known, news)).toBe(expected);
    expect(coversUsage(mergeUsage(known, news), news)).toBe(true);
    expect(coversUsage(mergeUsage(known, news), known)).toBe(true);
  });
});
