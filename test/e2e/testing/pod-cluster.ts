// A Kubernetes API with one pod in it, over real TLS: exec and attach run programs of this machine, port-forward dials its ports.
// Source: k8s.io/apiserver/pkg/util/wsstream, k8s.io/kubelet/pkg/cri/streaming/{remotecommand,portforward}

import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import { SpdySession, type SpdyStream } from "./spdy-session.ts";

export type PodCluster = AsyncDisposable & {
  readonly url: string;
  /** PEM of what verifies it. */
  readonly certificateAuthorityPem: string;
  /** Requests for exec, attach and port-forward, as they came in. */
  readonly upgrades: readonly IncomingMessage[];
  /** Connections that have left HTTP, and answers that go on: those that are open. */
  readonly open: ReadonlySet<Duplex | ServerResponse>;
};

type Outcome = { readonly code: number };

const EXEC_PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const FORWARD_PROTOCOL = "portforward.k8s.io";
const TUNNELED = `SPDY/3.1+${FORWARD_PROTOCOL}`;
const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;

/** `address`: where it listens. It takes the requests of a kube-apiserver to a kubelet as well. */
export async function servePodCluster(address = "127.0.0.1"): Promise<PodCluster> {
  const certificate = createTestCertificate();
  const open = new Set<Duplex | ServerResponse>();
  const server = createServer({ ...certificate }, (request, response) => {
    if (!goesOn(request)) return answer(request, response);
    open.add(response);
    response.once("close", () => open.delete(response));
    response.writeHead(200, { "content-type": "application/json" }).write(FIRST_LINE);
  });
  const upgrades: IncomingMessage[] = [];
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (asked) => [...EXEC_PROTOCOLS, TUNNELED].find((protocol) => asked.has(protocol)) ?? false,
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.push(request);
    open.add(socket);
    socket.on("error", () => undefined).once("close", () => open.delete(socket));
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    if (isWebSocket) sockets.handleUpgrade(request, socket, head, (accepted) => onWebSocket(accepted, request));
    else onSpdy(request, socket, head);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://${address}:${port}`,
    certificateAuthorityPem: certificate.cert,
    upgrades,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const isPortForward = ({ url = "" }: IncomingMessage): boolean => /\/portforward(?:\?|$)/.test(url);

function onWebSocket(socket: WebSocket, request: IncomingMessage): void {
  socket.on("error", () => undefined);
  if (isPortForward(request)) {
    new SpdySession(createWebSocketStream(socket), Buffer.alloc(0), createForwarder());
    return;
  }
  const process = startProgram(request);
  const send = (channel: number, content: string | Buffer, from?: Readable): void => {
    if (socket.readyState !== socket.OPEN) return;
    from?.pause();
    socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(content)]), () => from?.resume());
  };
  socket.on("message", (data: Buffer) => {
    if (data[0] === CHANNELS.stdin) process.stdin.write(data.subarray(1));
    if (data[0] === CHANNELS.close && data[1] === CHANNELS.stdin) process.stdin.end();
  });
  socket.once("close", () => process.kill("SIGKILL"));
  process.stdout.on("data", (chunk: Buffer) => send(CHANNELS.stdout, chunk, process.stdout));
  process.stderr.on("data", (chunk: Buffer) => send(CHANNELS.stderr, chunk, process.stderr));
  process.once("close", (code) => {
    send(CHANNELS.error, JSON.stringify(statusOf({ code: code ?? 1 })));
    socket.close(1000);
  });
}

function onSpdy(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const asked = String(request.headers["x-stream-protocol-version"] ?? "").split(/,\s*/);
  const protocol = [...EXEC_PROTOCOLS.slice(1), FORWARD_PROTOCOL].find((known) => asked.includes(known)) ?? "";
  const lines = ["Connection: Upgrade", "Upgrade: SPDY/3.1", `X-Stream-Protocol-Version: ${protocol}`];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  new SpdySession(socket, head, isPortForward(request) ? createForwarder() : createExecutor(request, socket));
}

