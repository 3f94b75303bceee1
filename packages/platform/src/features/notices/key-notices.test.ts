import { randomBytes } from "node:crypto";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import type { Storage } from "@postern/apiserver/storage/storage";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KeyEvent } from "../access-keys/key-events.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";
import { createKeyNotices } from "./key-notices.ts";
import { decodeEntry } from "./notice-records.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAY_SECONDS = 86_400;
/** Of the controller. */
const LOOK = 30_000;
const LEADS = [7 * DAY_SECONDS, DAY_SECONDS];

let server: AccessKeyServer;
let running: Controller[];
let events: Map<string, KeyEvent>;
let sent: { readonly id: string; readonly body: any }[];
let deliveries: string[];
let noticed: string[];
/** Decisions that went into the store: the key, the lead time and the end. */
let decided: string[];
/** Answer of the receiver; true: it takes the notice. */
let isTaken: () => boolean | Promise<boolean>;
/** How many writes of Events fail before one succeeds. */
let eventFailures: number;
let faults: unknown[];

beforeEach(async () => {
  server = await createAccessKeyServer();
  running = [];
  events = new Map();
  sent = [];
  deliveries = [];
  noticed = [];
  decided = [];
  isTaken = () => true;
  eventFailures = 0;
  faults = [];
  await post("users", "jane", { email: "jane@example.test" });
  await post("teams", "devs", { displayName: "Developers" });
});

afterEach(async () => {
  stop();
  await server[Symbol.asyncDispose]();
});

const post = async (url: string, name: string, spec: object = {}) => {
  const answer = await server.send({ method: "POST", url, user: admin, body: { metadata: { name }, spec } });
  expect(answer.status, answer.text).toBe(201);
  return answer;
};
const patch = async (name: string, spec: object) => {
  const headers = { "content-type": "application/merge-patch+json" };
  const url = `ownedaccesskeys/${name}`;
  const answer = await server.send({ method: "PATCH", url, user: admin, headers, body: { spec } });
  expect(answer.status, answer.text).toBe(200);
};

function start({ leadSeconds = LEADS, withWebhook = true } = {}): Controller {
  const { names, keys, cache, storage, directory, runtime } = server;
  const { prefix } = createResourceKeys("management", {
    group: names.managementGroup,
    resource: "ownedaccesskeys",
    namespaced: false,
  });
  const records = "/registry/management/internal/key-notices/";
  const controller = createKeyNotices({
    port: { runtime, onError: (error) => void faults.push(error) },
    names,
    keys,
    keyRecords: { view: cache.view(prefix), prefix },
    activity: server.activity,
    noticeRecords: { view: cache.view(records), prefix: records },
    storage: notingDecisions(storage),
    directory,
    leadSeconds,
    async writeEvent(event, name) {
      if (eventFailures > 0) {
        eventFailures -= 1;
        throw new Error("the store is away");
      }
      if (events.has(name)) throw new ApiError({ code: 409, reason: "AlreadyExists", message: "there is one" });
      events.set(name, event);
    },
    webhook: withWebhook
      ? {
          async send({ id, body }) {
            sent.push({ id, body: JSON.parse(body) });
            if (!(await isTaken())) throw new Error("no");
          },
        }
      : undefined,
    metrics: {
      noticed: (lead) => noticed.push(lead),
      delivery: (result) => deliveries.push(result),
    },
  });
  running.push(controller);
  return controller;
}

/** A finished part of a notice is recorded in a write of its own. */
function notingDecisions(storage: Storage): Storage {
  const note = (key: string, value: Uint8Array): void => {
    const { pending } = decodeEntry({ key, value, revision: 1 });
    if (pending?.needsEvent === true && pending.needsDelivery) {
      decided.push(`${key} ${pending.leadSeconds} ${pending.end}`);
    }
  };
  return {
    get: (key: string) => storage.get(key),
    delete: (key: string, expected: number) => storage.delete(key, expected),
    async create(key: string, value: Uint8Array) {
      const revision = await storage.create(key, value);
      note(key, value);
      return revision;
    },
    async update(key: string, value: Uint8Array, expected: number) {
      const revision = await storage.update(key, value, expected);
      note(key, value);
      return revision;
    },
    // Nothing else of a store is used.
  } as unknown as Storage;
}

