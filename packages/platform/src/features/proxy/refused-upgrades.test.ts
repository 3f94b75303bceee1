// Answers to a caller who asks to leave HTTP where the target does not, and no connection is left behind.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { http1 } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, test } from "vitest";
import { BASE, serveProxy } from "./testing/serve-proxy.ts";
import { askToUpgrade, collect, serveSpdy } from "./testing/serve-upgrades.ts";

describe("an upgrade that the target does not make (security book 30)", () => {
  test.each([
    ["HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way", 403],
    ["HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 6\r\n\r\nno way", 200],
    ["HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nno way", 500],
  ])("is handed on as the response it is, and both connections are closed: %j", async (answer, code) => {
    const targetClosed = deferred();
    const { port, connections } = await serveSpdy((socket) => {
      socket.write(answer);
      if (code === 500) socket.end();
      socket
        .resume()
        .once("end", () => socket.end())
        .once("close", () => targetClosed.resolve());
    });
    const { socket, head } = await askToUpgrade(port);
    expect(head).toContain(`HTTP/1.1 ${code} `);
    // Bytes that a hostile caller sends next must not become a request with the platform's credential.
    socket.write("GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await collect(socket)).toContain("no way");
    socket.end();
    await targetClosed.promise;
    await expect.poll(() => connections.active).toBe(0);
  });

  test.each([
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
  ])("is 502 where it switches to another protocol: %j", async (answer) => {
    const { port } = await serveSpdy((socket) => void socket.write(answer));
    expect((await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 502 /);
  });

  test("is not followed to where it redirects", async () => {
    const { port } = await serveSpdy((socket) => {
      socket.end("HTTP/1.1 302 Found\r\nLocation: https://evil.example.com/\r\nContent-Length: 0\r\n\r\n");
    });
    const { head } = await askToUpgrade(port);
    expect(head).toMatch(/^HTTP\/1\.1 502 /);
    expect(head).not.toContain("evil.example.com");
  });

  test("is refused when the request has a body", async () => {
    const { port, connections } = await serveSpdy(() => undefined);
    expect((await askToUpgrade(port, ["Content-Length: 5"])).head).toMatch(/^HTTP\/1\.1 400 /);
    expect(connections.active).toBe(0);
  });

  test("of a protocol that Kubernetes does not speak is an ordinary request", async () => {
    const { port } = await serveSpdy(() => undefined);
    const { head } = await askToUpgrade(port, [], `${BASE}/version`, "h2c");
    expect(head).toMatch(/^HTTP\/1\.1 404 /);
  });

  test("is closed if the key is revoked before the target has answered", async () => {
    const arrived = deferred();
    const { port, requests } = await serveSpdy(() => arrived.resolve());
    const answered = askToUpgrade(port);
    await arrived.promise;
    requests.at(-1)?.abort?.(unauthorizedError());
    expect((await answered).head).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("is 503 when the target is down", async () => {
    const { port } = await serveProxy({ server: "https://127.0.0.1:1", credential: {} });
    expect((await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 503 /);
    expect((await http1({ port, path: `${BASE}/version` })).status).toBe(503);
  });
});