/** The client opens a stream for each of the program's; when all are there it runs. */
function createExecutor(request: IncomingMessage, connection: Duplex): (stream: SpdyStream) => void {
  const { searchParams } = new URL(request.url ?? "", "https://pod");
  const wanted = ["error", ...STREAMS.filter((name) => wantsStream(searchParams, name))];
  const streams = new Map<string, SpdyStream>();
  return (stream) => {
    streams.set(stream.headers["streamtype"] ?? "", stream);
    if (!wanted.every((name) => streams.has(name))) return;
    const process = startProgram(request);
    streams.get("stdin")?.pipe(process.stdin);
    const [stdout, stderr, error] = ["stdout", "stderr", "error"].map((name) => streams.get(name));
    if (stdout !== undefined) process.stdout.pipe(stdout);
    if (stderr !== undefined) process.stderr.pipe(stderr);
    connection.once("close", () => process.kill("SIGKILL"));
    process.once("close", (code) => error?.end(JSON.stringify(statusOf({ code: code ?? 1 }))));
  };
}

/** Two streams for each connection: one for its bytes, one for what goes wrong. */
function createForwarder(): (stream: SpdyStream) => void {
  const errors = new Map<string, SpdyStream>();
  return (stream) => {
    const { streamtype, port, requestid = "" } = stream.headers;
    if (streamtype === "error") {
      errors.set(requestid, stream);
      return;
    }
    const socket = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true });
    socket.once("error", (error) => {
      errors.get(requestid)?.end(error.message);
      stream.destroy();
    });
    socket.once("close", () => errors.get(requestid)?.end());
    stream.once("close", () => socket.destroy());
    stream.pipe(socket).pipe(stream);
  };
}

const STREAMS = ["stdin", "stdout", "stderr"] as const;
/** As kube-apiserver calls them at a kubelet. */
const OF_KUBELET = { stdin: "input", stdout: "output", stderr: "error" } as const;

const wantsStream = (asked: URLSearchParams, name: (typeof STREAMS)[number]): boolean =>
  asked.get(name) === "true" || asked.get(OF_KUBELET[name]) === "1";

/** exec runs the given program; attach is attached to a program that echoes its input. */
function startProgram({ url = "" }: IncomingMessage) {
  const { pathname, searchParams } = new URL(url, "https://pod");
  const [command = "cat", ...args] = pathname.endsWith("/attach") ? ["cat"] : searchParams.getAll("command");
  const child = spawn(command, args, { stdio: "pipe" });
  child.stdin.on("error", () => undefined);
  if (!wantsStream(searchParams, "stdin")) child.stdin.end();
  return child;
}

const statusOf = ({ code }: Outcome) =>
  code === 0
    ? { metadata: {}, status: "Success" }
    : {
        metadata: {},
        status: "Failure",
        message: `command terminated with non-zero exit code: exit status ${code}`,
        reason: "NonZeroExitCode",
        details: { causes: [{ reason: "ExitCode", message: String(code) }] },
      };

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "00000000-0000-0000-0000-000000000001" },
  spec: { containers: [{ name: "main", image: "example.com/main", stdin: true }] },
  status: { phase: "Running", containerStatuses: [{ name: "main", ready: true, state: { running: {} } }] },
};
const POD_VERBS = ["create", "get", "list", "watch"];
const ANSWERS: { readonly [path: string]: object | string } = {
  "/readyz": "ok",
  "/version": { major: "1", minor: "32", gitVersion: "v1.32.0" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [
      { name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: POD_VERBS },
      { name: "pods/exec", singularName: "", namespaced: true, kind: "PodExecOptions", verbs: POD_VERBS },
    ],
  },
  "/api/v1/namespaces/default/pods/web": POD,
};

function answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, "https://pod");
  if (pathname === LOG) {
    void Readable.from(zeros(Number(searchParams.get("limitBytes")))).pipe(response);
    return;
  }
  const found = ANSWERS[pathname];
  const missing = { apiVersion: "v1", kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
  const text = typeof found === "string" ? found : JSON.stringify(found ?? missing);
  response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" }).end(text);
}

const LOG = "/api/v1/namespaces/default/pods/web/log";
const FIRST_LINE = `${JSON.stringify({ type: "ADDED", object: POD })}\n`;

/** Watches, and logs that are followed without a limit: they begin, and say nothing more. */
function goesOn({ url = "" }: IncomingMessage): boolean {
  const { searchParams } = new URL(url, "https://pod");
  return searchParams.has("watch") || (searchParams.has("follow") && !searchParams.has("limitBytes"));
}

/** No faster than it is taken. */
function* zeros(total: number): Generator<Buffer> {
  const chunk = Buffer.alloc(64 << 10);
  for (let left = total; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length));
}
