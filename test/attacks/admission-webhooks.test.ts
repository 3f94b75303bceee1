// A tenant's webhooks against the platform and other tenants: as a way to addresses that only the platform reaches, as answers without an end, as
// loops, and as servers that never answer.

import { once } from "node:events";
import { patching } from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type AttackedWebhooks, endless, MAPS, startAttackedWebhooks } from "./testing/attacked-webhooks.ts";

const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

let attacked: AttackedWebhooks;
let server: AttackedWebhooks["server"];
let webhook: AttackedWebhooks["webhook"];
let at: AttackedWebhooks["at"];
beforeAll(async () => {
  attacked = await startAttackedWebhooks();
  ({ server, webhook, at } = attacked);
});
afterEach(async () => {
  expect((await at("demo", CONFIGURATIONS, { method: "DELETE" })).status).toBe(200);
  webhook.asked.length = 0;
  webhook.raw.clear();
  webhook.answers.clear();
});
afterAll(() => attacked?.[Symbol.asyncDispose]());

const write = (cluster: string, name: string) => at(cluster, MAPS, { body: { metadata: { name } } });

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps", "secrets"] };
async function configure(clientConfig: object, more: object = {}): Promise<void> {
  const hook = { name: "a.example.com", sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 2 };
  const webhooks = [{ ...hook, rules: [rule], clientConfig: { caBundle: webhook.caBundle, ...clientConfig }, ...more }];
  await at("demo", CONFIGURATIONS, { method: "DELETE" });
  const made = await at("demo", CONFIGURATIONS, { body: { metadata: { name: "a" }, webhooks } });
  expect(made.status, made.text).toBe(201);
}

test.each([
  "127.0.0.2",
  "2130706434",
  "0x7f.2",
  "[::ffff:127.0.0.2]",
  "[64:ff9b::7f00:2]",
  "0.0.0.0",
  "[::]",
  "169.254.169.254",
  "100.100.100.200",
])("a webhook at %s is not dialled", async (host) => {
  await configure({ url: `https://${host}:${attacked.canaryPort}/` });
  const { status, body } = await write("demo", "x");
  expect([status, body.message]).toEqual([500, expect.stringContaining("its address is not allowed")]);
  expect(attacked.reached()).toBe(0);
});

test("neither a Service nor a redirect leads to an address that a URL may not name", async () => {
  const external = { metadata: { name: "far" }, spec: { type: "ExternalName", externalName: "127.0.0.2" } };
  expect((await at("demo", "/api/v1/namespaces/default/services", { body: external })).status).toBe(201);
  await configure({ service: { name: "far", namespace: "default", port: attacked.canaryPort } });
  expect((await write("demo", "x")).body.message).toContain("its address is not allowed");
  for (const code of [301, 302, 307, 308]) {
    webhook.raw.set("/", (_request, response) =>
      response.writeHead(code, { location: `https://127.0.0.2:${attacked.canaryPort}/` }).end(),
    );
    await configure({ url: `${webhook.url}/` });
    expect((await write("demo", "x")).body.message).toContain(
      `responded with code ${code}, and redirects are not followed`,
    );
  }
  expect(attacked.reached()).toBe(0);
});

test("an endless response is cut off, and a slow one has its deadline", async () => {
  const closed: Promise<unknown>[] = [];
  webhook.raw.set("/endless", endless(closed));
  await configure({ url: `${webhook.url}/endless` });
  expect((await write("demo", "x")).body.message).toContain("the response has more than 4194304 bytes");
  await Promise.all(closed);
  webhook.raw.set("/slow", (_request, response) => {
    closed.push(once(response, "close"));
    response.write("{");
  });
  await configure({ url: `${webhook.url}/slow` }, { timeoutSeconds: 1 });
  expect((await write("demo", "x")).body.message).toContain("context deadline exceeded");
  await Promise.all(closed);
});

test("a patch that doubles, or nests, or has too many parts is refused", async () => {
  const bombs = {
    doubling: [
      { op: "add", path: "/data", value: { a: "x".repeat(1_000) } },
      ...Array.from({ length: 30 }, (_, index) => ({ op: "copy", from: "/data", path: `/data/${index}` })),
    ],
    nesting: Array.from({ length: 2_000 }, (_, index) => ({
      op: "add",
      path: `/data${"/a".repeat(index)}`,
      value: {},
    })),
    many: Array.from({ length: 10_001 }, () => ({ op: "add", path: "/data", value: {} })),
    wide: [
      {
        op: "add",
        path: "/data",
        value: Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [index, ""])),
      },
    ],
  };
  await configure({ url: `${webhook.url}/bomb` });
  for (const [name, operations] of Object.entries(bombs)) {
    webhook.answers.set("/bomb", () => patching(...operations));
    expect((await write("demo", name)).status, name).toBe(500);
  }
  expect((await at("demo", `${MAPS}/doubling`)).status).toBe(404);
});