function stop(): void {
  for (const controller of running) controller[Symbol.dispose]();
  running = [];
}

const settle = async (): Promise<void> => {
  for (const controller of running) await controller.idle();
};
const passQuietly = async (milliseconds: number): Promise<void> => {
  server.time.advance(milliseconds);
  await settle();
};
/** Time passes, and what was due is done. */
const pass = async (milliseconds: number): Promise<void> => {
  await passQuietly(milliseconds);
  // At the time that it is now, everybody looks once more.
  server.time.advance(LOOK);
  await settle();
  await settle();
};

describe("createKeyNotices", () => {
  it("reports each lead time once, and names the subject of the key", async () => {
    await post("ownedaccesskeys", "janes", { user: "jane", ttl: 90 * DAY_SECONDS, displayName: "Laptop" });
    await post("ownedaccesskeys", "devs", { team: "devs", ttl: 90 * DAY_SECONDS });
    await post("ownedaccesskeys", "robots", { subject: "robot", ttl: 90 * DAY_SECONDS });
    start();
    await pass(82 * DAY);
    expect([events.size, sent.length]).toEqual([0, 0]);
    await pass(DAY);
    for (let hour = 0; hour < 30; hour++) await pass(HOUR);
    expect([...events.values()].map(({ message }) => message).sort()).toEqual(
      ["subject robot", "team devs", "user jane"].map(
        (owner) =>
          `The access key of the ${owner} expires in 6d23h, at 2026-04-01T00:00:00Z: create a new key in time, or raise spec.ttl, which requires the verb extend`,
      ),
    );
    expect([...events.values()][0]).toMatchObject({ type: "Warning", reason: "ExpiresSoon" });
    expect(sent.map(({ body }) => body.data.owner)).toEqual(
      expect.arrayContaining([
        { kind: "user", name: "jane", email: "jane@example.test" },
        { kind: "team", name: "devs", displayName: "Developers" },
        { kind: "subject", name: "robot" },
      ]),
    );
    expect(sent.find(({ body }) => body.data.accessKey.name === "janes")?.body).toMatchObject({
      type: "accesskey.expiring",
      data: { accessKey: { displayName: "Laptop", expirationTimestamp: "2026-04-01T00:00:00Z" }, leadTime: "7d" },
    });
    await pass(5 * DAY);
    expect([events.size, sent.length, noticed.filter((lead) => lead === "1d").length]).toEqual([6, 6, 3]);
    await pass(2 * DAY);
    expect([events.size, sent.length]).toEqual([6, 6]);
  });

  it("reports no keys without an end, with a short life, or that are disabled", async () => {
    await post("ownedaccesskeys", "endless", { user: "jane" });
    await post("ownedaccesskeys", "short", { user: "jane", ttl: DAY_SECONDS });
    await post("ownedaccesskeys", "off", { user: "jane", ttl: 8 * DAY_SECONDS, disabled: true });
    start();
    for (let hour = 0; hour < 8 * 24; hour += 6) await pass(6 * HOUR);
    expect([events.size, sent.length]).toEqual([0, 0]);
    expect(await server.dump()).not.toContain("key-notices");
  });

  it("waits for the last use where the life counts from it", async () => {
    await post("ownedaccesskeys", "used", { user: "jane", ttl: 3 * DAY_SECONDS, ttlAfterLastActivity: true });
    start();
    await pass(2 * DAY);
    expect(events.size).toBe(0);
    server.activity.record(server.keys.byName("used")?.uid ?? "", server.time.clock.now());
    await pass(DAY);
    expect(events.size).toBe(0);
    await pass(DAY + 5 * MINUTE);
    expect([...events.values()].map(({ involvedObject }) => involvedObject.name)).toEqual(["used"]);
  });

  it("reports once across restarts and on two servers", async () => {
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS });
    await pass(23 * DAY);
    start();
    start();
    await settle();
    await settle();
    expect([events.size, sent.length]).toEqual([1, 1]);
    stop();
    start();
    await settle();
    await pass(HOUR);
    expect([events.size, sent.length]).toEqual([1, 1]);
  });

  it("writes Events while the webhook does not answer, and waits for few answers at a time", async () => {
    isTaken = () => new Promise(() => {});
    for (const name of Array.from({ length: 12 }, (_, at) => `k-${at}`))
      await post("ownedaccesskeys", name, { user: "jane", ttl: 30 * DAY_SECONDS });
    await pass(23 * DAY);
    start();
    await expect.poll(() => events.size).toBe(12);
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  it("continues on the next leader until the Event is written and the webhook has accepted it", async () => {
    isTaken = () => false;
    eventFailures = 2;
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS });
    await pass(23 * DAY);
    start();
    await settle();
    await settle();
    expect([events.size, sent.length]).toEqual([0, 1]);
    await passQuietly(1_000);
    expect([events.size, sent.length]).toEqual([0, 2]);
    await passQuietly(1_000);
    expect(sent.length).toBe(2);
    await passQuietly(1_000);
    expect([events.size, sent.length]).toEqual([1, 3]);
    stop();
    isTaken = () => true;
    start();
    await settle();
    await settle();
    await pass(DAY);
    expect([events.size, sent.length]).toEqual([1, 4]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(deliveries).toEqual(["failed", "failed", "failed", "delivered"]);
    expect(faults).toContainEqual(
      new Error("the notice about the access key k was not delivered", { cause: new Error("no") }),
    );
  });

  it("gives up at the expiry of the key, and reports it", async () => {
    isTaken = () => false;
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS });
    await pass(29 * DAY + 23 * HOUR);
    start();
    for (let minute = 0; minute < 90; minute += 5) await pass(5 * MINUTE);
    expect(deliveries.at(-1)).toBe("abandoned");
    expect(deliveries.slice(0, -1).every((result) => result === "failed")).toBe(true);
    const { length } = sent;
    await pass(DAY);
    expect(sent.length).toBe(length);
    expect(deliveries.filter((result) => result === "abandoned").length).toBe(1);
  });

  it("reports a new expiry again, and forgets deleted keys", async () => {
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS });
    start();
    await pass(23 * DAY);
    await patch("k", { ttl: 60 * DAY_SECONDS });
    await pass(10 * DAY);
    expect(noticed).toEqual(["7d"]);
    await pass(20 * DAY);
    expect(noticed).toEqual(["7d", "7d"]);
    expect(await server.dump()).toContain("key-notices");
    await server.send({ method: "DELETE", url: "ownedaccesskeys/k", user: admin });
    await pass(MINUTE);
    expect(await server.dump()).not.toContain("key-notices");
  });

  it("neither keeps nor sends the value of a key", async () => {
    const key = randomBytes(24).toString("base64url");
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS, key });
    start();
    await pass(23 * DAY);
    expect(sent.length).toBe(1);
    expect(JSON.stringify(sent) + JSON.stringify([...events.values()])).not.toContain(key);
    expect(await server.dump()).not.toContain(key);
  });

  it("does without a webhook", async () => {
    await post("ownedaccesskeys", "k", { user: "jane", ttl: 30 * DAY_SECONDS });
    start({ withWebhook: false });
    await pass(29 * DAY);
    await pass(2 * DAY);
    expect([events.size, sent.length, deliveries.length]).toEqual([1, 0, 0]);
  });
});

