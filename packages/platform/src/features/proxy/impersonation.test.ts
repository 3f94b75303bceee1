// Identity of a caller at the target of the proxy; no header of the caller's can change it. Numbers name the entries of the security book.

import type { TLSSocket } from "node:tls";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { http1, http2, openTls, readAll } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, test } from "vitest";
import { serveCanary, TOKEN, valuesOf } from "./testing/serve-canary.ts";
import { alice, BASE, CALLERS_KEY, openSession, serveProxy } from "./testing/serve-proxy.ts";

describe("the identity of the caller", () => {
  test("is said by impersonation with the target's own credential", async () => {
    const { target, seen } = await serveCanary();
    const user = { ...alice, uid: "u-1", extra: { "Example.org/Tenant": ["a", "b,c"] } };
    const { port } = await serveProxy(target, { user });
    await http1({ port, path: `${BASE}/version`, headers: { authorization: `Bearer ${CALLERS_KEY}` } });
    const raw = seen[0]?.rawHeaders ?? [];
    expect(valuesOf(raw, "authorization")).toEqual([`Bearer ${TOKEN}`]);
    expect(valuesOf(raw, "impersonate-user")).toEqual(["alice"]);
    expect(valuesOf(raw, "impersonate-uid")).toEqual(["u-1"]);
    expect(valuesOf(raw, "impersonate-group")).toEqual(["devs", "postern:role:edit"]);
    expect(valuesOf(raw, "impersonate-extra-example.org%2ftenant")).toEqual(["a", "b,c"]);
  });

  test("arrives in UTF-8", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target, { user: { name: "zoë", groups: ["größe"] } });
    await http1({ port, path: `${BASE}/version` });
    const [name = ""] = valuesOf(seen[0]?.rawHeaders ?? [], "impersonate-user");
    expect(Buffer.from(name, "latin1").toString()).toBe("zoë");
  });

  test.each([
    ["", ["devs"]],
    ["system:admin", []],
    ["alice\r\nImpersonate-Group: system:masters", []],
    [" alice", []],
    ["alice", ["devs\n"]],
    ["alice", [" admins"]],
    ["alice", [""]],
  ])("is refused with 403 where no header can say it: user %j, groups %j", async (name, groups) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target, { user: { name, groups } });
    expect((await http1({ port, path: `${BASE}/version` })).status).toBe(403);
    expect(seen).toEqual([]);
  });

  test("is never a system identity of the target (security book 29)", async () => {
    const { target, seen } = await serveCanary();
    const user = { name: "alice", groups: ["system:masters", "system:nodes", "devs", "system:authenticated"] };
    const { port } = await serveProxy(target, { user });
    await http1({ port, path: `${BASE}/version` });
    expect(valuesOf(seen[0]?.rawHeaders ?? [], "impersonate-group")).toEqual(["devs"]);
  });

  test.each([
    "Impersonate-User, Impersonate-Group, Authorization",
    "impersonate-user,authorization,host,x-forwarded-for",
    "close, Impersonate-User",
    "IMPERSONATE-GROUP",
  ])("is said although the caller sends Connection: %s (security book 27)", async (connection) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const headers = { connection, "impersonate-user": "admin", authorization: `Bearer ${CALLERS_KEY}`, "x-a": "1" };
    await http1({ port, path: `${BASE}/version`, headers });
    const raw = seen[0]?.rawHeaders ?? [];
    expect(valuesOf(raw, "impersonate-user")).toEqual(["alice"]);
    expect(valuesOf(raw, "impersonate-group")).toEqual(["devs", "postern:role:edit"]);
    expect(valuesOf(raw, "authorization")).toEqual([`Bearer ${TOKEN}`]);
    expect(valuesOf(raw, "x-a")).toEqual(["1"]);
  });

  test("headers that the caller's Connection names are taken off its own (security book 27)", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const headers = { connection: "X-Secret, keep-alive", "x-secret": "1", te: "trailers", "keep-alive": "timeout=1" };
    await http1({ port, path: `${BASE}/version`, headers });
    const names = (seen[0]?.rawHeaders ?? []).filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names).not.toContain("x-secret");
    expect(names).not.toContain("te");
    expect(names).not.toContain("keep-alive");
  });

  test("is taken from no header of the caller's, in whatever spelling (security book 28)", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const smuggled = [
      "Impersonate-User: admin",
      "IMPERSONATE-USER: admin",
      "Impersonate_User: admin",
      "Impersonate-Group: system:masters",
      "impersonate-group: system:masters",
      "Impersonate-Uid: 1",
      "Impersonate-Extra-Scopes: all",
      "Impersonate-Whatever: all",
      "Impersonate%2DUser: admin",
      "%49mpersonate-User: admin",
      "X-Remote-User: admin",
      "X_Remote_User: admin",
      "X-Remote-Group: system:masters",
      "X-Remote-Extra-Scopes: all",
      "X-Forwarded-For: 1.2.3.4",
      "X-Forwarded-Host: evil.example.com",
      "X-Forwarded-Uri: /api",
      "X_Forwarded_For: 1.2.3.4",
      "X-Forwarded: for=1.2.3.4",
      "Forwarded: for=1.2.3.4",
      "X-Real-Ip: 1.2.3.4",
      "X-Original-Url: /api/v1/secrets",
      "X-HTTP-Method-Override: DELETE",
      "Client-Cert: :MIIB:",
      "Cookie: session=1",
      "Proxy-Authorization: Basic eDp5",
      `Authorization: Bearer ${CALLERS_KEY}`,
    ];
    const socket = await openTls(port);
    socket.write(
      `GET ${BASE}/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${smuggled.join("\r\n")}\r\n\r\n`,
    );
    expect(await readAll(socket)).toContain("200 OK");
    const raw = seen[0]?.rawHeaders ?? [];
    const names = raw.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names.toSorted()).toEqual([
      "audit-id",
      "authorization",
      "connection",
      "host",
      "impersonate-group",
      "impersonate-group",
      "impersonate-user",
      "via",
    ]);
    expect(valuesOf(raw, "authorization")).toEqual([`Bearer ${TOKEN}`]);
    expect(valuesOf(raw, "impersonate-user")).toEqual(["alice"]);
  });

  test("no secret of the caller's reaches the target (security book 35)", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const headers = { authorization: `Bearer ${CALLERS_KEY}`, cookie: `key=${CALLERS_KEY}`, "x-api-key": CALLERS_KEY };
    await http1({ port, path: `${BASE}/version`, headers });
    await http2(openSession(port), { ":path": `${BASE}/version`, ...headers });
    expect(seen).toHaveLength(2);
    expect(JSON.stringify(seen)).not.toContain(CALLERS_KEY);
  });

  test("is proved with a client certificate where that is the target's credential", async () => {
    const { upstream, target } = await serveCanary((request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(JSON.stringify({ authorization: request.headers.authorization ?? "none", certificate: subject.CN }));
    });
    const { key, cert } = createTestCertificate("proxy");
    Object.assign(upstream.server, { requestCert: true, rejectUnauthorized: false });
    const clientCertificate = { certificatePem: cert, privateKeyPem: key };
    const { port } = await serveProxy({ ...target, credential: { clientCertificate } });
    const response = await http1({
      port,
      path: `${BASE}/version`,
      headers: { authorization: `Bearer ${CALLERS_KEY}` },
    });
    expect(JSON.parse(response.body)).toEqual({ authorization: "none", certificate: "proxy" });
  });
});
