// Messages for a caller when a target is down, misbehaves, or is not where the platform may go.

import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { http1 } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorkspace, openssl } from "../../foundation/pki/testing/openssl.ts";
import { createAddressRules } from "../../foundation/upstream/address-rules.ts";
import type { ResolveHost } from "../../foundation/upstream/resolve-host.ts";
import { BASE, openConnections, serveProxy } from "./testing/serve-proxy.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

const VERSION = `${BASE}/version`;

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function askThrough(target: Parameters<typeof serveProxy>[0], options: Parameters<typeof serveProxy>[1] = {}) {
  const { port, connections } = await serveProxy(target, options);
  const { status, headers, body } = await http1({ port, path: VERSION });
  await expect.poll(() => connections.active).toBe(0);
  const { message, details } = JSON.parse(body);
  return { status, retryAfter: headers["retry-after"], reason: details.causes?.[0]?.reason, message };
}

test("a target that is down is 503, without Retry-After", async () => {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  const answer = await askThrough({ server: `https://127.0.0.1:${port}`, credential: {} });
  expect(answer).toMatchObject({ status: 503, retryAfter: undefined, reason: "ConnectionRefused" });
  expect(answer.message).not.toContain("127.0.0.1");
});

test("a target whose handshake hangs is 503 after the time for connecting", async () => {
  const port = await listen(createServer());
  const limits = { connectTimeoutMs: 30 };
  const answer = await askThrough({ server: `https://127.0.0.1:${port}`, credential: {} }, { limits });
  expect(answer).toMatchObject({ status: 503, retryAfter: undefined, reason: "ConnectTimeout" });
});

test("a target that takes a request and never answers is 504", async () => {
  const upstream = await serveUpstream(() => undefined);
  const limits = { responseTimeoutMs: 30 };
  const answer = await askThrough({ ...upstream, server: upstream.url, credential: {} }, { limits });
  expect(answer.status).toBe(504);
});

test("a watch that does not even begin is 504, a log may be silent for as long as it likes", async () => {
  const asked = deferred<ServerResponse>();
  const upstream = await serveUpstream((request, response) => {
    if (request.url?.includes("log")) asked.resolve(response);
  });
  const limits = { responseTimeoutMs: 30 };
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} }, { limits });
  const log = http1({ port, path: `${BASE}/api/v1/namespaces/a/pods/b/log?follow=1` });
  const silent = await asked.promise;
  expect((await http1({ port, path: `${BASE}/api/v1/pods?watch=1` })).status).toBe(504);
  silent.end("at last");
  expect((await log).body).toBe("at last");
});

test("a name that does not resolve is 503", async () => {
  const resolve: ResolveHost = (_host, _options, callback) =>
    callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), []);
  const answer = await askThrough({ server: "https://tenant.example.com", credential: {} }, { resolve });
  expect(answer).toMatchObject({ status: 503, reason: "NameNotResolved" });
});

describe("trust", () => {
  test("a certificate of another authority is 502 with that reason", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end());
    const certificateAuthorityPem = createTestCertificate("other").cert;
    const answer = await askThrough({ server: upstream.url, certificateAuthorityPem, credential: {} });
    expect(answer).toMatchObject({ status: 502, retryAfter: undefined, reason: "CertificateNotTrusted" });
  });

  test("a named authority may be an intermediate or the certificate itself, as for Go", async () => {
    using workspace = createWorkspace();
    const file = (name: string): string => workspace.path(name);
    const read = (name: string): string => readFileSync(file(name), "utf8");
    const create = (name: string, issuer: string | undefined, extensions: string): void => {
      const keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", file(`${name}.key`)];
      const options = [...keys, "-subj", `/CN=${name}`, "-days", "2", "-x509", "-out", file(`${name}.crt`)];
      const signer = issuer === undefined ? [] : ["-CA", file(`${issuer}.crt`), "-CAkey", file(`${issuer}.key`)];
      openssl("req", ...options, ...signer, "-addext", extensions);
    };
    create("root", undefined, "basicConstraints=critical,CA:TRUE");
    create("between", "root", "basicConstraints=critical,CA:TRUE");
    create("leaf", "between", "subjectAltName=IP:127.0.0.1");
    create("strange", "root", "basicConstraints=critical,CA:TRUE");
    const answering = async (names: readonly string[]): Promise<string> => {
      const credential = { cert: names.map((name) => read(`${name}.crt`)).join(""), key: read("leaf.key") };
      const server = createHttpsServer(credential, (_request, response) => void response.end("{}"));
      return `https://127.0.0.1:${await listen(server)}`;
    };
    const [whole, alone] = [await answering(["leaf", "between"]), await answering(["leaf"])];
    const status = async (server: string, authority: string): Promise<number> => {
      const target = { server, certificateAuthorityPem: read(`${authority}.crt`), credential: {} };
      return (await http1({ port: (await serveProxy(target)).port, path: VERSION })).status;
    };
    expect(await Promise.all(["root", "between", "leaf", "strange"].map((name) => status(whole, name)))).toEqual([
      ...[200, 200, 200, 502],
    ]);
    expect(await Promise.all(["root", "between", "leaf", "strange"].map((name) => status(alone, name)))).toEqual([
      ...[502, 200, 200, 502],
    ]);
  });

  test("public roots are not replaced by trust in everything", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end());
    const answer = await askThrough({ server: upstream.url, credential: {} });
    expect(answer).toMatchObject({ status: 502, reason: "CertificateNotTrusted" });
  });

  test("a certificate for another name is 502 with that reason", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end());
    const answer = await askThrough({
      ...upstream,
      server: upstream.url,
      tlsServerName: "tenant.example.com",
      credential: {},
    });
    expect(answer).toMatchObject({ status: 502, reason: "CertificateNotTrusted" });
    expect(answer.message).toContain("another name");
  });

  test("the credential is not sent before the certificate is trusted", async () => {
    const { key, cert } = createTestCertificate();
    let received = 0;
    const server = createTlsServer({ key, cert }, (socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        received += chunk.length;
      });
    });
    const port = await listen(server);
    const answer = await askThrough({ server: `https://127.0.0.1:${port}`, credential: { bearerToken: "secret" } });
    expect(answer.status).toBe(502);
    expect(received).toBe(0);
  });

  test("no check is made only where the target is registered so", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end("ok"));
    const target = { server: upstream.url, insecureSkipTlsVerify: true, credential: {} };
    const { port } = await serveProxy(target);
    expect((await http1({ port, path: VERSION })).body).toBe("ok");
  });

  test("a target that does not speak TLS is 502", async () => {
    const port = await listen(createServer((socket) => void socket.end("hello there, no TLS here\n")));
    const answer = await askThrough({ server: `https://127.0.0.1:${port}`, credential: {} });
    expect(answer).toMatchObject({ status: 502, reason: "TLSHandshakeFailed" });
  });
});