type Step =
  | { readonly type: "pass"; readonly hours: number }
  | { readonly type: "make"; readonly days: number; readonly countsFromUse: boolean }
  | { readonly type: "change"; readonly key: number; readonly days: number }
  | { readonly type: "use"; readonly key: number }
  | { readonly type: "restart" }
  | { readonly type: "second server" }
  | { readonly type: "receiver"; readonly isTaken: boolean }
  | { readonly type: "events fail"; readonly times: number };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant("pass" as const), hours: fc.integer({ min: 1, max: 60 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant("make" as const),
        days: fc.integer({ min: 1, max: 20 }),
        countsFromUse: fc.boolean(),
      }),
    },
    fc.record({ type: fc.constant("change" as const), key: fc.nat(9), days: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ type: fc.constant("use" as const), key: fc.nat(9) }),
    fc.record({ type: fc.constant("restart" as const) }),
    fc.record({ type: fc.constant("second server" as const) }),
    fc.record({ type: fc.constant("receiver" as const), isTaken: fc.boolean() }),
    fc.record({ type: fc.constant("events fail" as const), times: fc.nat(3) }),
  ),
  { minLength: 10, maxLength: 60 },
);

describe("whatever happens", () => {
  const seed = Number(process.env["NOTICES_SEED"] ?? randomBytes(4).readInt32BE());

  it(`each key gets one notice per lead time and expiration, if its TTL is long enough (NOTICES_SEED=${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        stop();
        await server[Symbol.asyncDispose]();
        server = await createAccessKeyServer();
        [events, sent, deliveries, noticed, decided] = [new Map(), [], [], [], []];
        isTaken = () => true;
        eventFailures = 0;
        await post("users", "jane");
        const made: { readonly name: string; readonly uid: string; isChanged: boolean }[] = [];
        start();
        for (const step of taken) {
          if (step.type === "pass") for (let at = 0; at < step.hours; at += 12) await pass(12 * HOUR);
          if (step.type === "make") {
            const name = `k${made.length}`;
            const spec = { user: "jane", ttl: step.days * DAY_SECONDS, ttlAfterLastActivity: step.countsFromUse };
            const { body } = await post("ownedaccesskeys", name, spec);
            made.push({ name, uid: body.metadata.uid, isChanged: step.days <= 1 });
          }
          const key = "key" in step ? made[step.key] : undefined;
          if (key !== undefined) key.isChanged = true;
          if (step.type === "change" && key !== undefined) await patch(key.name, { ttl: step.days * DAY_SECONDS });
          if (step.type === "use" && key !== undefined) server.activity.record(key.uid, server.time.clock.now());
          if (step.type === "restart") {
            stop();
            start();
            await settle();
          }
          if (step.type === "second server" && running.length < 3) start();
          if (step.type === "receiver") isTaken = () => step.isTaken;
          if (step.type === "events fail") eventFailures = step.times;
        }
        isTaken = () => true;
        for (let hours = 0; hours < 31 * 24; hours += 12) await pass(12 * HOUR);

        expect(new Set(decided).size).toBe(decided.length);
        const told = [...events.values()].map(({ involvedObject: { uid }, message }) => `${uid} ${message}`);
        // Repeated requests carry the same notice, under the same id.
        const ids = new Map<string, string>();
        for (const { id, body } of sent) {
          const { uid, expirationTimestamp } = body.data.accessKey;
          const what = `${uid} ${body.data.leadTime} ${expirationTimestamp}`;
          expect(ids.get(what) ?? id).toBe(id);
          ids.set(what, id);
        }
        expect(new Set(ids.values()).size).toBe(ids.size);
        expect(noticed.length).toBe(decided.length);
        expect(ids.size).toBeLessThanOrEqual(decided.length);
        expect(told.length).toBeLessThanOrEqual(noticed.length);
        // These keys were not changed, and each lived through the day before its end while a server was leader.
        for (const { uid } of made.filter(({ isChanged }) => !isChanged)) {
          const about = [...ids.keys()].filter((what) => what.startsWith(`${uid} 1d `));
          expect(about.length).toBe(1);
        }
      }),
      { seed, numRuns: 15 },
    );
  });
});
