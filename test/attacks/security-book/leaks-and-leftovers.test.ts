// Sections E and F of the security book, attacked over the wire: what comes back, and what is left behind.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type BookServer, DEMO, INSTANCES, KEYS, startBookServer } from "../testing/book-server.ts";
import { object, PLATFORM } from "../testing/rights-world.ts";

const MAX_KEYS = 12;

let server: BookServer;
beforeAll(async () => {
  server = await startBookServer(["--access-key-max-per-owner", String(MAX_KEYS)]);
});
afterAll(() => server?.[Symbol.asyncDispose]());

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

it("the value of a key comes back through no reading, no patch, no apply and no form of them (security book 40)", async () => {
  const value = await server.newUser("forty");
  const path = `${KEYS}/key-of-forty`;
  const secret = value.split("_").at(-1) ?? value;
  const patch = (type: string, body: object | string, query = "") =>
    server.ask(`${path}${query}`, { method: "PATCH", headers: { "content-type": type }, body });
  const applied = { ...object("OwnedAccessKey", "key-of-forty", { displayName: "x" }) };
  const answers = [
    ...(await Promise.all(
      ["application/json", "application/yaml", TABLE, METADATA, "application/vnd.kubernetes.protobuf"].flatMap(
        (accept) =>
          [path, KEYS, `${KEYS}?includeObject=Object`].map((each) => server.ask(each, { headers: { accept } })),
      ),
    )),
    await patch("application/merge-patch+json", { metadata: { labels: { a: "b" } } }),
    await patch("application/merge-patch+json", { spec: { displayName: "c" } }, "?dryRun=All"),
    await patch("application/json-patch+json", '[{"op":"test","path":"/spec/key","value":"x"}]'),
    await patch("application/json-patch+json", '[{"op":"copy","from":"/spec/key","path":"/metadata/annotations/a"}]'),
    await patch("application/json-patch+json", '[{"op":"move","from":"/spec/key","path":"/spec/displayName"}]'),
    await patch("application/apply-patch+yaml", applied, "?fieldManager=attack&force=true"),
    await server.ask(`${KEYS}?fieldSelector=spec.key%3D${value}`),
    await server.ask(`${PLATFORM}/users/forty/accesskeys`),
    await server.ask(`${PLATFORM}/users/forty/credentials`),
    await server.ask(`${path}/explain`, { body: { spec: { path: "/" } } }),
    await server.ask(path, { method: "DELETE", body: { dryRun: ["All"] } }),
  ];
  for (const { text } of answers) expect(text.includes(secret)).toBe(false);
  const noted = await patch("application/merge-patch+json", { metadata: { annotations: { note: `key ${value}` } } });
  expect([noted.status, noted.text.includes(secret)]).toEqual([422, false]);
  expect((await server.ask(path, { method: "DELETE" })).text.includes(secret)).toBe(false);
});

const namesOf = async (path: string): Promise<readonly string[]> =>
  (await server.send(path)).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

it("failed requests and dry runs leave nothing behind (security book 53)", async () => {
  const value = await server.newUser("leftover");
  const before = [await namesOf(KEYS), await namesOf(INSTANCES), await namesOf(`${PLATFORM}/users`)];
  const kubeConfig = `${INSTANCES}/demo/kubeconfig`;
  const attempts = [
    [`${KEYS}?dryRun=All`, object("OwnedAccessKey", "left-1", { user: "admin" })],
    [KEYS, object("OwnedAccessKey", "left-2", { user: "admin", ttl: -1 })],
    [KEYS, object("OwnedAccessKey", "Left 3", { user: "admin" })],
    [KEYS, object("OwnedAccessKey", "left-4", { user: "nobody-of-that-name", team: "x" })],
    [`${KEYS}/key-of-leftover/rotate?dryRun=All`, { spec: { nonce: "1" } }],
    [`${KEYS}/key-of-leftover/rotate`, { spec: { nonce: "" } }],
    [`${kubeConfig}?dryRun=All`, { spec: {} }],
    [kubeConfig, { spec: { certificateTTL: -5 } }],
    [kubeConfig, { spec: { server: "not a url" } }],
    [`${INSTANCES}/missing/kubeconfig`, { spec: {} }],
    [`${INSTANCES}?dryRun=All`, object("VirtualClusterInstance", "left-5", { owner: { user: "admin" } })],
    [`${PLATFORM}/users?dryRun=All`, object("User", "left-6")],
  ] as const;
  for (const [path, body] of attempts) await server.ask(path, { body });
  expect([await namesOf(KEYS), await namesOf(INSTANCES), await namesOf(`${PLATFORM}/users`)]).toEqual(before);
  expect((await server.ask(`${DEMO}/version`, { key: value })).status).not.toBe(401);
});

it("an owner has so many keys and no more, also asked for at once and by kubeconfigs, and those over go (security book 54)", async () => {
  const key = await server.newUser("hoarder");
  const make = () =>
    server.ask(KEYS, {
      key,
      body: {
        apiVersion: "management.postern/v1",
        kind: "OwnedAccessKey",
        metadata: { generateName: "hoard-" },
        spec: {},
      },
    });
  const tries = await Promise.all(Array.from({ length: 3 * MAX_KEYS }, make));
  const made = tries.filter(({ status }) => status === 201);
  // It has the one that it asks with.
  expect(made).toHaveLength(MAX_KEYS - 1);
  for (const { status } of tries) expect([201, 403, 422, 429]).toContain(status);
  expect((await make()).status).toBeGreaterThanOrEqual(400);
  for (const { body } of made.slice(MAX_KEYS - 2))
    await server.ask(`${KEYS}/${body.metadata.name}`, { key, method: "DELETE" });
  await vi.waitFor(async () => expect((await make()).status).toBe(201));
});
