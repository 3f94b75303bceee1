import { afterEach, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";

let server: AccessKeyServer;
afterEach(() => server[Symbol.asyncDispose]());

const send = (method: string, url: string, body?: unknown, contentType = "application/json") =>
  server.send({
    method,
    url,
    body,
    user: { name: "root", groups: ["system:masters"] },
    headers: { "content-type": contentType },
  });
const key = (name: string, spec: object) => ({
  apiVersion: "management.postern/v1",
  kind: "OwnedAccessKey",
  metadata: { name },
  spec,
});
const create = (name: string, spec: object) => send("POST", "ownedaccesskeys", key(name, spec));
const text = (length: number) => "x".repeat(length);

it("counts the bytes of an owner's keys, whatever writes them", async () => {
  server = await createAccessKeyServer({ ownerBytes: 10_000 });
  for (const name of ["jane", "joe"]) await send("POST", "users", { metadata: { name }, spec: {} });
  expect((await create("a", { user: "jane", description: text(6000) })).status).toBe(201);
  const refused = await create("b", { user: "jane", description: text(6000) });
  expect(refused.status).toBe(507);
  expect(refused.body.message).toMatch(
    /the user "jane" has 1 access keys with \d+ bytes, and the limit is 10000 bytes/,
  );
  expect((await create("b", { user: "joe", description: text(6000) })).status).toBe(201);

  const grown = { description: text(12_000) };
  const merge = await send("PATCH", "ownedaccesskeys/a", { spec: grown }, "application/merge-patch+json");
  const json = await send(
    "PATCH",
    "ownedaccesskeys/a",
    [{ op: "replace", path: "/spec/description", value: text(12_000) }],
    "application/json-patch+json",
  );
  const apply = await send(
    "PATCH",
    "ownedaccesskeys/a?fieldManager=test&force=true",
    key("a", { user: "jane", ...grown }),
    "application/apply-patch+yaml",
  );
  const put = await send("PUT", "ownedaccesskeys/a", key("a", { user: "jane", ...grown }));
  const labels = { metadata: { annotations: { note: text(12_000) } } };
  const annotated = await send("PATCH", "ownedaccesskeys/a", labels, "application/merge-patch+json");
  const administrators = await send("POST", "/apis/storage.postern/v1/accesskeys", {
    metadata: { name: "c" },
    spec: { user: "jane", description: text(6000), key: "Gk7xZ2tLr9Wc5VbN1sKd8YgH3jPf6aUe0oEi4wBt" },
  });
  const statuses = [merge, json, apply, put, annotated, administrators].map(({ status }) => status);
  expect(statuses).toEqual([507, 507, 507, 507, 507, 507]);

  // The key of another owner counts for the new one.
  const moved = await send("PATCH", "ownedaccesskeys/b", { spec: { user: "jane" } }, "application/merge-patch+json");
  expect(moved.status).toBe(507);
  const smaller = await send(
    "PATCH",
    "ownedaccesskeys/a",
    { spec: { description: "" } },
    "application/merge-patch+json",
  );
  expect(smaller.status).toBe(200);
  expect((await create("d", { user: "jane", description: text(6000) })).status).toBe(201);
  expect(server.keys.usageOf({ kind: "user", name: "jane" }).objects).toBe(2);
  await send("DELETE", "ownedaccesskeys/d");
  expect(server.keys.usageOf({ kind: "user", name: "jane" }).objects).toBe(1);
});

it("limits the size of one key, in whichever fields it is", async () => {
  server = await createAccessKeyServer();
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const values = Array.from({ length: 500 }, (_, index) => `${index}`.padEnd(600, "x"));
  const resources = [{ group: "", resources: ["pods"], resourceNames: values }];
  const large = [
    { description: text(255_000), displayName: text(10_000) },
    { rules: [{ verbs: values, resources: [{ group: "", resources: ["pods"] }] }] },
    { rules: [{ verbs: ["get"], resources }] },
    { rules: [{ verbs: ["get"], nonResourceURLs: values.map((value) => `/${value}`) }] },
    { scope: { virtualClusters: values.map((name) => ({ project: name, virtualCluster: name })) } },
    { scope: { projects: values.map((project) => ({ project })) } },
    { scope: { roles: values.map((role) => ({ role: "vcluster", projects: [role] })) } },
    { groups: values },
  ];
  const statuses = [];
  for (const [at, spec] of large.entries()) statuses.push((await create(`k${at}`, { user: "jane", ...spec })).status);
  for (const status of statuses) expect([413, 422]).toContain(status);
  expect(statuses.filter((status) => status === 413).length).toBeGreaterThan(3);
  const refused = await create("k", { user: "jane", scope: { projects: values.map((project) => ({ project })) } });
  expect(refused.body.message).toMatch(/too large: it has \d+ bytes, and the limit of its kind is 262144/);
  await create("small", { user: "jane" });
  const annotations = { metadata: { annotations: { a: text(261_900) } } };
  expect((await send("PATCH", "ownedaccesskeys/small", annotations, "application/merge-patch+json")).status).toBe(413);
});

it("lets no more pass of those that come at the same moment", async () => {
  server = await createAccessKeyServer({ ownerBytes: 20_000 });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => create(`k${index}`, { user: "jane", description: text(5000) })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  expect(server.keys.usageOf({ kind: "user", name: "jane" }).bytes).toBeLessThan(20_000);
  const stored = await server.storage.list(server.ownedAccessKeyResource.keys.prefix);
  const bytes = stored.entries.reduce((sum, { value }) => sum + value.length, 0);
  expect(server.keys.usageOf({ kind: "user", name: "jane" })).toMatchObject({ objects: 3, bytes });
});

it("counts rotations for the owner, and lets those of compromised values pass", async () => {
  server = await createAccessKeyServer({ ownerBytes: 4_000 });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const created = await create("a", { user: "jane", description: text(2_500) });
  expect(created.status).toBe(201);
  const rotate = (spec: object) => send("POST", "ownedaccesskeys/a/rotate", { spec });
  const answers = [];
  // Each keeps the value before it, eight at most.
  for (let count = 0; count < 8; count++) {
    answers.push(await rotate({ nonce: `rotation-${count}`, gracePeriodSeconds: 600 }));
  }
  expect(answers[0]?.status).toBeLessThan(300);
  expect(answers.at(-1)?.status).toBe(507);
  expect((await rotate({ nonce: "compromised-value", compromised: true })).status).toBeLessThan(300);
});

it("answers a dry run as the write, and stores and reserves nothing", async () => {
  server = await createAccessKeyServer({ ownerBytes: 20_000 });
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  const dry = (name: string, bytes: number) =>
    send("POST", "ownedaccesskeys?dryRun=All", {
      metadata: { name },
      spec: { user: "jane", description: text(bytes) },
    });
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => dry(`d${index}`, 12_000)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
  expect((await create("a", { user: "jane", description: text(12_000) })).status).toBe(201);
  const refused = await dry("b", 12_000);
  const written = await create("b", { user: "jane", description: text(12_000) });
  expect([refused.status, refused.body.message]).toEqual([507, written.body.message]);
  const MERGE = "application/merge-patch+json";
  const patch = { spec: { description: text(25_000) } };
  expect((await send("PATCH", "ownedaccesskeys/a?dryRun=All", patch, MERGE)).status).toBe(507);
  expect((await send("PATCH", "ownedaccesskeys/a?dryRun=All", { spec: { description: "" } }, MERGE)).status).toBe(200);
  expect((await dry("c", 300_000)).status).toBe(413);
});
