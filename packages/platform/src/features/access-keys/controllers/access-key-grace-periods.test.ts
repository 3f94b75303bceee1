// Deletion of access keys with a grace period, and its end.

import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";
import { createAccessKeyGracePeriods } from "./access-key-grace-periods.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const MAX_SECONDS = 9_500_000_000;

let server: AccessKeyServer;
let controllers: Controller[];
const errors: unknown[] = [];

beforeEach(async () => {
  server = await createAccessKeyServer();
  controllers = [];
  await send("POST", "users", { metadata: { name: "jane" } });
});

afterEach(async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  expect(errors.splice(0)).toEqual([]);
});

const send = (method: string, url: string, body?: object) =>
  server.send({ method, url, user: admin, ...(body === undefined ? {} : { body }) } as never);
const create = async (name: string, spec: object = {}, metadata: object = {}): Promise<string> =>
  (await send("POST", "ownedaccesskeys", { metadata: { name, ...metadata }, spec: { user: "jane", ...spec } })).body
    .spec.key;
const get = async (name: string) => (await send("GET", `ownedaccesskeys/${name}`)).body;
const remove = (name: string, options: object, resource = "ownedaccesskeys") =>
  send("DELETE", `${resource}/${name}`, options);
const all = "/apis/storage.postern/v1/accesskeys";
const period = (gracePeriodSeconds: number) => ({ gracePeriodSeconds });
const names = async () =>
  (await send("GET", "ownedaccesskeys")).body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
const now = (): number => server.runtime.clock.now();
const endOf = async (name: string): Promise<number> => Date.parse((await get(name)).metadata.deletionTimestamp);

function start(): Controller {
  const controller = createAccessKeyGracePeriods({
    port: { runtime: server.runtime, onError: (error: unknown) => errors.push(error) },
    accessKeys: server.ownedAccessKeyResource,
    keys: server.keys,
    keyRecords: { view: server.ownedAccessKeyResource.view, prefix: server.ownedAccessKeyResource.keys.prefix },
  });
  controllers.push(controller);
  return controller;
}

const settle = async (controller: Controller, milliseconds: number): Promise<void> => {
  server.time.advance(milliseconds);
  await controller.idle();
};

