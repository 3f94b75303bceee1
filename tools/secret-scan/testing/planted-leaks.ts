// Simulates a product with every kind of leak: each test issues a key correctly, and then leaks it in its own way. The
// handles of the keys are written to the file `PLANTED_HANDLES`, by the kind of leak.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { readAll } from "@postern/apiserver/transport/testing/test-clients";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { it, onTestFinished } from "vitest";
import { tool } from "../../../test/e2e/testing/postern-process.ts";

const { generate } = createAccessKeyFormat("postern");
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The default response of a server. */
async function ask(path: string, answer: RequestListener, method = "GET"): Promise<void> {
  const port = await listening(createServer(answer));
  const asked = request({ port, path, method, host: "127.0.0.1", agent: false });
  asked.end();
  const [response] = await once(asked, "response");
  await readAll(response);
}

async function handedOut(kind: string): Promise<string> {
  const { id, value } = generate({ bytes: (count) => randomBytes(count) });
  const body = JSON.stringify({ spec: { key: value } });
  await ask(KEYS, (_request, response) => void response.writeHead(201).end(body), "POST");
  appendFileSync(process.env["PLANTED_HANDLES"] ?? "", `${kind} ${id}\n`);
  return value;
}

/** A directory as test harnesses create it, deleted when the test is over. */
async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "of-a-harness-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

it("in the log", async () => {
  const key = await handedOut("log");
  await tool(process.execPath, ["-e", "console.error(require('fs').readFileSync(0, 'utf8'))"], `{"msg":"${key}"}`);
});

it("in the audit file", async () => {
  const key = await handedOut("audit");
  await writeFile(join(await directory(), "audit.log"), `{"kind":"Event","requestURI":"/x/${key}"}\n`);
});

it("in the label of a metric", async () => {
  const key = await handedOut("metric");
  await ask("/metrics", (_request, response) => void response.end(`requests_total{key="${key}"} 1\n`));
});

it("in the text of an error", async () => {
  const key = await handedOut("error");
  const status = { kind: "Status", message: `the object provided is unrecognized: "${key.slice(0, 40)}"` };
  await ask("/api", (_request, response) => void response.writeHead(400).end(JSON.stringify(status)));
});

it("in a header", async () => {
  const key = await handedOut("header");
  await ask("/api", (_request, response) => void response.setHeader("warning", `299 - "${key}"`).end());
});

it("in an answer that is packed", async () => {
  const key = await handedOut("packed");
  await ask("/apis", (_request, response) => {
    response.setHeader("content-encoding", "gzip").end(gzipSync(JSON.stringify({ note: key })));
  });
});

it("in an answer over HTTP/2", async () => {
  const key = await handedOut("http2");
  const server = createHttp2Server((_request, response) => void response.end(JSON.stringify({ note: key })));
  const session = connectHttp2(`http://127.0.0.1:${await listening(server)}`);
  await readAll(session.request({ ":path": "/over-http2" }));
  session.close();
});

it("on a connection that is no HTTP", async () => {
  const key = await handedOut("bytes");
  const server = createTlsServer(createTestCertificate(), (socket) => void socket.end(key));
  await readAll(connectTls({ host: "127.0.0.1", port: await listening(server), rejectUnauthorized: false }));
});

it("after an upgrade", async () => {
  const key = await handedOut("upgrade");
  const server = createServer();
  server.on(
    "upgrade",
    (_request, socket) =>
      void socket.end(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n${key}`),
  );
  const headers = { connection: "Upgrade", upgrade: "x" };
  const asked = request({ host: "127.0.0.1", port: await listening(server), path: "/upgrade", headers, agent: false });
  asked.end();
  const [, socket] = await once(asked, "upgrade");
  await readAll(socket);
});

it("in the database", async () => {
  const key = await handedOut("database");
  await using storage = await openSqliteStorage({ path: join(await directory(), "postern.db") });
  await storage.create("/registry/x", Buffer.from(JSON.stringify({ note: key })));
});

it.skipIf(whyNoEtcd() !== undefined)("in etcd", async () => {
  const key = await handedOut("etcd");
  await using etcd = await startEtcd();
  await using storage = await openEtcdStorage({ endpoints: etcd.endpoints });
  await storage.create("/registry/x", Buffer.from(JSON.stringify({ note: key })));
});

it("in a backup", async () => {
  const key = await handedOut("backup");
  const folder = join(await directory(), "backups");
  await mkdir(folder);
  const content = Buffer.concat([randomBytes(1 << 16), Buffer.from(key).subarray(20), randomBytes(1 << 16)]);
  await writeFile(join(folder, "monday.postern-backup"), content);
});

it("in a kubeconfig, beside the one that it is for", async () => {
  const [key, other] = [await handedOut("kube-config"), await handedOut("kube-config-own")];
  await writeFile(join(await directory(), "admin.kubeconfig"), `users:\n- user:\n    token: ${other}\n# ${key}\n`);
});
