// A tenant's conversion webhook against the platform and other tenants, over the wire: as a way to addresses that only the platform reaches, as
// answers without an end, as a server that never answers, and as a reader of what its maker may not read.

import { converting } from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type AttackedWebhooks, endless, MAPS, startAttackedWebhooks } from "./testing/attacked-webhooks.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const hosts = (version: string) => `/apis/example.com/${version}/namespaces/default/hosts`;

let attacked: AttackedWebhooks;
let server: AttackedWebhooks["server"];
let webhook: AttackedWebhooks["webhook"];
let at: AttackedWebhooks["at"];
beforeAll(async () => {
  attacked = await startAttackedWebhooks();
  ({ server, webhook, at } = attacked);
});
afterEach(async () => {
  await at("demo", `${DEFINITIONS}/hosts.example.com`, { method: "DELETE" });
  await vi.waitFor(async () => expect((await at("demo", `${DEFINITIONS}/hosts.example.com`)).status).toBe(404));
  webhook.raw.clear();
});
afterAll(() => attacked?.[Symbol.asyncDispose]());

const definition = (conversion: object) => ({
  metadata: { name: "hosts.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "hosts", kind: "Host" },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    })),
    conversion,
  },
});
const byWebhook = (clientConfig: object) => ({
  strategy: "Webhook",
  webhook: { conversionReviewVersions: ["v1"], clientConfig: { caBundle: webhook.caBundle, ...clientConfig } },
});

/** With one object, stored as v1. */
async function define(clientConfig: object): Promise<void> {
  const made = await at("demo", DEFINITIONS, { body: definition(byWebhook(clientConfig)) });
  expect(made.status, made.text).toBe(201);
  const body = { apiVersion: "example.com/v1", kind: "Host", metadata: { name: "a" } };
  await vi.waitFor(async () => expect((await at("demo", hosts("v1"), { body })).status).toBe(201));
}

test.each(["127.0.0.2", "2130706434", "[::ffff:127.0.0.2]", "0.0.0.0", "169.254.169.254"])(
  "a webhook at %s is not dialled",
  async (name) => {
    await define({ url: `https://${name}:${attacked.canaryPort}/` });
    const { status, body } = await at("demo", `${hosts("v2")}/a`);
    expect([status, body.message]).toEqual([500, expect.stringContaining("its address is not allowed")]);
    expect(attacked.reached()).toBe(0);
  },
);

test("an endless response is cut off, and the stored version is still served", async () => {
  const closed: Promise<unknown>[] = [];
  webhook.raw.set("/endless", endless(closed));
  await define({ url: `${webhook.url}/endless` });
  expect((await at("demo", `${hosts("v2")}/a`)).body.message).toMatch(/the response has more than \d+ bytes/);
  await Promise.all(closed);
  expect((await at("demo", `${hosts("v1")}/a`)).status).toBe(200);
});

test("a webhook that never answers holds up its own readers alone", async () => {
  const held: (() => void)[] = [];
  const answer = converting((object, apiVersion) => ({ ...object, apiVersion }));
  webhook.raw.set("/held", (request, response, review) => {
    held.push(() => answer(request, response, review));
  });
  await define({ url: `${webhook.url}/held` });
  // More than one key may have under way at once.
  const reads = Array.from({ length: 90 }, () => at("demo", `${hosts("v2")}/a`));
  await vi.waitFor(() => expect(held.length).toBeGreaterThan(0));
  expect((await at("other", MAPS, { body: { metadata: { name: "free" } } })).status).toBe(201);
  expect((await at("demo", MAPS, { body: { metadata: { name: "free" } } })).status).toBe(201);
  expect((await at("demo", `${hosts("v1")}/a`)).status).toBe(200);
  let isOver = false;
  const all = Promise.all(reads).finally(() => {
    isOver = true;
  });
  await vi.waitFor(() => {
    for (const go of held.splice(0)) go();
    expect(isOver).toBe(true);
  });
  expect([...new Set((await all).map(({ status }) => status))]).toEqual([200]);
});

test("a key for a part of a cluster cannot configure conversion webhooks there", async () => {
  const resources = [
    { group: "", resources: ["configmaps"] },
    { group: "apiextensions.k8s.io", resources: ["customresourcedefinitions"] },
  ];
  const key = await server.newKey("narrow", { user: "admin", rules: [{ verbs: ["*"], resources }] });
  const refused = await at("demo", DEFINITIONS, { key, body: definition(byWebhook({ url: `${webhook.url}/x` })) });
  expect([refused.status, refused.body.details?.causes?.[0]?.field]).toEqual([422, "spec.conversion"]);
  const plain = await at("demo", DEFINITIONS, { key, body: definition({ strategy: "None" }) });
  expect(plain.status, plain.text).toBe(201);
  const patch = { spec: { conversion: byWebhook({ url: `${webhook.url}/x` }) } };
  const changed = await at("demo", `${DEFINITIONS}/hosts.example.com`, {
    key,
    method: "PATCH",
    headers: { "content-type": "application/merge-patch+json" },
    body: patch,
  });
  expect([changed.status, changed.body.details?.causes?.[0]?.field]).toEqual([422, "spec.conversion"]);
});
