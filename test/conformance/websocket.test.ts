// Watches over WebSockets, as browsers open them.

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { openHttp2WebSocket, serverMessages } from "@postern/apiserver/transport/testing/http2-web-socket";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { KEYS, key, useServer } from "./testing/api.ts";

const api = useServer();
const TOKEN_PROTOCOL = `base64url.bearer.authorization.k8s.io.${Buffer.from("admin-token").toString("base64url")}`;
const ADMIN = { Authorization: "Bearer admin-token" };

function connect(path: string, protocols: string[], headers = {}): WebSocket {
  return new WebSocket(`${api.server.url}${path}`, protocols, { ca: api.server.ca, headers });
}

/** The status of the refusal. */
async function refusalOf(webSocket: WebSocket): Promise<number | undefined> {
  webSocket.on("error", () => {});
  const [, response] = await once(webSocket, "unexpected-response");
  webSocket.terminate();
  return response.statusCode;
}

test("sends each event as one text message, from the first on (W-14)", async () => {
  await api.post(KEYS, key("w14-a"));
  const webSocket = connect(`${KEYS}?watch=true&fieldSelector=metadata.name%3Dw14-a`, [], ADMIN);
  const [first, isBinary] = await once(webSocket, "message");
  expect(isBinary).toBe(false);
  expect(JSON.parse(String(first))).toMatchObject({ type: "ADDED", object: { metadata: { name: "w14-a" } } });
  const next = once(webSocket, "message");
  await api.delete(`${KEYS}/w14-a`);
  expect(JSON.parse(String((await next)[0]))).toMatchObject({ type: "DELETED" });
  webSocket.terminate();
});

test("closes with code 1000 when the time is up (W-14)", async () => {
  const webSocket = connect(`${KEYS}?watch=true&timeoutSeconds=1`, [], ADMIN);
  const [code] = await once(webSocket, "close");
  expect(code).toBe(1000);
});

test("echoes the only subprotocol that is asked for (W-14)", async () => {
  const webSocket = connect(`${KEYS}?watch=true`, ["base64.binary.k8s.io"], ADMIN);
  await once(webSocket, "open");
  expect(webSocket.protocol).toBe("base64.binary.k8s.io");
  webSocket.terminate();
});

test("takes a token from a subprotocol beside exactly one other, which is echoed (W-14)", async () => {
  const webSocket = connect(`${KEYS}?watch=true`, [TOKEN_PROTOCOL, "any"]);
  await once(webSocket, "open");
  expect(webSocket.protocol).toBe("any");
  webSocket.terminate();
});

test("refuses a subprotocol with a token alone with 401, and beside an Authorization header with 400 (W-14)", async () => {
  expect(await refusalOf(connect(`${KEYS}?watch=true`, [TOKEN_PROTOCOL]))).toBe(401);
  expect(await refusalOf(connect(`${KEYS}?watch=true`, [TOKEN_PROTOCOL, "any"], ADMIN))).toBe(400);
});

test("refuses a handshake before it is one: 403 without rights, 422 for bad options, 400 for a choice of protocols (W-14)", async () => {
  expect(await refusalOf(connect(`${KEYS}?watch=true`, []))).toBe(403);
  expect(await refusalOf(connect(`${KEYS}?watch=true&sendInitialEvents=true`, [], ADMIN))).toBe(422);
  expect(await refusalOf(connect(`${KEYS}?watch=true`, ["a", "b"], ADMIN))).toBe(400);
});

test("sends events over a WebSocket that lies in an HTTP/2 connection (W-14)", async () => {
  await api.post(KEYS, key("w14-h2"));
  const session = connectHttp2(api.server.url, { ca: api.server.ca });
  onTestFinished(() => session.destroy());
  const path = `${KEYS}?watch=true&fieldSelector=metadata.name%3Dw14-h2`;
  const protocols = { "sec-websocket-protocol": `${TOKEN_PROTOCOL}, any` };
  const { stream, headers } = await openHttp2WebSocket(session, path, protocols);
  expect(headers).toMatchObject({ ":status": 200, "sec-websocket-protocol": "any" });
  const messages = serverMessages(stream);
  const next = async () => JSON.parse(String((await messages.next()).value.payload));
  expect(await next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "w14-h2" } } });
  await api.delete(`${KEYS}/w14-h2`);
  expect(await next()).toMatchObject({ type: "DELETED" });
  const refused = await openHttp2WebSocket(session, `${KEYS}?watch=true`);
  expect(refused.headers[":status"]).toBe(403);
});