test("a webhook that writes what it is asked about ends", async () => {
  let depth = 0;
  webhook.raw.set("/loop", async (_request, response, review) => {
    const inner = await write("demo", `loop-${++depth}`);
    const { uid } = review.request;
    const allowed = inner.status === 201;
    response.end(
      JSON.stringify({ ...review, request: undefined, response: { uid, allowed, status: { message: "as below" } } }),
    );
  });
  await configure({ url: `${webhook.url}/loop` }, { timeoutSeconds: 30 });
  const { status, body } = await write("demo", "loop-0");
  expect([status, body.message]).toEqual([400, expect.stringContaining("as below")]);
  // One server has at most twice as many of the 100 calls of a cluster as are free.
  expect(depth).toBe(67);
});

test("webhooks that never answer hold up their own requests alone, and see no other tenant's objects", async () => {
  const held: (() => void)[] = [];
  const all = 66;
  const allHeld = new Promise<void>((resolve) => {
    webhook.raw.set("/held", (_request, response, review) => {
      const answer = {
        apiVersion: review.apiVersion,
        kind: review.kind,
        response: { uid: review.request.uid, allowed: true },
      };
      held.push(() => response.end(JSON.stringify(answer)));
      if (held.length === all) resolve();
    });
  });
  await configure({ url: `${webhook.url}/held` }, { timeoutSeconds: 30 });
  const writes = Array.from({ length: all }, (_, index) => write("demo", `held-${index}`));
  await allHeld;
  // More than one key may have under way at once: those that wait for others are not among them.
  expect((await write("other", "free")).status).toBe(201);
  expect(
    (await at("other", "/api/v1/namespaces/default/secrets", { body: { metadata: { name: "free" } } })).status,
  ).toBe(201);
  expect((await at("demo", `${MAPS}/held-0`)).status).toBe(404);
  expect((await at("demo", "/api/v1/namespaces", { body: { metadata: { name: "free" } } })).status).toBe(201);
  expect(webhook.asked.length).toBe(all);
  for (const answer of held) answer();
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array.from({ length: all }, () => 201));
  expect(webhook.asked.length).toBe(all);
});

// An administrator's requests have places of their own. These have the share of one key, which is less than they are.
test("a tenant's own requests wait for its webhooks without a place among those that are worked on", async () => {
  const theirs = (path: string, options: object = {}) => at("theirs", path, { key: server.good, ...options });
  await attacked.makeCluster("theirs", { owner: { user: "good" } }, server.good);
  const held: (() => void)[] = [];
  const all = 60;
  const allHeld = new Promise<void>((resolve) => {
    webhook.raw.set("/theirs", (_request, response, review) => {
      const { apiVersion, kind, request } = review;
      const answer = { apiVersion, kind, response: { uid: request.uid, allowed: true } };
      held.push(() => response.end(JSON.stringify(answer)));
      if (held.length === all) resolve();
    });
  });
  const clientConfig = { url: `${webhook.url}/theirs`, caBundle: webhook.caBundle };
  const hook = { name: "a.example.com", sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 30 };
  const webhooks = [{ ...hook, rules: [rule], clientConfig }];
  expect((await theirs(CONFIGURATIONS, { body: { metadata: { name: "a" }, webhooks } })).status).toBe(201);
  const writes = Array.from({ length: all }, (_, index) =>
    theirs(MAPS, { body: { metadata: { name: `held-${index}` } } }),
  );
  await allHeld;
  expect((await theirs("/api/v1/namespaces", { body: { metadata: { name: "free" } } })).status).toBe(201);
  for (const answer of held) answer();
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array.from({ length: all }, () => 201));
});

test("a key for a part of a cluster cannot configure webhooks there", async () => {
  const resources = [
    { group: "", resources: ["configmaps"] },
    { group: "admissionregistration.k8s.io", resources: ["mutatingwebhookconfigurations"] },
  ];
  const key = await server.newKey("narrow", { user: "admin", rules: [{ verbs: ["*"], resources }] });
  const webhooks = [
    {
      name: "a.example.com",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      rules: [rule],
      clientConfig: { url: `${webhook.url}/` },
    },
  ];
  expect((await at("demo", MAPS, { key, body: { metadata: { name: "own" } } })).status).toBe(201);
  expect((await at("demo", CONFIGURATIONS, { key, body: { metadata: { name: "b" }, webhooks } })).status).toBe(403);
});
