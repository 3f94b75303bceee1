// kubectl exec, attach and port-forward through the proxy: the newest kubectls over WebSockets, Debian's over SPDY. And hundreds of
// megabytes on each way that streams can take through the server, at the memory that it has anyway.

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { clientFrame, OPCODES, openHttp2WebSocket } from "@postern/apiserver/transport/testing/http2-web-socket";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { kubectlClients } from "./testing/kubectl-clients.ts";
import { type PodCluster, servePodCluster } from "./testing/pod-cluster.ts";
import {
  kubectlWith,
  type Outcome,
  type PosternProcess,
  startPostern,
  startTool,
  succeed,
  temporaryDirectory,
} from "./testing/postern-process.ts";

const MANAGEMENT = "/kubernetes/management/apis/management.postern/v1";
const INSTANCES = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
const WAIT = { timeout: 45_000, interval: 50 };
/** From this release on kubectl asks for WebSockets, and for SPDY only where it gets none. */
const FIRST_WITH_WEB_SOCKETS = 31;

const { clients } = await kubectlClients();
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let pods: PodCluster;
let echo: Server;
let http: HttpClient;
let admin = "";

beforeAll(async () => {
  directory = await temporaryDirectory();
  pods = await servePodCluster();
  echo = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
  const flags = ["--proxy-allowed-addresses", "127.0.0.0/8", "--kube-config-proxy-fallback"];
  server = await startPostern(join(directory.path, "data"), flags);
  http = await httpClient(server);
  admin = await adminKey(server);
  const config = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "pods",
        cluster: {
          server: pods.url,
          "certificate-authority-data": Buffer.from(pods.certificateAuthorityPem).toString("base64"),
        },
      },
    ],
    users: [{ name: "pods", user: { token: "credential-of-the-platform" } }],
    contexts: [{ name: "pods", context: { cluster: "pods", user: "pods" } }],
    "current-context": "pods",
  });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "vc-pods" }, stringData: { config } };
  await post("/kubernetes/management/api/v1/namespaces/p-default/secrets", secret);
  await post(INSTANCES, {
    apiVersion: "management.postern/v1",
    kind: "VirtualClusterInstance",
    metadata: { name: "pods" },
    spec: { external: true },
  });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await pods?.[Symbol.asyncDispose]();
  echo?.close();
  await directory?.[Symbol.asyncDispose]();
});

