// Connections that leave HTTP on their way through the proxy for SPDY/3.1, as kubectl has spoken it for years.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { describe, expect, test } from "vitest";
import { CALLERS_KEY } from "./testing/serve-proxy.ts";
import { askToUpgrade, collect, SWITCHING, serveSpdy } from "./testing/serve-upgrades.ts";

describe("SPDY", () => {
  test("carries bytes both ways, those behind the headers included", async () => {
    const { port } = await serveSpdy((socket, _request, head) => {
      socket.write(`${SWITCHING}\r\nfirst `);
      socket.write(head);
      socket.pipe(socket);
    });
    const { socket, head } = await askToUpgrade(port);
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(head.toLowerCase()).toContain("upgrade: spdy/3.1");
    socket.write(Buffer.from([0, 1, 2, 0x80, 0xff]));
    socket.end("last");
    expect(await collect(socket)).toBe(
      Buffer.concat([Buffer.from("first "), Buffer.from([0, 1, 2, 0x80, 0xff]), Buffer.from("last")]).toString(),
    );
  });

  test("arrives as the caller with the target's credential, and with what was asked for", async () => {
    const seen = deferred<IncomingMessage>();
    const { port } = await serveSpdy((socket, request) => {
      seen.resolve(request);
      socket.end(`${SWITCHING}X-Stream-Protocol-Version: v4.channel.k8s.io\r\nSet-Cookie: a=b\r\n\r\n`);
    });
    const { head } = await askToUpgrade(port, [
      `Authorization: Bearer ${CALLERS_KEY}`,
      "Impersonate-User: admin",
      "X-Stream-Protocol-Version: v5.channel.k8s.io",
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
    ]);
    expect(head).toContain("x-stream-protocol-version: v4.channel.k8s.io");
    expect(head.toLowerCase()).not.toContain("set-cookie");
    const { url, headers, rawHeaders } = await seen.promise;
    expect(url).toBe("/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=true");
    expect(headers).toMatchObject({ authorization: "Bearer own", "impersonate-user": "alice", upgrade: "SPDY/3.1" });
    expect(rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === "x-stream-protocol-version")).toEqual([
      "v5.channel.k8s.io",
      "v4.channel.k8s.io",
    ]);
    expect(JSON.stringify(rawHeaders)).not.toContain(CALLERS_KEY);
  });

  test("keeps a connection half open: the target answers after the caller's end", async () => {
    const { port } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\n`);
      void collect(socket).then((all) => socket.end(`got ${all}`));
    });
    const { socket } = await askToUpgrade(port);
    socket.end("everything");
    expect(await collect(socket)).toBe("got everything");
  });

  test("keeps a connection half open: the caller continues after the target's end", async () => {
    const received = deferred<string>();
    const { port } = await serveSpdy((socket) => {
      socket.end(`${SWITCHING}\r\nbye`);
      void collect(socket).then(received.resolve);
    });
    const { socket } = await askToUpgrade(port);
    expect(await collect(socket)).toBe("bye");
    socket.end("still here");
    expect(await received.promise).toBe("still here");
  });

  test("frees its place when both sides have ended", async () => {
    const { port, connections } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\nopen`);
      socket.resume().once("end", () => socket.end());
    });
    const { socket } = await askToUpgrade(port);
    expect(connections.active).toBe(1);
    socket.destroy();
    await expect.poll(() => connections.active).toBe(0);
  });

  test("lets the caller go when the target breaks off", async () => {
    const { port, connections } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\nopen`);
        socket.once("data", () => (socket as Socket).resetAndDestroy());
      },
      { plain: true },
    );
    const { socket } = await askToUpgrade(port);
    socket.write("go");
    await collect(socket);
    await expect.poll(() => connections.active).toBe(0);
  });

  test("lets the target go when the caller has ended, and nothing comes any more", async () => {
    const { port, connections } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\nopen`);
        socket.resume().once("end", () => socket.write("more"));
      },
      // Longer than a busy machine needs for the answer to the end.
      { halfOpenTimeoutMs: 1_000 },
    );
    const { socket } = await askToUpgrade(port);
    expect(String((await once(socket.resume(), "data"))[0])).toBe("open");
    socket.end();
    expect(await collect(socket)).toBe("more");
    await expect.poll(() => connections.active, { timeout: 10_000 }).toBe(0);
  });

  test("is closed on both sides when the caller's key is revoked (security book 15)", async () => {
    const targetClosed = deferred();
    const { port, requests, connections } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\nopen`);
      socket
        .resume()
        .once("end", () => targetClosed.resolve())
        .once("close", () => targetClosed.resolve());
    });
    const { socket } = await askToUpgrade(port);
    const closed = new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
    socket.resume();
    requests.at(-1)?.abort?.(unauthorizedError());
    await Promise.all([closed, targetClosed.promise]);
    await expect.poll(() => connections.active).toBe(0);
  });

  test("a reader that is slow slows the other side, and memory stays flat", async () => {
    const total = 128 << 20;
    let produced = 0;
    const { port } = await serveSpdy(async (socket) => {
      socket.write(`${SWITCHING}\r\n`);
      const chunk = Buffer.alloc(64 << 10, "x");
      for (; produced < total; produced += chunk.length) {
        if (!socket.write(chunk)) await once(socket, "drain");
      }
      socket.end();
    });
    const { socket } = await askToUpgrade(port);
    let consumed = 0;
    let largestGap = 0;
    for await (const chunk of socket) {
      consumed += chunk.length;
      largestGap = Math.max(largestGap, produced - consumed);
      await new Promise(setImmediate);
    }
    expect(consumed).toBe(total);
    expect(largestGap).toBeLessThan(24 << 20);
  });

  test("is bounded in number", async () => {
    const { port } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\n`);
        socket.resume().once("end", () => socket.end());
      },
      { limits: { maxUpgrades: 1 } },
    );
    const first = await askToUpgrade(port);
    const refused = await askToUpgrade(port);
    expect(refused.head).toMatch(/^HTTP\/1\.1 503 /);
    first.socket.destroy();
    await expect.poll(async () => (await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 101 /);
  });
});
