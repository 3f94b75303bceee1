import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { afterEach, expect, it, vi } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "./testing/access-key-server.ts";

let server: AccessKeyServer;
afterEach(() => server[Symbol.asyncDispose]());

const send = (method: string, url: string, body?: unknown, to: AccessKeyServer = server, signal?: AbortSignal) =>
  to.send({
    method,
    url,
    body,
    user: { name: "root", groups: ["system:masters"] },
    headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
    ...(signal === undefined ? {} : { signal }),
  });
const create = (spec: object, to?: AccessKeyServer) =>
  send("POST", "ownedaccesskeys", { metadata: { generateName: "k-" }, spec }, to);
const keysOf = (name: string, of: AccessKeyServer = server) => of.keys.ownedBy({ kind: "user", name });
const statusesOf = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status).sort();

it("an owner has no more keys than the setting allows (security book 54)", async () => {
  server = await createAccessKeyServer({ accessKeys: { maxPerOwner: 2 } });
  for (const name of ["jane", "joe"]) await send("POST", "users", { metadata: { name }, spec: {} });
  const statuses = [];
  for (let at = 0; at < 3; at++) statuses.push((await create({ user: "jane" })).status);
  expect(statuses).toEqual([201, 201, 403]);
  const refused = await create({ user: "jane" });
  expect(refused.body.message).toContain('the user "jane" has 2 access keys, and the limit is 2');
  const joes = await create({ user: "joe" });
  expect(joes.status).toBe(201);
  const moved = await send("PATCH", `ownedaccesskeys/${joes.body.metadata.name}`, { spec: { user: "jane" } });
  expect(moved.status).toBe(403);
  const [first] = server.keys.ownedBy({ kind: "user", name: "jane" });
  expect((await send("PATCH", `ownedaccesskeys/${first?.name}`, { spec: { displayName: "x" } })).status).toBe(200);
  await send("DELETE", `ownedaccesskeys/${first?.name}`, undefined);
  expect((await create({ user: "jane" })).status).toBe(201);
});

it("creations at the same moment stay within the quota (security book 54)", async () => {
  server = await createAccessKeyServer({ accessKeys: { maxPerOwner: 3 } });
  for (const name of ["jane", "joe"]) await send("POST", "users", { metadata: { name }, spec: {} });
  const joes = await create({ user: "joe" });
  const writes = Array.from({ length: 10 }, () => create({ user: "jane" }));
  const moved = send("PATCH", `ownedaccesskeys/${joes.body.metadata.name}`, { spec: { user: "jane" } });
  const administrators = send("POST", "/apis/storage.postern/v1/accesskeys", {
    metadata: { name: "own-value" },
    spec: { user: "jane", key: "Gk7xZ2tLr9Wc5VbN1sKd8YgH3jPf6aUe0oEi4wBt" },
  });
  const answers = await Promise.all([...writes, moved, administrators]);
  expect(answers.filter(({ status }) => status < 300)).toHaveLength(3);
  expect(keysOf("jane")).toHaveLength(3);
  expect((await create({ user: "joe" })).status).toBe(201);
});

it("a refusal, a dry run and a failure free the owner for the next creation (security book 53, 54)", async () => {
  server = await createAccessKeyServer({ accessKeys: { maxPerOwner: 1 } });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const answers = await Promise.all([
    create({ user: "jane", ttl: -1 }),
    create({ user: "jane", key: "too-short" }),
    send("POST", "ownedaccesskeys?dryRun=All", { metadata: { name: "dry" }, spec: { user: "jane" } }),
    create({ user: "jane", groups: ["system:masters"] }),
    create({ user: "jane" }),
    create({ user: "jane" }),
  ]);
  expect(statusesOf(answers)).toEqual([201, 201, 403, 422, 422, 422]);
  expect(keysOf("jane")).toHaveLength(1);
  const [{ name = "" } = {}] = keysOf("jane");
  await send("DELETE", `ownedaccesskeys/${name}`);
  expect((await create({ user: "jane" })).status).toBe(201);
});

it("a key counts although its client went away before the answer (security book 54)", async () => {
  const storage = createMemoryStorage();
  const gone = new AbortController();
  const store = storage.create.bind(storage);
  storage.create = async (key, value) => {
    const revision = await store(key, value);
    if (key.includes("/ownedaccesskeys/")) gone.abort(new Error("the client went away"));
    return revision;
  };
  // As a store outside of this process behaves: events arrive after acknowledgements.
  const watch = storage.watch.bind(storage);
  storage.watch = (prefix, from, observer) =>
    watch(prefix, from, {
      ...observer,
      events: (events, revision) => void setTimeout(() => observer.events(events, revision), 10),
    });
  server = await createAccessKeyServer({ accessKeys: { maxPerOwner: 1 }, storage });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const body = { metadata: { generateName: "k-" }, spec: { user: "jane" } };
  const [, second] = await Promise.allSettled([
    send("POST", "ownedaccesskeys", body, server, gone.signal),
    create({ user: "jane" }),
  ]);
  expect(second).toMatchObject({ status: "fulfilled", value: { status: 403 } });
  expect(keysOf("jane")).toHaveLength(1);
  await storage[Symbol.asyncDispose]();
});

it("each further server allows at most one more key, and none once it has seen them (security book 54)", async () => {
  const storage = createMemoryStorage();
  const options = { accessKeys: { maxPerOwner: 3 }, storage };
  server = await createAccessKeyServer(options);
  await using other = await createAccessKeyServer(options);
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  await other.cache.refresh();
  await Promise.all(Array.from({ length: 20 }, (_, at) => create({ user: "jane" }, at % 2 === 0 ? server : other)));
  await Promise.all([server.cache.refresh(), other.cache.refresh()]);
  expect([3, 4]).toContain(keysOf("jane").length);
  for (const each of [server, other]) expect((await create({ user: "jane" }, each)).status).toBe(403);
});

it("a dry run is refused as the write would be where an owner has chosen as many values as allowed", async () => {
  server = await createAccessKeyServer({ maxChosenValues: 1 });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  await send("POST", "users", { metadata: { name: "root" }, spec: {} });
  const { body } = await create({ user: "root" });
  const login = await server.login(body.spec.key);
  const administrator = { ...login, user: { name: "root", groups: ["system:masters"] } };
  const [first, second] = ["a", "b"].map((end) => `Gk7xZ2tLr9Wc5VbN1sKd8YgH3jPf6aUe0oEi4wB${end}`);
  const choose = (name: string, key: string | undefined, query: string) =>
    server.send({
      method: "POST",
      url: `ownedaccesskeys${query}`,
      body: { metadata: { name }, spec: { user: "jane", key } },
      as: administrator,
    });
  const tried = await choose("one", first, "?dryRun=All");
  expect(tried.status).toBe(201);
  // The dry run took nothing.
  expect((await choose("one", first, "")).status).toBe(201);
  await vi.waitFor(async () => expect((await choose("two", second, "?dryRun=All")).status).toBe(403));
  const [rehearsed, refused] = [await choose("two", second, "?dryRun=All"), await choose("two", second, "")];
  expect([refused.status, refused.body.message]).toEqual([rehearsed.status, rehearsed.body.message]);
  expect(rehearsed.body.message).toContain("the limit is 1");
});
