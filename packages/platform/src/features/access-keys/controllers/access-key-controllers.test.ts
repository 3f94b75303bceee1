// Cleanup of access keys: the reaper of expired ones, and the collector of those whose owner is gone.

import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { auditedInto } from "@postern/apiserver/testing/unaudited";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";
import { createAccessKeyOwners } from "./access-key-owners.ts";
import { createAccessKeyReaper } from "./access-key-reaper.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };

let server: AccessKeyServer;
let controllers: Controller[];
const errors: unknown[] = [];

beforeEach(async () => {
  server = await createAccessKeyServer();
  controllers = [];
  await post("users", "jane");
  await post("teams", "devs");
});

afterEach(async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  expect(errors).toEqual([]);
});

const post = (url: string, name: string, spec: object = {}) =>
  server.send({ method: "POST", url, user: admin, body: { metadata: { name }, spec } });
const remove = (url: string) => server.send({ method: "DELETE", url, user: admin });
const names = async () =>
  (await server.send({ url: "ownedaccesskeys", user: admin })).body.items.map((item: any) => item.metadata.name);
const start = (controller: Controller): Controller => {
  controllers.push(controller);
  return controller;
};

const dependencies = () => ({
  port: { runtime: server.runtime, onError: (error: unknown) => errors.push(error) },
  accessKeys: server.ownedAccessKeyResource,
  users: server.userResource,
  teams: server.teamResource,
  keys: server.keys,
});

describe("createAccessKeyReaper", () => {
  it("deletes only what has expired", async () => {
    await post("ownedaccesskeys", "short", { user: "jane", ttl: 60 });
    await post("ownedaccesskeys", "long", { user: "jane", ttl: 3600 });
    await post("ownedaccesskeys", "endless", { user: "jane" });
    await post("ownedaccesskeys", "disabled", { user: "jane", disabled: true });
    const reaper = start(createAccessKeyReaper({ ...dependencies(), keepExpiredSeconds: 0 }));
    await reaper.idle();
    expect((await names()).length).toBe(4);
    server.time.advance(60_000);
    await reaper.idle();
    server.time.advance(15_000);
    await reaper.idle();
    expect(await names()).toEqual(["disabled", "endless", "long"]);
    expect(server.events.at(-1)).toMatchObject({ reason: "Expired", involvedObject: { name: "short" } });
  });

  it("keeps expired keys for the configured time, refused all the while", async () => {
    const { body } = await post("ownedaccesskeys", "short", { user: "jane", ttl: 60 });
    const reaper = start(createAccessKeyReaper({ ...dependencies(), keepExpiredSeconds: 600 }));
    const pass = async (milliseconds: number): Promise<void> => {
      server.time.advance(milliseconds);
      await reaper.idle();
    };
    await pass(60_000);
    await pass(590_000);
    expect(await names()).toEqual(["short"]);
    await expect(server.login(body.spec.key)).rejects.toMatchObject({ code: 401 });
    await pass(10_000);
    await pass(15_000);
    expect(await names()).toEqual([]);
    expect(server.events.at(-1)).toMatchObject({ reason: "Expired", involvedObject: { name: "short" } });
  });

  it("records the deletion of a key that finalizers hold once, however often it looks at it", async () => {
    const recorded: string[] = [];
    const body = { metadata: { name: "held", finalizers: ["example.com/held"] }, spec: { user: "jane", ttl: 60 } };
    await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body });
    const { port, ...rest } = dependencies();
    const audited = { ...port, audit: auditedInto(recorded) };
    const reaper = start(createAccessKeyReaper({ ...rest, port: audited, keepExpiredSeconds: 0 }));
    for (let sweep = 0; sweep < 8; sweep++) {
      server.time.advance(15_000);
      await reaper.idle();
    }
    expect(recorded).toEqual(["delete /apis/management.postern/v1/ownedaccesskeys/held"]);
    await server.send({
      method: "PUT",
      url: "ownedaccesskeys/held",
      user: admin,
      body: { metadata: { name: "held" }, spec: body.spec },
    });
    expect(await names()).toEqual([]);
  });

  it("leaves a key that lives by its use the time until a use elsewhere is written", async () => {
    await post("ownedaccesskeys", "used", { user: "jane", ttl: 60, ttlAfterLastActivity: true });
    server.time.advance(100_000);
    await start(createAccessKeyReaper({ ...dependencies(), keepExpiredSeconds: 0 })).idle();
    expect(await names()).toEqual(["used"]);
    server.time.advance(100_000);
    await start(createAccessKeyReaper({ ...dependencies(), keepExpiredSeconds: 0 })).idle();
    expect(await names()).toEqual([]);
  });

  it("keeps up with many (security book 54)", async () => {
    for (let at = 0; at < 300; at++) await post("ownedaccesskeys", `k${at}`, { user: "jane", ttl: 1 });
    server.time.advance(1_000);
    await start(createAccessKeyReaper({ ...dependencies(), keepExpiredSeconds: 0 })).idle();
    expect(await names()).toEqual([]);
  });
});

describe("createAccessKeyOwners", () => {
  beforeEach(async () => {
    await post("users", "joe");
    await post("ownedaccesskeys", "janes", { user: "jane" });
    await post("ownedaccesskeys", "joes", { user: "joe" });
    await post("ownedaccesskeys", "devs", { team: "devs" });
    await post("ownedaccesskeys", "robots", { subject: "robot" });
  });

  it("collects the keys of users and teams that are deleted", async () => {
    const owners = start(createAccessKeyOwners(dependencies()));
    await owners.idle();
    expect((await names()).length).toBe(4);
    await remove("users/jane");
    await remove("teams/devs");
    await owners.idle();
    expect(await names()).toEqual(["joes", "robots"]);
    expect(server.events.slice(-2).map(({ reason }) => reason)).toEqual(["OwnerGone", "OwnerGone"]);
  });

  it("collects what was left while it did not run, also under a new owner of the same name", async () => {
    await remove("users/jane");
    await post("users", "jane");
    await post("ownedaccesskeys", "new", { user: "jane" });
    await start(createAccessKeyOwners(dependencies())).idle();
    expect(await names()).toEqual(["devs", "joes", "new", "robots"]);
  });

  it("collects nothing for an owner that only memory does not know", async () => {
    const { view, genericStore: store, definition, keys, fieldManager } = server.userResource;
    const blind: CacheView = {
      revision: view.revision,
      changedRevision: view.changedRevision,
      size: 0,
      get: () => undefined,
      list: () => [],
      count: () => 0,
      subscribe: (...request) => view.subscribe(...request),
    };
    const users = { genericStore: store, definition, keys, fieldManager, view: blind };
    await start(createAccessKeyOwners({ ...dependencies(), users })).idle();
    expect((await names()).length).toBe(4);
  });
});
