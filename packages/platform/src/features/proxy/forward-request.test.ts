// Responses of the target as a caller gets them, redirects among them. Numbers name the entries of the security book.

import type { IncomingMessage, RequestListener } from "node:http";
import { http1, http2 } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, test } from "vitest";
import { serveCanary } from "./testing/serve-canary.ts";
import { BASE, openSession, serveProxy } from "./testing/serve-proxy.ts";

describe("the response", () => {
  test("arrives with status, headers and body, without headers for the platform's origin", async () => {
    const { target } = await serveCanary((_request, response) => {
      response.writeHead(409, {
        "content-type": "application/json",
        warning: '299 - "old"',
        "x-kubernetes-pf-flowschema-uid": "1",
        "set-cookie": "session=evil",
        "strict-transport-security": "max-age=0",
        "access-control-allow-origin": "*",
        "www-authenticate": "Basic",
        "x-hop": "1",
        connection: "X-Hop",
        server: "evil",
        "retry-after": "7",
      });
      response.end('{"kind":"Status"}');
    });
    const { port } = await serveProxy(target);
    const { status, headers, body } = await http2(openSession(port), { ":path": `${BASE}/api/v1/pods` });
    expect({ status, body }).toEqual({ status: 409, body: '{"kind":"Status"}' });
    expect(headers).toMatchObject({
      "content-type": "application/json",
      warning: '299 - "old"',
      "retry-after": "7",
      "x-kubernetes-pf-flowschema-uid": "1",
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
    });
    for (const name of [
      "set-cookie",
      "strict-transport-security",
      "access-control-allow-origin",
      "www-authenticate",
      "x-hop",
      "server",
    ]) {
      expect(headers[name]).toBeUndefined();
    }
  });

  const MEANT_FOR_ORIGIN = [
    "nel",
    "report-to",
    "reporting-endpoints",
    "speculation-rules",
    "origin-trial",
    "accept-ch",
    "critical-ch",
    "permissions-policy",
    "document-policy",
    "supports-loading-mode",
    "sourcemap",
    "link",
    "no-vary-search",
    "use-as-dictionary",
    "activate-storage-access",
    "set-login",
    "x-frame-options",
    "x-dns-prefetch-control",
    "refresh",
    "set-cookie",
    "clear-site-data",
    "sec-websocket-accept",
    "upgrade",
    "x-unheard-of",
  ];
  const READ_BY_CLIENTS = [
    "accept-ranges",
    "audit-id",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-type",
    "etag",
    "last-modified",
    "vary",
    "x-kubernetes-pf-prioritylevel-uid",
  ];
  test.each([200, 206, 404, 409, 429, 500])(
    "with code %i has the headers that clients read, and no others",
    async (code) => {
      const { target } = await serveCanary((_request, response) => {
        for (const name of [...MEANT_FOR_ORIGIN, ...READ_BY_CLIENTS])
          if (name !== "upgrade") response.setHeader(name, "x");
        response.writeHead(code);
        response.end("{}");
      });
      const { port } = await serveProxy(target);
      const answers = [
        await http1({ port, path: `${BASE}/api/v1/pods` }),
        await http2(openSession(port), { ":path": `${BASE}/api/v1/namespaces/a/services/b/proxy/` }),
      ];
      for (const { headers } of answers) {
        expect(Object.keys(headers)).toEqual(
          expect.arrayContaining(READ_BY_CLIENTS.filter((name) => name !== "audit-id")),
        );
        for (const name of MEANT_FOR_ORIGIN) expect(headers[name]).toBeUndefined();
      }
    },
  );

  test.each([
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ])("to %s with code %i has no body, and leaves the connection usable", async (method, code) => {
    const { upstream, target } = await serveCanary((_request, response) => {
      response.writeHead(code, { "content-length": code === 200 ? "5" : "0" });
      response.end();
    });
    const { port } = await serveProxy(target);
    for (let at = 0; at < 3; at++) {
      const response = await http1({ port, method, path: `${BASE}/version` });
      expect(response).toMatchObject({ status: code, body: "" });
    }
    expect(upstream.accepted()).toBeLessThanOrEqual(3);
  });

  test("401 of the target is not taken for a refusal of the caller", async () => {
    const { target } = await serveCanary((_request, response) => void response.writeHead(401).end("{}"));
    const { port } = await serveProxy(target);
    const response = await http1({ port, path: `${BASE}/api/v1/pods` });
    expect(response.status).toBe(502);
    expect(JSON.parse(response.body).details.causes[0].reason).toBe("CredentialRefused");
    const ofPod = await http1({ port, path: `${BASE}/api/v1/namespaces/default/services/web/proxy/login` });
    expect(ofPod.status).toBe(401);
  });
});

describe("redirects", () => {
  const redirectTo = (location: (port: number) => string): RequestListener => {
    return (request: IncomingMessage, response) => {
      const { localPort = 0 } = request.socket;
      response.writeHead(301, { location: location(localPort) }).end();
    };
  };

  test.each([
    ["/api/v1/", `${BASE}/api/v1/`],
    ["?a=b", `${BASE}/api/v1?a=b`],
    ["pods", `${BASE}/api/pods`],
  ])("within the target are handed on, not followed: %s", async (location, expected) => {
    const { target, seen } = await serveCanary(redirectTo(() => location));
    const { port } = await serveProxy(target);
    const response = await http1({ port, path: `${BASE}/api/v1` });
    expect(response.status).toBe(301);
    expect(response.headers["location"]).toBe(expected);
    expect(seen).toHaveLength(1);
  });

  test("that name the target itself stay at the platform", async () => {
    const { target } = await serveCanary(redirectTo((port) => `https://127.0.0.1:${port}/apis`));
    const { port } = await serveProxy(target);
    const { headers } = await http1({ port, path: `${BASE}/api/v1` });
    expect(headers["location"]).toBe(`${BASE}/apis`);
  });

  test.each([
    "https://evil.example.com/",
    "//evil.example.com/",
    "http://127.0.0.1/",
    "https://127.0.0.1:1/",
    "javascript:alert(1)",
    "http://[::1",
  ])("to other places are refused, and nothing is sent there: %s (security book 30)", async (location) => {
    const { target, seen } = await serveCanary(redirectTo(() => location));
    const { port } = await serveProxy(target);
    const response = await http1({ port, path: `${BASE}/api/v1` });
    expect(response.status).toBe(502);
    expect(response.headers["location"]).toBeUndefined();
    expect(seen).toHaveLength(1);
  });

  test("out of the base path of the target are refused", async () => {
    const { target } = await serveCanary(
      redirectTo(() => "/other"),
      "/k8s",
    );
    const { port } = await serveProxy(target);
    expect((await http1({ port, path: `${BASE}/api/v1` })).status).toBe(502);
  });

  test("never lead to another host by two slashes", async () => {
    const { target } = await serveCanary(redirectTo((port) => `https://127.0.0.1:${port}//evil.example.com/`));
    const { port } = await serveProxy(target);
    const { headers } = await http1({ port, path: `${BASE}/api/v1` });
    expect(headers["location"]).toBe(`${BASE}/evil.example.com/`);
  });
});
