// How a server goes: what is under way is finished, what lasts ends cleanly, and nothing new comes in.

import { expect, test } from "vitest";
import { KEYS, key } from "./testing/api.ts";
import { connectRaw, rawRequest } from "./testing/raw-connection.ts";
import { startServer } from "./testing/start-server.ts";

const ADMIN = { Authorization: "Bearer admin-token" };

test("is alive and not ready once it is about to stop (H-05)", async () => {
  await using server = await startServer();
  const get = (path: string, headers = {}) => server.client.send({ method: "GET", path, headers });
  expect((await get("/readyz")).text).toBe("ok");
  server.announceShutdown();
  const { status, text } = await get("/readyz");
  expect(status).toBe(500);
  expect(text).toMatch(
    /^\[\+\]ping ok\n(?:\[\+\].* ok\n)*\[-\]shutdown failed: reason withheld\nreadyz check failed\n$/,
  );
  expect((await get("/readyz?exclude=shutdown")).text).toBe("ok");
  const single = await get("/readyz/shutdown", ADMIN);
  expect(single.status).toBe(500);
  expect(single.text).toMatch(/^internal server error: /);
  expect((await get("/livez")).text).toBe("ok");
  expect((await server.client.send({ method: "GET", path: KEYS, headers: ADMIN })).status).toBe(200);
});

test("finishes what is under way, and takes nothing new (E-22)", async () => {
  const server = await startServer();
  using connection = await connectRaw(server);
  const body = JSON.stringify(key("e22"));
  connection.write(rawRequest("POST", KEYS, body.slice(0, 10), body.length));
  await isUnderWay(server);
  const closed = server[Symbol.asyncDispose]();
  await expect(connectRaw(server)).rejects.toThrow();
  connection.write(body.slice(10));
  expect(await connection.ended).toMatch(/^HTTP\/1\.1 201 Created\r\n(?:.*\r\n)*connection: close\r\n/i);
  await closed;
});

test("ends its watches cleanly (W-19)", async () => {
  const server = await startServer();
  const watch = await server.client.open({ method: "GET", path: `${KEYS}?watch=true`, headers: ADMIN });
  await server.client.send({
    method: "POST",
    path: KEYS,
    headers: { ...ADMIN, "Content-Type": "application/json" },
    body: JSON.stringify(key("w19")),
  });
  await watch.lines(1);
  await server[Symbol.asyncDispose]();
  const { text, complete } = await watch.finished;
  expect(complete).toBe(true);
  expect(text.trimEnd().split("\n")).toHaveLength(1);
});

/** Resolves when a change has been begun and waits for its body. */
async function isUnderWay(server: Awaited<ReturnType<typeof startServer>>): Promise<void> {
  const gauge = "apiserver_current_request_bodies 1";
  for (;;) {
    const { text } = await server.client.send({ method: "GET", path: "/metrics", headers: ADMIN });
    if (text.includes(gauge)) return;
  }
}
