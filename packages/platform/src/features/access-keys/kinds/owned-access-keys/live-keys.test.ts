// A valid value is only in spec.key, after every kind of write, and for generated and chosen values alike.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../../testing/access-key-server.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
/** Chosen by clients: only the index distinguishes it from other texts. */
const CHOSEN = "chosen/by~a=client:with-signs-in-it?42";
const QUOTED = 'chosen\\by"a\\client"with-quotes-in-it-42';
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

let server: AccessKeyServer;
beforeEach(async () => {
  server = await createAccessKeyServer();
  await send("POST", "users", { metadata: { name: "jane" }, spec: {} });
  for (const [name, key] of [
    ["chosen", CHOSEN],
    ["quoted", QUOTED],
  ]) {
    expect((await send("POST", "ownedaccesskeys", { metadata: { name }, spec: { key } })).status).toBe(201);
  }
  await send("POST", "ownedaccesskeys", { metadata: { name: "k" }, spec: { user: "jane" } });
});
afterEach(() => server[Symbol.asyncDispose]());

const send = (method: string, url: string, body: unknown, type = "application/json") =>
  server.send({ method, url, user: admin, body, headers: { "content-type": type } });

const own = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey" };
const WRITES: readonly [how: string, write: (annotations: object) => ReturnType<typeof send>][] = [
  ["create", (annotations) => send("POST", "ownedaccesskeys", { metadata: { name: "n", annotations }, spec: {} })],
  ["dry run", (annotations) => send("POST", "ownedaccesskeys?dryRun=All", { metadata: { name: "n", annotations } })],
  [
    "update",
    (annotations) => send("PUT", "ownedaccesskeys/k", { metadata: { name: "k", annotations }, spec: { user: "jane" } }),
  ],
  [
    "merge patch",
    (annotations) => send("PATCH", "ownedaccesskeys/k", { metadata: { annotations } }, "application/merge-patch+json"),
  ],
  [
    "JSON patch",
    (annotations) =>
      send(
        "PATCH",
        "ownedaccesskeys/k",
        [{ op: "add", path: "/metadata/annotations", value: annotations }],
        "application/json-patch+json",
      ),
  ],
  [
    "apply",
    (annotations) =>
      send(
        "PATCH",
        "ownedaccesskeys/k?fieldManager=m&force=true",
        { ...own, metadata: { name: "k", annotations } },
        "application/apply-patch+yaml",
      ),
  ],
  [
    "patch of the administrators' view",
    (annotations) =>
      send(
        "PATCH",
        "/apis/storage.postern/v1/accesskeys/k",
        { metadata: { annotations } },
        "application/merge-patch+json",
      ),
  ],
];

describe.each(WRITES)("%s (security book 38, 40)", (_how, write) => {
  it.each([
    ["the value itself", CHOSEN],
    ["in a sentence", `log in with ${CHOSEN}.`],
    ["behind its name", `token=${CHOSEN}`],
    ["in quotes", `export TOKEN="${CHOSEN}"; run`],
    ["in JSON", JSON.stringify({ items: [{ token: QUOTED }] })],
    ["in JSON in JSON", JSON.stringify({ manifest: JSON.stringify({ token: QUOTED }) })],
    ["as a name in JSON", JSON.stringify({ [QUOTED]: 1 })],
  ])("refuses a valid key in an annotation: %s", async (_where, text) => {
    const before = await server.dump();
    const { status, body, text: answer } = await write({ note: text });
    expect([status, body.details?.causes?.[0]?.field]).toEqual([422, "metadata.annotations.note"]);
    for (const value of [CHOSEN, QUOTED]) expect(answer).not.toContain(value);
    expect(await server.dump()).toBe(before);
  });

  it("takes what kubectl writes of the last manifest, without the key in it", async () => {
    const manifest = { ...own, metadata: { name: "k" }, spec: { key: QUOTED, displayName: "a" } };
    const { status, text } = await write({ [LAST_APPLIED]: `${JSON.stringify(manifest)}\n` });
    expect(status).toBeLessThan(300);
    expect(text).toContain("displayName");
    expect(text).not.toContain("with-quotes-in-it");
    expect(await server.dump()).not.toContain("with-quotes-in-it");
  });

  it("accepts a text that allows nothing", async () => {
    const { status } = await write({ note: `no key: ${"x".repeat(40)}, {"a":"${CHOSEN.slice(0, -1)}"}` });
    expect(status).toBeLessThan(300);
  });
});

it("no member of the last manifest that comes twice hides a secret (security book 40)", async () => {
  const secret = Buffer.from("what the login left behind").toString("base64");
  const text = `{"spec":{"oidcLogin":{"idToken":"${secret}"},"oidcLogin":{},"displayName":"a"}}`;
  const { status } = await send(
    "PATCH",
    "ownedaccesskeys/k",
    { metadata: { annotations: { [LAST_APPLIED]: text } } },
    "application/merge-patch+json",
  );
  expect(status).toBe(200);
  expect(await server.dump()).not.toContain(secret);
});

it("allows a change of an object whose unchanged text has become a key", async () => {
  const text = "a-plain-description-without-any-space";
  await send("PATCH", "ownedaccesskeys/k", { spec: { description: text } }, "application/merge-patch+json");
  await send("POST", "ownedaccesskeys", { metadata: { name: "later" }, spec: { user: "jane", key: text } });
  const { status } = await send(
    "PATCH",
    "ownedaccesskeys/k",
    { spec: { displayName: "x" } },
    "application/merge-patch+json",
  );
  expect(status).toBe(200);
});

it("answers a large text without looking up all of it", async () => {
  const words = Array.from({ length: 5_500 }, (_, at) => `word-that-could-be-a-key-of-someone-${at}`).join(" ");
  const { status } = await send(
    "PATCH",
    "ownedaccesskeys/k",
    { spec: { description: words } },
    "application/merge-patch+json",
  );
  expect(status).toBe(200);
});
