// What passes the proxy in either direction, and what does not. Numbers name the entries of the security book.

import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from "node:http";
import type { TLSSocket } from "node:tls";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { http1, http2, openHttp2, openTls, readAll } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, onTestFinished, test } from "vitest";
import { alice, BASE, serveProxy } from "./testing/serve-proxy.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

const TOKEN = "backend-credential";
const CALLERS_KEY = "pst_callers_access_key";

type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** A canary: everything that ever reaches it is kept. */
async function serveCanary(answer: RequestListener = (_request, response) => void response.end("{}"), basePath = "") {
  const seen: Seen[] = [];
  const upstream = await serveUpstream(async (request, response) => {
    const { method = "", url = "", headers, rawHeaders } = request;
    seen.push({ method, url, headers, rawHeaders, body: await readAll(request) });
    answer(request, response);
  });
  const { certificateAuthorityPem } = upstream;
  const target = { server: upstream.url + basePath, certificateAuthorityPem, credential: { bearerToken: TOKEN } };
  return { upstream, target, seen };
}

function session(port: number) {
  const opened = openHttp2(port);
  onTestFinished(() => opened.destroy());
  return opened;
}

const valuesOf = (raw: readonly string[], name: string): readonly string[] =>
  raw.flatMap((value, at) => (at % 2 === 1 && raw[at - 1]?.toLowerCase() === name ? [value] : []));

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
        : await http2(session(port), { ":method": "POST", ":path": path, ...headers }, body);
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
    await http2(session(port), { ":method": method, ":path": `${BASE}/api/v1/pods` });
    for (const { headers, body } of seen) {
      expect(headers["transfer-encoding"]).toBeUndefined();
      expect(headers["content-length"] ?? "0").toBe("0");
      expect(body).toBe("");
    }
    expect(seen).toHaveLength(2);
  });

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
  ])("security book 32: is refused with 400 when its path has two readings: %s", async (path) => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const response = await http2(session(port), { ":path": BASE + path });
    expect(response.status).toBe(400);
    expect(seen).toEqual([]);
  });

  test("security book 33: is sent with the query that was decided about", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    await http2(session(port), { ":path": `${BASE}/api/v1/pods?watch=0;watch=1&limit=5?watch=1` });
    expect(seen[0]?.url).toBe("/api/v1/pods?watch=0%3Bwatch%3D1&limit=5%3Fwatch%3D1");
  });
});

describe("who the caller is", () => {
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

  test("security book 29: is never somebody of the target's own system", async () => {
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
  ])("security book 27: is said although the caller sends Connection: %s", async (connection) => {
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

  test("security book 27: headers that the caller's Connection names are taken off its own", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const headers = { connection: "X-Secret, keep-alive", "x-secret": "1", te: "trailers", "keep-alive": "timeout=1" };
    await http1({ port, path: `${BASE}/version`, headers });
    const names = (seen[0]?.rawHeaders ?? []).filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names).not.toContain("x-secret");
    expect(names).not.toContain("te");
    expect(names).not.toContain("keep-alive");
  });

  test("security book 28: is taken from no header of the caller's, in whatever spelling", async () => {
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

  test("security book 35: no secret of the caller's reaches the target", async () => {
    const { target, seen } = await serveCanary();
    const { port } = await serveProxy(target);
    const headers = { authorization: `Bearer ${CALLERS_KEY}`, cookie: `key=${CALLERS_KEY}`, "x-api-key": CALLERS_KEY };
    await http1({ port, path: `${BASE}/version`, headers });
    await http2(session(port), { ":path": `${BASE}/version`, ...headers });
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

describe("security book 34: request smuggling", () => {
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

  test("a body in chunks is framed anew, without its extensions and trailers", async () => {
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

describe("the response", () => {
  test("arrives with status, headers and body, without what speaks for the platform's origin", async () => {
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
    const { status, headers, body } = await http2(session(port), { ":path": `${BASE}/api/v1/pods` });
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
  ])("security book 30: to other places are refused, and nothing is sent there: %s", async (location) => {
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

test("a target that leads back to its own proxy ends in 502, and holds nothing", async () => {
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
