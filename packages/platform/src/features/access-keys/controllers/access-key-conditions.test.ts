// The condition Ready of access keys, which also remembers that a key has ended.

import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";
import { createAccessKeyConditions } from "./access-key-conditions.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const DAY_MS = 86_400_000;

let storage: ReturnType<typeof createMemoryStorage>;
const opened: { readonly server: AccessKeyServer; readonly controller: Controller }[] = [];

beforeEach(() => {
  storage = createMemoryStorage();
});
afterEach(async () => {
  await stop();
  await storage[Symbol.asyncDispose]();
});

async function stop(): Promise<void> {
  for (const { server, controller } of opened.splice(0)) {
    controller[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  }
}

/** `at` in milliseconds since the epoch. */
async function start(at?: number): Promise<{ readonly server: AccessKeyServer; readonly controller: Controller }> {
  const server = await createAccessKeyServer({ storage });
  if (at !== undefined) server.time.setTimeOfDay(at);
  await server.keys.whenRead();
  const { view, keys } = server.ownedAccessKeyResource;
  const controller = createAccessKeyConditions({
    port: {
      runtime: server.runtime,
      onError(error) {
        throw error;
      },
    },
    keys: server.keys,
    keyRecords: { view, prefix: keys.prefix },
    storage,
    users: server.userResource,
  });
  opened.push({ server, controller });
  await controller.idle();
  return { server, controller };
}

/** Step by step, so that what waits for its time is done in between. */
async function pass(seconds: number, { server, controller } = opened.at(-1) as (typeof opened)[number]): Promise<void> {
  for (let at = 0; at < seconds; at++) {
    server.time.advance(1_000);
    await controller.idle();
  }
}

const send = (server: AccessKeyServer, method: string, url: string, body?: object) =>
  server.send({ method, url, user: admin, ...(body === undefined ? {} : { body }) } as never);
const create = async (server: AccessKeyServer, name: string, spec: object): Promise<string> => {
  await send(server, "POST", "users", { metadata: { name: "jane" } });
  const object = { metadata: { name }, spec: { user: "jane", ...spec } };
  return (await send(server, "POST", "ownedaccesskeys", object)).body.spec.key;
};
const update = async (server: AccessKeyServer, name: string, spec: object) => {
  const { body } = await send(server, "GET", `ownedaccesskeys/${name}`);
  return send(server, "PUT", `ownedaccesskeys/${name}`, { ...body, spec: { ...body.spec, ...spec } });
};
const readyOf = async (server: AccessKeyServer, name: string) => {
  const { body } = await send(server, "GET", `ownedaccesskeys/${name}`);
  const [{ status, reason }] = body.status.conditions;
  return `${status} ${reason}`;
};
const stateOf = (server: AccessKeyServer, key: string) =>
  server.login(key).then(
    () => "accepted",
    ({ code }: { code: number }) => code,
  );

describe("a key that has ended", () => {
  it("is marked at its end, not with the next sweep", async () => {
    const { server, controller } = await start();
    await create(server, "k", { ttl: 7 });
    await controller.idle();
    await pass(7);
    expect(await readyOf(server, "k")).toBe("False Expired");
  });

  it.each([
    ["a day", DAY_MS],
    ["a month", 30 * DAY_MS],
    ["some seconds", 5_000],
  ])("stays so after a restart with a clock that was set back by %s", async (_, back) => {
    const first = await start();
    const key = await create(first.server, "k", { ttl: 60 });
    const endless = await create(first.server, "endless", {});
    await first.controller.idle();
    await pass(61);
    expect(await readyOf(first.server, "k")).toBe("False Expired");
    const now = first.server.time.clock.now();
    await stop();
    const { server, controller } = await start(now - back);
    expect([await stateOf(server, key), await stateOf(server, endless)]).toEqual([401, "accepted"]);
    await pass(30);
    await controller.idle();
    expect([await stateOf(server, key), await readyOf(server, "k")]).toEqual([401, "False Expired"]);
    server.time.setTimeOfDay(now);
    expect(await stateOf(server, key)).toBe(401);
  });

  it("is not revived by writes while the clock is wrong, except by a later end", async () => {
    const { server } = await start();
    const key = await create(server, "k", { ttl: 60 });
    await pass(61);
    expect(await readyOf(server, "k")).toBe("False Expired");
    server.time.setTimeOfDay(server.time.clock.now() - DAY_MS);
    for (const spec of [
      { description: "changed" },
      { ttl: 30 },
      { disabled: true },
      { disabled: false },
      { ttl: 60 },
    ]) {
      await update(server, "k", spec);
      expect([spec, await stateOf(server, key)]).toEqual([spec, 401]);
    }
    server.time.setTimeOfDay(server.time.clock.now() + DAY_MS);
    await update(server, "k", { ttl: 7200 });
    expect(await stateOf(server, key)).toBe("accepted");
  });

  it("is not taken for ended by its use while another server may know of a later one", async () => {
    const { server, controller } = await start();
    await create(server, "k", { ttl: 60, ttlAfterLastActivity: true });
    await pass(100);
    await controller.idle();
    expect(await readyOf(server, "k")).toBe("True Accepted");
    await pass(100);
    expect(await readyOf(server, "k")).toBe("False Expired");
  });
});

describe("a key that is deleted with a grace period", () => {
  it("says so, and stays accepted", async () => {
    const { server, controller } = await start();
    const key = await create(server, "k", {});
    await send(server, "DELETE", "ownedaccesskeys/k?gracePeriodSeconds=60");
    await controller.idle();
    expect([await readyOf(server, "k"), await stateOf(server, key)]).toEqual(["True Terminating", "accepted"]);
    await pass(61);
    expect(await readyOf(server, "k")).toBe("False Deleting");
  });
});