async function post(path: string, body: object): Promise<any> {
  const answer = await http(path, { key: admin, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

/** The path of a kube config with a key of its own, and the name of that key. */
async function kubeConfig(name: string): Promise<{ readonly path: string; readonly key: string }> {
  const made = await post(`${MANAGEMENT}/ownedaccesskeys`, {
    apiVersion: "management.postern/v1",
    kind: "OwnedAccessKey",
    metadata: { name },
    spec: { user: "admin" },
  });
  const answer = await http(`${INSTANCES}/pods/kubeconfig`, { key: made.spec.key, body: { spec: {} } });
  expect(answer.status, answer.text).toBe(201);
  const path = join(directory.path, `${name}.kubeconfig`);
  await writeFile(path, answer.body.status.kubeConfig, { mode: 0o600 });
  return { path, key: name };
}

const revoke = async (key: string): Promise<void> => {
  expect((await http(`${MANAGEMENT}/ownedaccesskeys/${key}`, { key: admin, method: "DELETE" })).status).toBe(200);
};

describe.each(clients)("kubectl 1.$minor ($tag)", ({ program, minor, tag }) => {
  let config: string;
  let kubectl: (args: readonly string[], input?: string) => Promise<Outcome>;
  const cache = () => join(directory.path, `cache-${tag}`);

  beforeAll(async () => {
    config = (await kubeConfig(`streams-${tag}`)).path;
    kubectl = kubectlWith(config, cache(), program);
  });

  it("executes: input, both outputs and the exit code", async () => {
    const script = "cat; echo something else >&2; exit 3";
    const outcome = await kubectl(["exec", "-i", "web", "--", "sh", "-c", script], "what was typed\n");
    expect(outcome).toMatchObject({ code: 3, stdout: "what was typed\n" });
    expect(outcome.stderr).toContain("something else\n");
    expect(await succeed(kubectl(["exec", "web", "--", "echo", "a b", "c"]))).toBe("a b c\n");

    const { headers } = pods.upgrades.at(-1) ?? expect.unreachable();
    expect(headers.upgrade?.toLowerCase()).toBe(minor >= FIRST_WITH_WEB_SOCKETS ? "websocket" : "spdy/3.1");
    expect(headers).toMatchObject({
      authorization: "Bearer credential-of-the-platform",
      "impersonate-user": "admin",
      "impersonate-group": expect.stringContaining("postern:role:cluster-admin"),
    });
    await expect.poll(() => pods.open.size, WAIT).toBe(0);
  });

  it("carries many bytes whole", async () => {
    const size = 20_000_000;
    const script = `head -c ${size} /dev/zero | tr '\\0' x`;
    const { code, stdout } = await kubectl(["exec", "web", "--", "sh", "-c", script]);
    expect([code, stdout.length, /[^x]/.test(stdout)]).toEqual([0, size, false]);
  });

  it("attaches", async () => {
    expect(await succeed(kubectl(["attach", "-i", "web"], "to whom it is attached\n"))).toBe(
      "to whom it is attached\n",
    );
  });

  it("forwards a port: bytes both ways, an end, and connections one beside the other", async () => {
    const remote = (echo.address() as AddressInfo).port;
    const args = ["--kubeconfig", config, "--cache-dir", cache(), "port-forward", "pod/web", `:${remote}`];
    using forward = startTool(program, args);
    await expect.poll(() => forward.output(), WAIT).toMatch(/Forwarding from 127\.0\.0\.1:\d+/);
    const local = Number(/127\.0\.0\.1:(\d+)/.exec(forward.output())?.[1]);
    const sent = [Buffer.alloc(1_000_000, "ab"), Buffer.from([0, 1, 0x80, 0xff])];
    const received = await Promise.all(
      sent.map(async (bytes) => {
        const socket = connect({ port: local, host: "127.0.0.1", allowHalfOpen: true });
        const chunks: Buffer[] = [];
        socket.on("data", (chunk) => chunks.push(chunk)).end(bytes);
        await once(socket, "end");
        return Buffer.concat(chunks);
      }),
    );
    expect(received.map((bytes, index) => Buffer.compare(bytes, sent[index] ?? Buffer.alloc(0)))).toEqual([0, 0]);
  });

  it("is cut off when the key is revoked, and so is the pod", async () => {
    const { path, key } = await kubeConfig(`revoked-${tag}`);
    const script = "echo begun; exec sleep 1000";
    using running = startTool(program, [
      "--kubeconfig",
      path,
      "--cache-dir",
      cache(),
      "exec",
      "web",
      "--",
      "sh",
      "-c",
      script,
    ]);
    await expect.poll(() => running.output(), WAIT).toContain("begun");
    expect(pods.open.size).toBeGreaterThan(0);
    await revoke(key);
    await expect.poll(() => pods.open.size, WAIT).toBe(0);
    const refused = await kubectlWith(path, cache(), program)(["exec", "web", "--", "true"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/logged in|Unauthorized|login/i);
  });
});

const TOTAL = 200_000_000;
const POD_PATH = "/kubernetes/project/default/virtualcluster/pods/api/v1/namespaces/default/pods/web";
const LOG = `${POD_PATH}/log?follow=true&limitBytes=${TOTAL}`;
const EXEC = `${POD_PATH}/exec?stdout=true&command=head&command=-c&command=${TOTAL}&command=/dev/zero`;
const UPLOAD = `${POD_PATH}/exec?stdin=true&stdout=true&command=wc&command=-c`;

describe("hundreds of megabytes", () => {
  const login = () => ({ authorization: `Bearer ${admin}` });

  /** Resident memory of the server, in bytes. */
  async function residentBytes(): Promise<number> {
    const pages = Number((await readFile(`/proc/${server.pid}/statm`, "utf8")).split(" ")[1]);
    return pages * 4096;
  }

  /** By how much it grew at most while `work` ran. */
  async function growthDuring(work: () => Promise<void>): Promise<number> {
    const before = await residentBytes();
    let highest = before;
    let isOver = false;
    const running = work().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      highest = Math.max(highest, await residentBytes());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await running;
    return highest - before;
  }

  async function count(stream: AsyncIterable<Buffer>): Promise<number> {
    let bytes = 0;
    for await (const chunk of stream) bytes += chunk.length;
    return bytes;
  }

  async function openSession() {
    const session = connectHttp2(server.url, { ca: await readFile(server.caFile) });
    session.on("error", () => undefined);
    return session;
  }

  const ways: { readonly [way: string]: () => Promise<number> } = {
    "a response over HTTP/1.1": async () => {
      const request = httpsRequest(`${server.url}${LOG}`, {
        ca: await readFile(server.caFile),
        headers: login(),
      }).end();
      const [response] = await once(request, "response");
      return await count(response);
    },
    "a response over HTTP/2": async () => {
      const session = await openSession();
      const bytes = await count(session.request({ ":path": LOG, ...login() }));
      session.destroy();
      return bytes;
    },
    "a WebSocket over HTTP/1.1": async () => {
      const address = `${server.url}${EXEC}`.replace("https", "wss");
      const socket = new WebSocket(address, ["v5.channel.k8s.io"], {
        ca: await readFile(server.caFile),
        headers: login(),
      });
      let bytes = 0;
      // The first byte of a message says which of the program's streams it is of.
      socket.on("message", (data: Buffer) => {
        if (data[0] === 1) bytes += data.length - 1;
      });
      await once(socket, "close");
      return bytes;
    },
    "a WebSocket over HTTP/2": async () => {
      const session = await openSession();
      const asked = { "sec-websocket-protocol": "v5.channel.k8s.io", ...login() };
      const { stream } = await openHttp2WebSocket(session, EXEC, asked);
      const bytes = await count(stream);
      session.destroy();
      return bytes;
    },
    "the way up a WebSocket over HTTP/2": async () => {
      const session = await openSession();
      const asked = { "sec-websocket-protocol": "v5.channel.k8s.io", ...login() };
      const { stream } = await openHttp2WebSocket(session, UPLOAD, asked);
      let text = "";
      stream.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
      });
      const frame = clientFrame(OPCODES.binary, Buffer.alloc(1_000_001));
      for (let sent = 0; sent < TOTAL; sent += 1_000_000) if (!stream.write(frame)) await once(stream, "drain");
      stream.write(clientFrame(OPCODES.binary, Buffer.from([255, 0])));
      await once(stream, "end");
      session.destroy();
      return Number(/\d{6,}/.exec(text)?.[0]);
    },
  };

  it.each(Object.keys(ways))("take %s at flat memory", async (way) => {
    const bytes = await growthDuring(async () => {
      // Frames are a little more than what they carry.
      expect(await ways[way]?.()).toBeGreaterThanOrEqual(TOTAL);
    });
    expect(bytes).toBeLessThan(100_000_000);
  });
});
