// The numbers at which a request is one too many: each recorded limit is met at the edge, and passed by one.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { JSON_PATCH, KEYS, key, useServer, WIDGETS, widget } from "./testing/api.ts";
import { connectRaw, rawRequest } from "./testing/raw-connection.ts";

const api = useServer();
const { cases } = JSON.parse(readFileSync(new URL("./testdata/limits.json", import.meta.url), "utf8"));
const limitOf = (what: string): any => cases.find((each: any) => each.what.startsWith(what));
const dry = (meta: object) => api.post(`${KEYS}?dryRun=All`, key("limits", {}, meta as any));
const a = (length: number): string => "a".repeat(length);

test("takes JSON patches of as many operations as recorded, and not one more (X-01)", async () => {
  const { at, over } = limitOf("JSON patch operations");
  await api.post(KEYS, key("operations"));
  const patch = (ops: number) =>
    api.patch(
      `${KEYS}/operations`,
      JSON_PATCH,
      Array.from({ length: ops }, () => ({ op: "add", path: "/spec/user", value: "u" })),
    );
  expect((await patch(at.ops)).status).toBe(at.status);
  expect((await patch(over.ops)).json).toMatchObject({ code: over.status, reason: over.reason, message: over.message });
});

test("takes annotations of as many bytes as recorded, and not one more (X-01)", async () => {
  const { at, over } = limitOf("total annotation bytes");
  expect((await dry({ annotations: { [at.key]: a(at.valueLength) } })).status).toBe(at.status);
  const { json } = await dry({ annotations: { [over.key]: a(over.valueLength) } });
  expect(json).toMatchObject({ code: over.status, reason: over.reason, details: { causes: over.causes } });
});

test.each([
  ["label key name part", (length: number) => ({ labels: { [a(length)]: "" } })],
  ["label key prefix", (length: number) => ({ labels: { [`${a(length)}/x`]: "" } })],
  ["label value", (length: number) => ({ labels: { x: a(length) } })],
])("bounds the %s as recorded (X-02)", async (what, meta) => {
  const { limit } = limitOf(what);
  expect((await dry(meta(limit))).status).toBe(201);
  expect((await dry(meta(limit + 1))).json).toMatchObject({ code: 422, reason: "Invalid" });
});

test("bounds the name of a namespace as recorded (X-02)", async () => {
  const { limit } = limitOf("namespace");
  const create = (length: number) =>
    api.post("/api/v1/namespaces?dryRun=All", { apiVersion: "v1", kind: "Namespace", metadata: { name: a(length) } });
  expect((await create(limit)).status).toBe(201);
  expect((await create(limit + 1)).status).toBe(422);
});

test("reads heads of as many bytes as recorded, and says of longer ones that they are too long (X-07)", async () => {
  const { limitBytes } = limitOf("URL / header bytes");
  const ask = async (length: number): Promise<string> => {
    using connection = await connectRaw(api.server);
    connection.write(rawRequest("GET", `${KEYS}?x=${a(length)}`));
    return (await connection.received("\r\n")).split("\r\n")[0] ?? "";
  };
  expect(await ask(limitBytes - 2_000)).toBe("HTTP/1.1 200 OK");
  expect(await ask(limitBytes + 2_000)).toBe("HTTP/1.1 431 Request Header Fields Too Large");
});

test("bounds what copies of a JSON patch add up to (X-01)", async () => {
  const { limitBytes } = limitOf("JSON patch accumulated copy bytes");
  const text = a(100_000);
  await api.post(WIDGETS, widget("copies", { size: 1, free: { text } }));
  const copies = (count: number) =>
    api.patch(
      `${WIDGETS}/copies?dryRun=All`,
      JSON_PATCH,
      Array.from({ length: count }, () => ({ op: "copy", from: "/spec/free/text", path: "/spec/free/copy" })),
    );
  const fitting = Math.floor(limitBytes / (text.length + 2));
  expect((await copies(fitting)).status).toBe(200);
  expect((await copies(fitting + 1)).json).toMatchObject({ code: 422 });
});