test("a target that does not speak HTTP is 502", async () => {
  const port = await listen(createServer((socket) => void socket.end("hello there, no HTTP here\r\n\r\n")));
  const answer = await askThrough({ server: `http://127.0.0.1:${port}`, credential: {} });
  expect(answer).toMatchObject({ status: 502, reason: "InvalidResponse" });
});

test("a GET that loses its connection may be sent again, a POST may have been carried out", async () => {
  const server = createServer((socket) => void socket.once("data", () => socket.destroy()));
  const target = { server: `http://127.0.0.1:${await listen(server)}`, credential: {} };
  expect(await askThrough(target)).toMatchObject({ status: 503, reason: "ConnectionLost" });
  const { port } = await serveProxy(target);
  const post = await http1({ port, method: "POST", path: VERSION, body: "{}" });
  expect(post.status).toBe(502);
  expect(post.headers["retry-after"]).toBeUndefined();
});

test("a GET on a connection that the target has just closed is sent again by itself", async () => {
  let answered = 0;
  const upstream = await serveUpstream((request, response) => {
    answered += 1;
    // Every second request finds its connection closed.
    if (answered === 2) request.socket.destroy();
    else response.end("ok");
  });
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  expect((await http1({ port, path: VERSION })).body).toBe("ok");
  expect((await http1({ port, path: VERSION })).body).toBe("ok");
  expect(upstream.accepted()).toBe(2);
});

describe("addresses (security book 31)", () => {
  const REFUSED = [
    "169.254.169.254",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "0.0.0.0",
    "[::]",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
  ];

  test.each(REFUSED)("%s is refused in the URL", async (host) => {
    const answer = await askThrough({ server: `https://${host}`, credential: {} });
    expect(answer).toMatchObject({ status: 502, retryAfter: undefined, reason: "AddressRefused" });
  });

  test.each(["169.254.169.254", "fe80::1%eth0", "::ffff:169.254.169.254"])(
    "a name that resolves to %s is refused",
    async (address) => {
      const resolve: ResolveHost = (_host, _options, callback) =>
        callback(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
      const answer = await askThrough({ server: "https://tenant.example.com", credential: {} }, { resolve });
      expect(answer).toMatchObject({ status: 502, reason: "AddressRefused" });
    },
  );

  test("of several addresses of a name only those are dialled that may be", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end("ok"));
    const resolve: ResolveHost = (_host, _options, callback) =>
      callback(null, [
        { address: "169.254.169.254", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]);
    const server = `https://localhost:${upstream.port}`;
    const { port } = await serveProxy({ ...upstream, server, credential: {} }, { resolve });
    expect((await http1({ port, path: VERSION })).body).toBe("ok");
  });

  test("a name is resolved once for a connection, and not again between check and use", async () => {
    const upstream = await serveUpstream((_request, response) => void response.end("ok"));
    let asked = 0;
    const resolve: ResolveHost = (_host, _options, callback) => {
      asked += 1;
      callback(null, [{ address: asked === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }]);
    };
    const server = `https://localhost:${upstream.port}`;
    const { port } = await serveProxy({ ...upstream, server, credential: {} }, { resolve });
    for (let at = 0; at < 3; at++) expect((await http1({ port, path: VERSION })).body).toBe("ok");
    expect(asked).toBe(1);
  });

  test("an operator may allow what is refused otherwise, and refuse more", () => {
    const rules = createAddressRules({ allow: ["169.254.1.0/24"] });
    expect(rules.isAllowed("169.254.1.7")).toBe(true);
    expect(rules.isAllowed("169.254.2.7")).toBe(false);
    expect(rules.isAllowed("10.0.0.1")).toBe(true);
    expect(rules.isAllowed("::1")).toBe(true);
    expect(rules.isAllowed("not an address")).toBe(false);
    expect(createAddressRules({ refuse: ["10.0.0.0/8"] }).isAllowed("::ffff:10.1.2.3")).toBe(false);
    expect(() => createAddressRules({ allow: ["everything"] })).toThrow(RangeError);
  });
});

test("retired connections let what is under way come to its end", async () => {
  const upstream = await serveUpstream((_request, response) => void response.write("open"));
  const connections = openConnections({ ...upstream, server: upstream.url, credential: {} });
  const stop = new AbortController();
  const response = await connections.send({ method: "GET", path: "/", headers: {}, lasts: true, signal: stop.signal });
  connections.retire();
  const chunks = response[Symbol.asyncIterator]();
  expect(String((await chunks.next()).value)).toBe("open");
  stop.abort();
  await expect.poll(() => upstream.sockets.size).toBe(0);
});
