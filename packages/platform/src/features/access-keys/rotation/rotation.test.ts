import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";

const { user: master } = { ...createTestContext({ url: "/" }), user: { name: "root", groups: ["system:masters"] } };

describe("ownedaccesskeys/rotate", () => {
  let server: AccessKeyServer;
  let v1: string;

  beforeEach(async () => {
    server = await createAccessKeyServer({ allows: ({ resource }) => resource !== "accesskeys" });
    await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
    await send("POST", "users", { metadata: { name: "joe" }, spec: {} });
    v1 = await newKey("k", { user: "jane" });
  });
  afterEach(async () => {
    expect(server.failures).toEqual([]);
    await server[Symbol.asyncDispose]();
  });

  const send = (method: string, url: string, body?: unknown, user: any = master) =>
    server.send({
      method,
      url,
      user,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body }),
    });
  const newKey = async (name: string, spec: object): Promise<string> =>
    (await send("POST", "ownedaccesskeys", { metadata: { name }, spec })).body.spec.key;
  const rotate = (spec: object, user?: any, query = "") =>
    send("POST", `ownedaccesskeys/k/rotate${query}`, { spec }, user);
  const works = (key: string): Promise<boolean> =>
    server.login(key).then(
      () => true,
      () => false,
    );
  const settled = () => server.cache.refresh();

  it("gives a value that works at once, and ends the old one", async () => {
    const { status, body } = await rotate({ nonce: "a" });
    expect(status).toBe(201);
    const v2 = body.status.key;
    expect(server.secrets.format.idOf(v2)).toBe(body.status.keyID);
    expect(v2).not.toBe(v1);
    expect(await works(v2)).toBe(true);
    expect(await works(v1)).toBe(false);
    expect(server.events.map(({ reason }) => reason)).toContain("Rotated");
  });

  it("keeps the old value valid until the new one is first used, and then closes its connections", async () => {
    const { credential } = await server.login(v1);
    const { body } = await rotate({ nonce: "a", gracePeriodSeconds: 60 });
    let cut = 0;
    const again = await server.login(v1);
    again.credential?.onRevoked?.(() => cut++);
    expect(again.credential?.id).toBe(credential?.id);
    expect(await works(body.status.key)).toBe(true);
    expect(cut).toBe(1);
    await settled();
    expect(await works(v1)).toBe(false);
  });

  it("ends the values of earlier rotations no later than the old one", async () => {
    await rotate({ nonce: "a", gracePeriodSeconds: 3_600 });
    const { body } = await rotate({ nonce: "b", gracePeriodSeconds: 60 });
    const { credential } = await server.login(v1);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    server.time.advance(59_999);
    expect([cut, await works(v1)]).toEqual([0, true]);
    server.time.advance(1);
    await settled();
    expect(cut).toBe(1);
    expect(await works(body.status.key)).toBe(true);
    expect(await works(v1)).toBe(false);
  });

  it("ends the values of earlier rotations at once without a grace period", async () => {
    const { body: second } = await rotate({ nonce: "a", gracePeriodSeconds: 3_600 });
    const { credential } = await server.login(v1);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    const { body: third } = await rotate({ nonce: "b" });
    await settled();
    expect(cut).toBe(1);
    expect(await works(third.status.key)).toBe(true);
    expect(await works(v1)).toBe(false);
    expect(await works(second.status.key)).toBe(false);
  });

  it("keeps the old value valid until the grace period ends", async () => {
    const { body } = await rotate({ nonce: "a", gracePeriodSeconds: 60 });
    const { credential } = await server.login(v1);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    server.time.advance(59_999);
    expect([cut, await works(v1)]).toEqual([0, true]);
    server.time.advance(1);
    expect(cut).toBe(1);
    expect(await works(body.status.key)).toBe(true);
    expect(server.time.waiting).toBe(0);
  });

  it.each([
    [
      "disabled",
      () => send("PUT", "ownedaccesskeys/k", { metadata: { name: "k" }, spec: { user: "jane", disabled: true } }),
    ],
    ["deleted", () => send("DELETE", "ownedaccesskeys/k")],
  ])("closes the connections of the old value in its grace period at once when the key is %s", async (_how, end) => {
    await rotate({ nonce: "a", gracePeriodSeconds: 60 });
    const { credential } = await server.login(v1);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    expect((await end()).status).toBe(200);
    expect(cut).toBe(1);
  });

  it("closes the connections of the old value before its end is written", async () => {
    const { status } = (await rotate({ nonce: "a", gracePeriodSeconds: 60 })).body;
    const { credential } = await server.login(v1);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    server.rotationMarks.confirm(server.keys.byName("k")?.uid ?? "", status.keyID);
    expect(cut).toBe(1);
  });

  it("leaves nothing of a key behind that is deleted", async () => {
    const { uid = "" } = server.keys.byName("k") ?? {};
    const { status } = (await rotate({ nonce: "a", gracePeriodSeconds: 60 })).body;
    expect(await works(status.key)).toBe(true);
    const known = () => [server.activity.of(uid) !== undefined, server.rotationMarks.isConfirmed(uid, status.keyID)];
    expect(known()).toEqual([true, true]);
    await send("DELETE", "ownedaccesskeys/k");
    expect(known()).toEqual([false, false]);
  });

  describe("at a server whose clock is hours ahead", () => {
    beforeEach(() => server.time.advance(36_000_000));

    /** By a server whose clock is right, and which knows nothing but what is written. */
    const worksElsewhere = async (key: string): Promise<boolean> => {
      await using other = await createAccessKeyServer({ storage: server.storage });
      return await other.login(key).then(
        () => true,
        () => false,
      );
    };

    it("ends the old value for all servers", async () => {
      await rotate({ nonce: "a" });
      expect(await worksElsewhere(v1)).toBe(false);
    });

    it("ends it for all with the first use of the new one, and with the lock", async () => {
      const v2 = (await rotate({ nonce: "a", gracePeriodSeconds: 60 })).body.status.key;
      expect(await worksElsewhere(v1)).toBe(true);
      server.time.advance(120_000);
      expect(await works(v2)).toBe(true);
      await vitestUntil(async () => (await server.dump()).includes('"isOver":true'));
      expect(await worksElsewhere(v1)).toBe(false);
    });

    it("ends all values of a locked key for all with its next rotation", async () => {
      const v2 = (await rotate({ nonce: "a", gracePeriodSeconds: 60 })).body.status.key;
      await rotate({ nonce: "b" });
      expect(await works(v2)).toBe(false);
      await vitestUntil(async () => (await server.dump()).includes('"lockedAt"'));
      await rotate({ nonce: "c", gracePeriodSeconds: 60 });
      expect([await worksElsewhere(v1), await worksElsewhere(v2)]).toEqual([false, false]);
    });
  });

  it("locks the lineage when the old value is used after its end, and no other key", async () => {
    await send("DELETE", "ownedaccesskeys/k");
    const scope = {};
    v1 = await newKey("k", { user: "jane", scope });
    const maker = await server.login(v1);
    const made = await server.send({
      method: "POST",
      url: "ownedaccesskeys",
      body: { metadata: { name: "child" }, spec: { user: "jane", scope } },
      as: maker,
    });
    const child = made.body.spec.key;
    const other = await newKey("other", { user: "jane" });
    const { body } = await rotate({ nonce: "a" });
    const v2 = body.status.key;
    expect([await works(v2), await works(child)]).toEqual([true, true]);
    expect(await works(v1)).toBe(false);
    expect([await works(v2), await works(child), await works(other)]).toEqual([false, false, true]);
    const [warning, ...more] = server.events.filter(({ type }) => type === "Warning");
    expect(warning).toMatchObject({ reason: "RetiredValueUsed", involvedObject: { name: "k" } });
    expect(await works(v1)).toBe(false);
    expect(more).toEqual([]);
    // It is written, and opened again by the next rotation.
    await vitestUntil(async () => (await server.dump()).includes('"lockedAt"'));
    const v3 = (await rotate({ nonce: "b", gracePeriodSeconds: 60 })).body.status.key;
    expect([await works(v3), await works(child)]).toEqual([true, true]);
    expect(await works(v2)).toBe(false);
  });

  it("shows one value for one nonce, however many ask at once (security book 18)", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => rotate({ nonce: "same", gracePeriodSeconds: 60 })),
    );
    const values = answers.flatMap(({ body }) => (body.status.key === undefined ? [] : [body.status.key]));
    expect(values).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.status.keyID)).size).toBe(1);
    expect(answers.filter(({ body }) => body.status.repeated === true)).toHaveLength(19);
    const later = await rotate({ nonce: "same" });
    expect(later.body.status).toMatchObject({ repeated: true, keyID: answers[0]?.body.status.keyID });
    expect(await works(values[0])).toBe(true);
    expect(server.events.filter(({ reason }) => reason === "Rotated")).toHaveLength(1);
  });

  it("shows one value for one nonce, through whichever replica they ask (security book 18)", async () => {
    const storage = createMemoryStorage();
    const allows = ({ resource }: { readonly resource: string }): boolean => resource !== "accesskeys";
    await using first = await createAccessKeyServer({ storage, allows });
    await using second = await createAccessKeyServer({ storage, allows });
    const replicas = [first, second];
    const post = (replica: AccessKeyServer, url: string, body: unknown) =>
      replica.send({ method: "POST", url, user: master, headers: { "content-type": "application/json" }, body });
    await post(first, "users", { metadata: { name: "jane" }, spec: {} });
    await post(first, "ownedaccesskeys", { metadata: { name: "k" }, spec: { user: "jane" } });
    await second.cache.refresh();
    for (const nonce of ["a", "b", "c"]) {
      const asked = Array.from({ length: 20 }, (_, at) =>
        post(replicas[at % 2] ?? first, "ownedaccesskeys/k/rotate", { spec: { nonce } }),
      );
      const answers = await Promise.all(asked);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
      const values = answers.flatMap(({ body }) => body.status.key ?? []);
      expect(values).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.status.keyID)).size).toBe(1);
      for (const replica of replicas) {
        await replica.cache.refresh();
        expect((await replica.login(values[0])).user.name).toBe("jane");
      }
    }
  });

  it("treats the same nonce of another caller as another rotation", async () => {
    const first = (await rotate({ nonce: "n" })).body.status.key;
    const second = (await rotate({ nonce: "n" }, { name: "root2", groups: ["system:masters"] })).body.status.key;
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
  });

  it("is allowed only for the owner of the key and its creator (security book 5, 6)", async () => {
    const joe = (await server.login(await newKey("joes", { user: "joe" }))).user;
    expect((await rotate({ nonce: "a" }, joe)).status).toBe(404);
    const narrowed = await newKey("narrow", { user: "jane", scope: {}, rules: [{ resources: [{ group: "*" }] }] });
    const { user, credential } = await server.login(narrowed);
    const refused = await server.send({
      method: "POST",
      url: "ownedaccesskeys/k/rotate",
      user,
      credential,
      headers: { "content-type": "application/json" },
      body: { spec: { nonce: "a" } },
    });
    expect(refused.status).toBe(403);
    expect(await works(v1)).toBe(true);
  });

  it.each([
    [{}, 422, "spec.nonce"],
    [{ nonce: "" }, 422, "spec.nonce"],
    [{ nonce: "x".repeat(129) }, 422, "spec.nonce"],
    [{ nonce: "a", gracePeriodSeconds: -1 }, 422, "spec.gracePeriodSeconds"],
    [{ nonce: "a", gracePeriodSeconds: 7 * 86_400 + 1 }, 422, "spec.gracePeriodSeconds"],
  ])("refuses %j with %i", async (spec, status, field) => {
    const answer = await rotate(spec);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(field);
    expect(await works(v1)).toBe(true);
  });

  it("leaves nothing behind in a dry run (security book 53)", async () => {
    const before = await server.dump();
    const { status, body } = await rotate({ nonce: "a" }, undefined, "?dryRun=All");
    expect([status, body.status]).toEqual([201, {}]);
    expect(await server.dump()).toBe(before);
  });

  it("keeps no value, and none in clear (security book 38, 41)", async () => {
    const { body, text } = await rotate({ nonce: "the-nonce", gracePeriodSeconds: 60 });
    expect(text.split(body.status.key)).toHaveLength(2);
    const dump = await server.dump();
    for (const secret of [v1, body.status.key, "the-nonce"]) expect(dump).not.toContain(secret);
    const seen = await send("GET", "ownedaccesskeys/k");
    expect(seen.text).not.toContain("retired");
    expect(JSON.stringify(server.events)).not.toContain(body.status.key);
  });

  it("is refused for a key that is deleted and created again meanwhile", async () => {
    const storage = createMemoryStorage();
    let meanwhile: (() => Promise<unknown>) | undefined;
    const update = storage.update.bind(storage);
    vi.spyOn(storage, "update").mockImplementation(async (...args) => {
      const work = meanwhile;
      meanwhile = undefined;
      await work?.();
      return await update(...args);
    });
    await using raced = await createAccessKeyServer({ allows: () => true, storage });
    const call = (method: string, url: string, body?: object) =>
      raced.send({
        ...{ method, url, user: master, headers: { "content-type": "application/json" } },
        ...(body === undefined ? {} : { body }),
      });
    await call("POST", "users", { metadata: { name: "jane" }, spec: {} });
    const made = (name: string) => call("POST", "ownedaccesskeys", { metadata: { name }, spec: { user: "jane" } });
    const value = (await made("k")).body.spec.key;
    await made("another");
    // By another server.
    meanwhile = async () => {
      const { entries } = await storage.list("/");
      const entryOf = (name: string) => entries.find(({ key }) => key.endsWith(`/ownedaccesskeys/${name}`));
      const [old, again] = [entryOf("k"), entryOf("another")];
      if (old === undefined || again === undefined) throw new Error("no such record");
      await storage.delete(old.key, old.revision);
      await storage.create(old.key, again.value);
    };
    const { status, body } = await call("POST", "ownedaccesskeys/k/rotate", { spec: { nonce: "a" } });
    expect([status, body.message]).toEqual([409, expect.stringContaining("deleted and created again")]);
    await expect(raced.login(value)).rejects.toThrow();
  });

  it("is a change of the key: an edit that began before it is a conflict, and is made again", async () => {
    const { body: read } = await send("GET", "ownedaccesskeys/k");
    await rotate({ nonce: "a" });
    const { status } = await send("PUT", "ownedaccesskeys/k", { ...read, spec: { ...read.spec, displayName: "x" } });
    expect(status).toBe(409);
    const newest = (await send("GET", "ownedaccesskeys/k")).body;
    const again = { ...newest, spec: { ...newest.spec, displayName: "new" } };
    expect((await send("PUT", "ownedaccesskeys/k", again)).status).toBe(200);
  });

  it("a value that is set ends all that rotations left", async () => {
    await rotate({ nonce: "a", gracePeriodSeconds: 60 });
    const own = "dT4mZ8qW1xKc7RbY0nLs5VgJ2hPf9aUe6oEi3wBt";
    await server.send({
      method: "PATCH",
      url: "ownedaccesskeys/k",
      user: master,
      headers: { "content-type": "application/merge-patch+json" },
      body: { spec: { key: own } },
    });
    expect([await works(own), await works(v1)]).toEqual([true, false]);
    expect(await works(own)).toBe(true);
  });

  async function vitestUntil(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
  }
});
