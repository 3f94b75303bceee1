// The same API over HTTP/2, as kubectl and client-go speak it: many requests and watches on one connection.

import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KEYS, key, useServer } from "./testing/api.ts";

const api = useServer();
const HEADERS = { authorization: "Bearer admin-token", accept: "application/json" };

let session: ClientHttp2Session;
beforeEach(async () => {
  session = connect(api.server.url, { ca: api.server.ca });
  await once(session, "connect");
});
afterEach(() => session.destroy());

async function send(method: string, path: string, body?: object) {
  const stream = session.request({ ...HEADERS, ":method": method, ":path": path, "content-type": "application/json" });
  stream.end(body === undefined ? undefined : JSON.stringify(body));
  const [headers] = await once(stream, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { status: headers[":status"], headers, json: JSON.parse(Buffer.concat(chunks).toString()) };
}

test("serves a hundred requests at once on one connection (R-20)", async () => {
  const created = await Promise.all(Array.from({ length: 100 }, (_none, n) => send("POST", KEYS, key(`r20-${n}`))));
  expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
  const { json, headers } = await send("GET", KEYS);
  expect(json.items).toHaveLength(100);
  expect(headers).not.toHaveProperty("server");
});

test("streams a watch beside other requests (R-20)", async () => {
  const watch = session.request({
    ...HEADERS,
    ":path": `${KEYS}?watch=true&fieldSelector=metadata.name%3Dr20-watched`,
  });
  await once(watch, "response");
  const event = once(watch, "data");
  await send("POST", KEYS, key("r20-watched"));
  const [line] = await event;
  expect(JSON.parse(String(line))).toMatchObject({ type: "ADDED", object: { metadata: { name: "r20-watched" } } });
  watch.close();
});

test("refuses an unknown method in the words of the resource (R-09)", async () => {
  expect((await send("FOO", KEYS)).json).toMatchObject({
    code: 405,
    message: ' is not supported on resources of kind "ownedaccesskeys.management.example.com"',
    details: { group: "management.example.com", kind: "ownedaccesskeys" },
  });
});

test("answers with an Audit-Id, the client's where it sends one (X-03)", async () => {
  const stream = session.request({ ...HEADERS, ":path": KEYS, "audit-id": "mine" });
  const [headers] = await once(stream, "response");
  expect(headers["audit-id"]).toBe("mine");
  stream.close();
});
