// How requests reach the target of the proxy. Numbers name the entries of the security book.

import { Cancellation } from "@postern/apiserver/transport/cancellation";
import { http1, http2, openTls, readAll } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, test, vi } from "vitest";
import { serveCanary } from "./testing/serve-canary.ts";
import { BASE, openSession, serveProxy } from "./testing/serve-proxy.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

test.each(["", "/k8s/clusters/c-1"])(
  "the index of OpenAPI v3 of a target at %j names documents where callers find them",
  async (root) => {
    const indexOf = (prefix: string) => ({
      paths: { "apis/apps/v1": { serverRelativeURL: `${prefix}/openapi/v3/apis/apps/v1?hash=1` } },
    });
    const { target, seen } = await serveCanary((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(request.url?.endsWith("/version") ? "{}" : JSON.stringify(indexOf(root)));
    }, root);
    const { port } = await serveProxy(target);
    const headers = { "accept-encoding": "gzip" };
    const { status, body } = await http1({ port, path: `${BASE}/openapi/v3`, headers });
    expect([status, JSON.parse(body)]).toEqual([200, indexOf(BASE)]);
    expect(seen[0]?.headers["accept-encoding"]).toBeUndefined();
    await http1({ port, path: `${BASE}/version`, headers });
    expect(seen[1]?.headers["accept-encoding"]).toBe("gzip");
  },
);

describe("the request", () => {
  test.each(["1.1", "2.0"])("arrives over HTTP/%s with method, path, query and body", async (version) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const path = `${BASE}/api/v1/namespaces/default/pods?fieldManager=kubectl%20create&x=a%26b`;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ kind: "Pod" });
    const response =
      version === "1.1"
        ? await http1({ port, method: "POST", path, headers, body })
        : await http2(openSession(port), { ":method": "POST", ":path": path, ...headers }, body);
    expect(response.status).toBe(200);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: "POST", body });
    expect(seen[0]?.url).toBe("/api/v1/namespaces/default/pods?fieldManager=kubectl+create&x=a%26b");
    expect(seen[0]?.headers["content-type"]).toBe("application/json");
  });

  test.each(["GET", "DELETE", "POST"])("of method %s without a body arrives without one", async (method) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    await http1({ port, method, path: `${BASE}/api/v1/pods` });
    await http2(openSession(port), { ":method": method, ":path": `${BASE}/api/v1/pods` });
    for (const { headers, body } of seen) {
      expect(headers["transfer-encoding"]).toBeUndefined();
      expect(headers["content-length"] ?? "0").toBe("0");
      expect(body).toBe("");
    }
    expect(seen).toHaveLength(2);
  });

  test.each(["TRACE", "PROPFIND", "QUERY", "PURGE"])(
    "does not arrive with the method %s (security book 35)",
    async (method) => {
      const { target, seen } = await serveCanary();
      const { port } = await serveProxy(target);
      expect((await http1({ port, method, path: `${BASE}/api/v1/pods` })).status).toBe(405);
      expect((await http2(openSession(port), { ":method": method, ":path": `${BASE}/api/v1/pods` })).status).toBe(405);
      expect(seen).toEqual([]);
    },
  );

  test("keeps the base path of the target, and names the target's host", async () => {
    const { upstream, target, seen } = await serveCanary(undefined, "/k8s/clusters/c-1/");
    const { port } = await serveProxy(target);
    await http1({ port, path: `${BASE}/version`, headers: { host: "platform.example.com" } });
    expect(seen[0]?.url).toBe("/k8s/clusters/c-1/version");
    expect(seen[0]?.headers.host).toBe(new URL(upstream.url).host);
  });

  test("reuses its connection", async () => {
    const { upstream, target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    for (let at = 0; at < 5; at++) await http1({ port, path: `${BASE}/version` });
    expect(seen).toHaveLength(5);
    expect(upstream.accepted()).toBe(1);
  });

  test.each([
    "/api/v1/namespaces/..%2fkube-system/secrets",
    "/api/v1/namespaces/../kube-system/secrets",
    "/api/v1/%2e%2e/secrets",
    "/api/v1/namespaces/default/pods/..",
    "/api/v1//pods",
    "/api/v1/pods%5c..%5csecrets",
    "/api/v1/pods%00",
    "/api/v1/pods%0d%0aX:%20y",
  ])("is refused with 400 when its path has two readings: %s (security book 32)", async (path) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const response = await http2(openSession(port), { ":path": BASE + path });
    expect(response.status).toBe(400);
    expect(seen).toEqual([]);
  });

  test("is sent with the query that was decided about (security book 33)", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    await http2(openSession(port), { ":path": `${BASE}/api/v1/pods?watch=0;watch=1&limit=5?watch=1` });
    expect(seen[0]?.url).toBe("/api/v1/pods?watch=0%3Bwatch%3D1&limit=5%3Fwatch%3D1");
  });
});

describe("request smuggling (security book 34)", () => {
  const refused = [
    ["both lengths", "Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"],
    ["two lengths", "Content-Length: 4\r\nContent-Length: 9", "abcdefghi"],
    ["a signed length", "Content-Length: +4", "abcd"],
    ["a list of lengths", "Content-Length: 4, 4", "abcd"],
    ["an unknown coding", "Transfer-Encoding: xchunked", "0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked", "0\r\n\r\n"],
  ] as const;

  test.each(refused)("%s never reaches the target as two requests", async (_name, headers, body) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const socket = await openTls(port);
    socket.end(`POST ${BASE}/api HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`);
    await readAll(socket);
    expect(seen.filter(({ url }) => url.includes("evil"))).toEqual([]);
    expect(seen.length).toBeLessThanOrEqual(1);
  });

  test("a chunked body is framed again, without its extensions and trailers", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const socket = await openTls(port);
    socket.write(
      `POST ${BASE}/api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: Impersonate-User\r\n\r\n` +
        "5;ext=1\r\nhello\r\n0\r\nImpersonate-User: admin\r\n\r\n",
    );
    expect(await readAll(socket)).toContain("200 OK");
    expect(seen[0]).toMatchObject({ body: "hello" });
    expect(seen[0]?.headers["trailer"]).toBeUndefined();
  });
});

test("a target that points back to its own proxy ends in 502, and holds nothing", async () => {
  let front = 0;
  const { target, seen } = await serveCanary(async (request, response) => {
    const { via = "" } = request.headers;
    const { status, body } = await http1({ port: front, path: `${BASE}/version`, headers: { via } });
    response.writeHead(status).end(body);
  });
  const { port, connections } = await serveProxy(target);
  front = port;
  const response = await http1({ port, path: `${BASE}/version` });
  expect(response.status).toBe(502);
  expect(JSON.parse(response.body).details.causes[0].reason).toBe("ProxyLoop");
  expect(seen).toHaveLength(8);
  await expect.poll(() => connections.active).toBe(0);
});

test("plain HTTP targets are reached where they are registered so", async () => {
  const upstream = await serveUpstream((_request, response) => void response.end("plain"), { plain: true });
  const { port } = await serveProxy({ server: upstream.url, credential: {} });
  expect((await http1({ port, path: `${BASE}/version` })).body).toBe("plain");
});

test("a short answer makes no signal", async () => {
  const { target } = await serveCanary();
  const { port } = await serveProxy(target);
  using signals = vi.spyOn(Cancellation.prototype, "signal", "get");
  expect((await http1({ port, path: `${BASE}/version` })).status).toBe(200);
  expect(signals).not.toHaveBeenCalled();
});
