// Large and long streams through a tunnel: logs, uploads and the upgrades of kubectl exec, to an API server of the test's own.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "./testing/postern-process.ts";
import { type AgentProcess, joinValue, startAgent, writeAgentState } from "./testing/tunnelled-cluster.ts";
import { MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";
import { writeKubeconfig } from "./testing/write-kubeconfig.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const POD = "/kubernetes/cluster/edge/api/v1/namespaces/default/pods/web";
const LOG_BYTES = 100 << 20;
const CHUNK = Buffer.alloc(64 << 10, "0123456789abcdef");
/** Node's own buffers, the window of a stream and the heap between two collections take less; a side that collected the body would hold all of it. */
const MAX_GROWTH = 80 << 20;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let agent: AgentProcess;
let cluster: HttpServer;

beforeAll(async () => {
  directory = await temporaryDirectory();
  cluster = createServer((incoming, answer) => void serve(incoming, answer).catch(() => answer.destroy()));
  cluster.on("upgrade", echo);
  cluster.listen(0, "127.0.0.1");
  await once(cluster, "listening");
  near = await startServer(join(directory.path, "near"), ["--proxy-health-check-interval-seconds", "1"]);
  const server = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
  const kubeconfig = join(directory.path, "cluster.kubeconfig");
  await writeKubeconfig(kubeconfig, { server, token: "of-the-agent" });
  const stateFile = await writeAgentState(near, join(directory.path, "edge-agent.key"), await joinValue(near, "edge"));
  agent = startAgent({ stateFile, kubeconfig });
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await near?.[Symbol.asyncDispose]();
  cluster?.closeAllConnections();
  cluster?.close();
  await directory?.[Symbol.asyncDispose]();
});

/** The API server: as much of one as an agent and the health check ask for, and a pod. */
async function serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { pathname } = new URL(incoming.url ?? "/", "http://cluster");
  if (incoming.headers.authorization !== "Bearer of-the-agent") return void answer.writeHead(401).end();
  if (pathname.endsWith("/pods/web/log")) {
    answer.writeHead(200, { "content-type": "text/plain" });
    for (let sent = 0; sent < LOG_BYTES; sent += CHUNK.length) if (!answer.write(CHUNK)) await once(answer, "drain");
    return void answer.end();
  }
  if (pathname.includes("/pods/web/proxy")) {
    const { digest, bytes } = await digestOf(incoming);
    return void answer.writeHead(200, { "content-type": "text/plain" }).end(`${bytes} ${digest}`);
  }
  const body = pathname.endsWith("/kube-system")
    ? { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid: "7a7d0d1c" } }
    : { major: "1", minor: "36", gitVersion: "v1.36.2" };
  answer.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** As a container whose command is cat. */
function echo(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  socket.on("error", () => undefined);
  const { upgrade = "", "sec-websocket-key": key } = incoming.headers;
  // RFC 6455, section 4.2.2
  const proof = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const accept = key === undefined ? "" : `Sec-WebSocket-Accept: ${proof}\r\n`;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n${accept}\r\n`);
  socket.write(head);
  socket.pipe(socket);
}

async function digestOf(stream: AsyncIterable<Buffer>): Promise<{ readonly digest: string; readonly bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { digest: hash.digest("hex"), bytes };
}

const logDigest = (): string => {
  const hash = createHash("sha256");
  for (let sent = 0; sent < LOG_BYTES; sent += CHUNK.length) hash.update(CHUNK);
  return hash.digest("hex");
};

/** The most that a process has held in memory. */
async function peakOf(pid: number): Promise<number> {
  const [, kibibytes = "0"] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}
const peaks = async (): Promise<readonly number[]> =>
  await Promise.all([near.process.pid, agent.pid].map((pid) => peakOf(pid)));

async function ask(path: string, options: { readonly method?: string; readonly headers?: object } = {}) {
  const { method = "GET", headers = {} } = options;
  const sent = request(`${near.process.url}${path}`, {
    ...{ method, agent: false, ca: await readFile(near.process.caFile) },
    headers: { authorization: `Bearer ${near.key}`, ...headers },
  });
  return sent;
}

const answerTo = async (sent: Awaited<ReturnType<typeof ask>>): Promise<IncomingMessage> => {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return answer;
};

describe("a tunnel", () => {
  it("is opened to an API server", async () => {
    await expect.poll(async () => (await near.send(`${MANAGEMENT}/clusters/edge`)).status?.online, WAIT).toBe(true);
  });

  it("carries a log of 100 MiB whole, without holding it in memory on either side", async () => {
    const before = await peaks();
    const sent = await ask(`${POD}/log`);
    sent.end();
    const answer = await answerTo(sent);
    expect(answer.statusCode).toBe(200);
    expect(await digestOf(answer)).toEqual({ digest: logDigest(), bytes: LOG_BYTES });
    const after = await peaks();
    for (const [at, peak] of after.entries()) expect(peak - (before[at] ?? 0)).toBeLessThan(MAX_GROWTH);
  });

  it("carries an upload of 100 MiB whole", async () => {
    const sent = await ask(`${POD}/proxy/upload`, { method: "POST", headers: { "content-type": "text/plain" } });
    const answered = answerTo(sent);
    for (let written = 0; written < LOG_BYTES; written += CHUNK.length)
      if (!sent.write(CHUNK)) await once(sent, "drain");
    sent.end();
    const answer = await answered;
    let text = "";
    for await (const chunk of answer) text += chunk;
    expect([answer.statusCode, text]).toEqual([200, `${LOG_BYTES} ${logDigest()}`]);
  });

  it.each([
    ["SPDY/3.1", "POST"],
    ["websocket", "GET"],
  ])("carries what kubectl exec sends and gets after an upgrade to %s", async (protocol, method) => {
    const sent = await ask(`${POD}/exec?command=cat&stdin=true&stdout=true`, {
      method,
      headers: {
        connection: "Upgrade",
        upgrade: protocol,
        "x-stream-protocol-version": "v4.channel.k8s.io",
        ...(protocol === "websocket"
          ? { "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }
          : {}),
      },
    });
    sent.once("response", ({ statusCode }) => sent.destroy(new Error(`no upgrade: ${statusCode}`)));
    sent.end();
    const [answer, socket, head] = (await once(sent, "upgrade")) as [IncomingMessage, Duplex, Buffer];
    expect(answer.headers.upgrade).toBe(protocol);
    socket.unshift(head);
    const typed = Buffer.from("what a person types\n".repeat(100_000));
    socket.write(typed);
    const shown: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of socket) {
      shown.push(chunk);
      bytes += chunk.length;
      if (bytes >= typed.length) break;
    }
    expect(Buffer.concat(shown).equals(typed)).toBe(true);
  });
});