describe("deletion with a grace period", () => {
  it.each(["ownedaccesskeys", all])(
    "keeps the key working until its end, and removes it then: %s",
    async (resource) => {
      const key = await create("k");
      const controller = start();
      await controller.idle();
      const began = now();
      const answer = await remove("k", period(30), resource);
      expect(answer).toMatchObject({
        status: 200,
        body: { metadata: { name: "k", deletionGracePeriodSeconds: 30, generation: 2 } },
      });
      expect(Math.abs((await endOf("k")) - began - 30_000)).toBeLessThan(1_000);
      await settle(controller, 28_000);
      expect(await server.login(key)).toBeDefined();
      await settle(controller, 2_000);
      await expect(server.login(key)).rejects.toMatchObject({ code: 401 });
      await controller.idle();
      expect(await names()).toEqual([]);
    },
  );

  it("takes the period from the query as well", async () => {
    await create("k");
    expect((await send("DELETE", "ownedaccesskeys/k?gracePeriodSeconds=60")).body.metadata).toMatchObject({
      deletionGracePeriodSeconds: 60,
    });
  });

  it.each([
    ["without a period", {}],
    ["with none", period(0)],
    ["with null", { gracePeriodSeconds: null }],
  ])("is immediate %s", async (_, options) => {
    const key = await create("k");
    expect((await remove("k", options)).body).toMatchObject({ kind: "Status", status: "Success" });
    expect(await names()).toEqual([]);
    await expect(server.login(key)).rejects.toMatchObject({ code: 401 });
  });

  it("takes a negative period for one second, as upstream", async () => {
    await create("k");
    expect((await remove("k", period(-5))).body.metadata.deletionGracePeriodSeconds).toBe(1);
  });

  it.each([MAX_SECONDS + 1, Number.MAX_SAFE_INTEGER])("refuses a period of %d seconds", async (seconds) => {
    await create("k");
    const refused = { code: 422, message: expect.stringContaining(`must be less than or equal to ${MAX_SECONDS}`) };
    await expect(remove("k", period(seconds)).then(thrownBy)).rejects.toMatchObject(refused);
    expect((await get("k")).metadata.deletionTimestamp).toBeUndefined();
    expect((await remove("k", period(MAX_SECONDS))).body.metadata.deletionTimestamp).toMatch(/^23\d\d-/);
  });

  it("can be shortened, never lengthened or taken back", async () => {
    await create("k");
    await remove("k", period(600));
    const end = await endOf("k");
    for (const longer of [600, 601, 86_400]) {
      const { body } = await remove("k", period(longer));
      expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 600 });
      expect(Date.parse(body.metadata.deletionTimestamp)).toBe(end);
    }
    await remove("k", period(60));
    expect(await endOf("k")).toBe(end - 540_000);
    const patched = await send("PUT", "ownedaccesskeys/k", {
      ...(await get("k")),
      metadata: { name: "k", uid: (await get("k")).metadata.uid },
      spec: { user: "jane", description: "changed" },
    });
    expect(patched.body).toMatchObject({
      spec: { description: "changed" },
      metadata: { deletionGracePeriodSeconds: 60 },
    });
    expect(await endOf("k")).toBe(end - 540_000);
    expect((await remove("k", {})).body.kind).toBe("Status");
    expect(await names()).toEqual([]);
  });

  it("removes at once what a shorter period, which counts from the first request, has ended already", async () => {
    await create("k");
    await remove("k", period(600));
    server.time.advance(120_000);
    expect((await remove("k", period(60))).body.kind).toBe("Status");
    expect(await names()).toEqual([]);
  });

  it("changes nothing for a dry run, and checks preconditions", async () => {
    await create("k");
    const dry = await remove("k", { ...period(60), dryRun: ["All"] });
    expect(dry.body.metadata.deletionGracePeriodSeconds).toBe(60);
    expect((await get("k")).metadata.deletionTimestamp).toBeUndefined();
    const stale = { ...period(60), preconditions: { resourceVersion: "1" } };
    await expect(remove("k", stale).then(thrownBy)).rejects.toMatchObject({ code: 409 });
    const { uid } = (await get("k")).metadata;
    expect((await remove("k", { ...period(60), preconditions: { uid } })).status).toBe(200);
  });

  it("holds a key with finalizers after its end, refused, until the last one is removed", async () => {
    const key = await create("k", {}, { finalizers: ["example.com/a"] });
    const controller = start();
    await remove("k", period(10));
    const patch = async (finalizers: readonly string[]) => {
      const object = await get("k");
      return send("PUT", "ownedaccesskeys/k", { ...object, metadata: { ...object.metadata, finalizers } });
    };
    await expect(patch(["example.com/a", "example.com/b"]).then(thrownBy)).rejects.toMatchObject({ code: 422 });
    await settle(controller, 11_000);
    await expect(server.login(key)).rejects.toMatchObject({ code: 401 });
    await controller.idle();
    expect((await get("k")).metadata.deletionGracePeriodSeconds).toBe(0);
    await patch([]);
    expect(await names()).toEqual([]);
  });

  it("keeps a key whose finalizers go first until its end", async () => {
    const key = await create("k", {}, { finalizers: ["example.com/a"] });
    const controller = start();
    await remove("k", period(10));
    const object = await get("k");
    await send("PUT", "ownedaccesskeys/k", { ...object, metadata: { ...object.metadata, finalizers: [] } });
    expect(await server.login(key)).toBeDefined();
    await settle(controller, 11_000);
    await controller.idle();
    expect(await names()).toEqual([]);
  });

  it("ends before its period with its TTL, and when it is disabled", async () => {
    const short = await create("short", { ttl: 20 });
    const disabled = await create("disabled");
    await remove("short", period(600));
    await remove("disabled", period(600));
    await send("PUT", "ownedaccesskeys/disabled", {
      ...(await get("disabled")),
      spec: { user: "jane", disabled: true },
    });
    await expect(server.login(disabled)).rejects.toMatchObject({ code: 401 });
    server.time.advance(21_000);
    await expect(server.login(short)).rejects.toMatchObject({ code: 401 });
  });

  it("is not undone by a clock that is set back, nor delayed by one that was wrong", async () => {
    const key = await create("k");
    await remove("k", period(30));
    server.time.advance(31_000);
    await expect(server.login(key)).rejects.toMatchObject({ code: 401 });
    server.time.setTimeOfDay(now() - 86_400_000);
    await expect(server.login(key)).rejects.toMatchObject({ code: 401 });
    await start().idle();
    expect(await names()).toEqual([]);
  });

  it("is ended after a restart, also where its end passed meanwhile", async () => {
    await create("gone");
    await create("later");
    await create("far");
    await remove("gone", period(10));
    await remove("later", period(100));
    await remove("far", period(MAX_SECONDS));
    server.time.advance(60_000);
    const controller = start();
    await controller.idle();
    await controller.idle();
    expect(await names()).toEqual(["far", "later"]);
    for (let at = 0; at < 3; at++) await settle(controller, 41_000);
    await controller.idle();
    expect(await names()).toEqual(["far"]);
  });

  it("ends children with it, which may not be made to last longer", async () => {
    const key = await create("parent", { ttl: 7200 });
    const as = await server.login(key);
    const body = { metadata: { name: "child" }, spec: { user: "jane", ttl: 3600 } };
    const child = (await server.send({ method: "POST", url: "ownedaccesskeys", user: as.user, as, body })).body.spec
      .key;
    await remove("parent", period(30));
    server.time.advance(20_000);
    expect(await server.login(child)).toBeDefined();
    const late = await server.send({
      method: "POST",
      url: "ownedaccesskeys",
      user: as.user,
      as,
      body: { metadata: { name: "late" }, spec: { user: "jane", ttl: 5 } },
    });
    expect(late.status).toBe(201);
    server.time.advance(11_000);
    for (const value of [child, late.body.spec.key])
      await expect(server.login(value)).rejects.toMatchObject({ code: 401 });
  });

  it("passes its end on to keys that are made with it while it lasts", async () => {
    const as = await server.login(await create("parent"));
    const make = async (name: string): Promise<string> => {
      const body = { metadata: { name }, spec: { user: "jane" } };
      return (await server.send({ method: "POST", url: "ownedaccesskeys", user: as.user, as, body })).body.spec.key;
    };
    const before = await make("before");
    await remove("parent", period(30));
    const since = await make("since");
    server.time.advance(31_000);
    expect(await server.login(before)).toBeDefined();
    await expect(server.login(since)).rejects.toMatchObject({ code: 401 });
  });

  it("closes what is open with the key at its end", async () => {
    const { credential } = await server.login(await create("k"));
    let revoked = 0;
    using _watching = credential?.onRevoked?.(() => void revoked++) ?? { [Symbol.dispose]() {} };
    await remove("k", period(30));
    expect(revoked).toBe(0);
    server.time.advance(30_000);
    expect(revoked).toBe(1);
  });

  it("deletes a collection with a period", async () => {
    await create("a");
    await create("b");
    await send("DELETE", "ownedaccesskeys?gracePeriodSeconds=60");
    expect(await names()).toEqual(["a", "b"]);
    for (const name of ["a", "b"]) expect((await get(name)).metadata.deletionGracePeriodSeconds).toBe(60);
  });

  it("is not taken by kinds without a grace period", async () => {
    expect((await send("DELETE", "users/jane?gracePeriodSeconds=60")).body.kind).toBe("Status");
  });
});

/** Rejects with the Status of a refusal. */
function thrownBy<T extends { readonly status: number; readonly body: unknown }>(answer: T): T {
  if (answer.status >= 400) throw answer.body;
  return answer;
}
