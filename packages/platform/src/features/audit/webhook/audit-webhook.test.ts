import { once } from "node:events";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { loadConfiguration } from "../../../foundation/config/configuration.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../testing/temporary-directory.ts";
import { recordedChange } from "../testing/recorded-change.ts";
import type { AuditWebhook } from "./audit-webhook.ts";
import { openAuditWebhook } from "./open-audit-webhook.ts";

type Received = {
  readonly headers: import("node:http").IncomingHttpHeaders;
  readonly url: string;
  readonly ids: readonly string[];
};

let certificate: { readonly key: string; readonly cert: string };
let folder: TemporaryDirectory;
let log: string;
let config: string;
let receiver: Server;
let received: Received[];
let refused: number[];
let answer: (body: string) => number;
let warnings: string[];
let metrics: ReturnType<typeof createServerMetrics>;

beforeAll(() => {
  certificate = createTestCertificate();
});

beforeEach(async () => {
  folder = await temporaryDirectory();
  log = join(folder.path, "audit.log");
  config = join(folder.path, "webhook.kubeconfig");
  received = [];
  refused = [];
  warnings = [];
  answer = () => 200;
  receiver = await startReceiver(0);
});

afterEach(async () => {
  await stopReceiver();
  await folder[Symbol.asyncDispose]();
});

async function startReceiver(port: number): Promise<Server> {
  const server = createServer(certificate, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const status = answer(body);
    const { kind, apiVersion, items } = JSON.parse(body);
    expect([kind, apiVersion]).toEqual(["EventList", "audit.k8s.io/v1"]);
    if (status === 200) {
      received.push({
        headers: request.headers,
        url: request.url ?? "",
        ids: items.map(({ auditID }: { auditID: string }) => auditID),
      });
    } else refused.push(items.length);
    response.writeHead(status).end("thanks");
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const stopReceiver = async (): Promise<void> => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
};

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const writeConfig = (port = portOf(receiver), token = "the-token") =>
  writeFile(
    config,
    JSON.stringify({
      clusters: [
        {
          name: "r",
          cluster: {
            server: `https://127.0.0.1:${port}/k8s-audit?source=a`,
            "certificate-authority-data": Buffer.from(certificate.cert).toString("base64"),
          },
        },
      ],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "c", context: { cluster: "r", user: "u" } }],
      "current-context": "c",
    }),
  );

/** Deadlines of a request and of the end: a busy machine needs them. */
const DEADLINES: ReadonlyMap<number, number> = new Map([
  [30_000, 30_000],
  [5_000, 2_000],
]);

/** A log and its webhook, with pauses a fiftieth as long. */
async function open(
  flags: { readonly [flag: string]: string } = {},
  { maxBackups = 1_000, environment = {} }: { maxBackups?: number; environment?: { [name: string]: string } } = {},
) {
  const configuration = await loadConfiguration({
    environment,
    flags: new Map(Object.entries({ "data-dir": folder.path, "audit-webhook-config-file": config, ...flags })),
    workingDirectory: folder.path,
  });
  metrics = createServerMetrics();
  let webhook: AuditWebhook | undefined;
  const sink = await createFileAuditSink({
    path: log,
    maxBytes: 20_000,
    maxBackups,
    onWritten: () => webhook?.onWritten(),
  });
  const opening = openAuditWebhook(configuration, log, {
    runtime: {
      clock: systemRuntime.clock,
      scheduler: { schedule: (ms, task) => systemRuntime.scheduler.schedule(DEADLINES.get(ms) ?? ms / 50, task) },
    },
    metrics,
    logger: {
      info: ({ component, address }, message) => void warnings.push(`${component}: ${message} (${address})`),
      warn: ({ cause, component, address }, message) =>
        void warnings.push(`${component}: ${message} (${address}: ${cause})`),
      error: ({ component }, message) => void warnings.push(`${component}: ${message}`),
    },
  });
  webhook = await opening.catch(async (error) => {
    await sink[Symbol.asyncDispose]();
    throw error;
  });
  let isOpen = true;
  return {
    write: (ids: readonly string[], text = "") => Promise.all(ids.map((id) => sink.write(recordedChange(id, text)))),
    async [Symbol.asyncDispose]() {
      if (!isOpen) return;
      isOpen = false;
      await sink[Symbol.asyncDispose]();
      await webhook?.[Symbol.asyncDispose]();
    },
  };
}

const idsOf = (): readonly string[] => received.flatMap(({ ids }) => ids);
const numbered = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `id-${from + index}`);
const metric = async (name: string): Promise<string> =>
  new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (.*)$`, "m").exec(await metrics.registry.metrics())?.[1] ?? "";

it("delivers each event of the log once and in order, in parts of at most so many, with the token", async () => {
  await writeConfig();
  await using server = await open({ "audit-webhook-batch-max-size": "20" });
  await server.write(numbered(0, 50));
  await server.write(numbered(50, 120), "x".repeat(400));
  await expect.poll(idsOf).toEqual(numbered(0, 120));
  expect(received.every(({ ids }) => ids.length <= 20)).toBe(true);
  expect(received[0]?.url).toBe("/k8s-audit?source=a");
  expect(received[0]?.headers).toMatchObject({ "content-type": "application/json", authorization: "Bearer the-token" });
  expect(await metric('postern_audit_webhook_events_total{result="delivered"}')).toBe("120");
  await expect.poll(() => metric("postern_audit_webhook_behind_seconds")).toBe("0");
});

it("reaches the receiver through the HTTP proxy of the configuration", async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createHttpServer().on("connect", ({ url }, client: Socket) => {
    asked.push(url);
    const way = connect(portOf(receiver), "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const end of [client, way]) end.on("error", () => undefined);
    client.pipe(way).pipe(client);
    client.once("close", () => way.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void proxy.close());
  await writeConfig();
  const text = (await readFile(config, "utf8")).replace(/"server":"[^"]*"/, '"server":"https://receiver.invalid"');
  await writeFile(config, text.replace('"cluster":{', '"cluster":{"tls-server-name":"localhost",'));
  const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  await using server = await open({}, { environment: { HTTPS_PROXY } });
  await server.write(["a"]);
  await expect.poll(idsOf).toEqual(["a"]);
  expect(asked).toEqual(["receiver.invalid:443"]);
});

it("delivers later what a receiver missed that was away, that failed, or that refused the credential", async () => {
  await writeConfig();
  await using server = await open();
  const port = portOf(receiver);
  await stopReceiver();
  await server.write(numbered(0, 10));
  await expect
    .poll(() => warnings.join())
    .toContain(`audit events are not delivered yet: they are sent again (127.0.0.1:${port}: ECONNREFUSED)`);
  expect(Number(await metric("postern_audit_webhook_behind_seconds"))).toBeGreaterThan(0);
  answer = () => 503;
  receiver = await startReceiver(port);
  await expect.poll(() => warnings.join()).toContain("the receiver answered 503");
  answer = () => 401;
  await expect.poll(() => warnings.join()).toContain("the receiver answered 401");
  expect(warnings.join()).not.toContain("token");
  // The file is read again.
  await writeConfig(port, "the-next-token");
  answer = () => 200;
  await server.write(numbered(10, 20));
  await expect.poll(idsOf).toEqual(numbered(0, 20));
  expect(received.at(-1)?.headers["authorization"]).toBe("Bearer the-next-token");
  await expect
    .poll(() => warnings.at(-1))
    .toBe(`audit webhook: all audit events are delivered again (127.0.0.1:${port})`);
});

it("goes on behind what was delivered when the server starts again, also across files of the log", async () => {
  await writeConfig();
  {
    await using server = await open();
    await server.write(numbered(0, 5));
    // The last ones are delivered while it ends.
  }
  expect(idsOf()).toEqual(numbered(0, 5));
  answer = () => 500;
  {
    await using server = await open();
    await server.write(numbered(5, 100), "x".repeat(900));
  }
  expect(idsOf()).toEqual(numbered(0, 5));
  answer = () => 200;
  await using _ = await open();
  await expect.poll(idsOf).toEqual(numbered(0, 100));
});

it("misses nothing after its first start, even if that is ended before it delivers", async () => {
  await writeConfig();
  answer = () => 500;
  {
    await using server = await open();
    await server.write(["early"]);
  }
  answer = () => 200;
  await using server = await open();
  await server.write(["later"]);
  await expect.poll(idsOf).toEqual(["early", "later"]);
});

it("begins with what comes, and tells a file of positions that is damaged from none", async () => {
  await writeConfig();
  await writeFile(log, `${JSON.stringify(recordedChange("before", ""))}\n`);
  {
    await using server = await open();
    await server.write(["first"]);
  }
  expect(idsOf()).toEqual(["first"]);
  const position = join(folder.path, "audit-webhook.json");
  expect(JSON.parse(await readFile(position, "utf8"))).toEqual({
    file: expect.stringMatching(/^[0-9a-f]{64}$/),
    offset: (await readFile(log)).length,
  });
  await writeFile(position, "{");
  received = [];
  {
    await using _ = await open();
  }
  expect(idsOf()).toEqual(["before", "first"]);
});

it("sends less at once to a receiver that takes less, and leaves out what is too large alone", async () => {
  await writeConfig();
  answer = (body) => (body.length > 4_000 ? 413 : 200);
  await using server = await open();
  await server.write(numbered(0, 30), "x".repeat(300));
  await server.write(["large"], "x".repeat(8_000));
  await server.write(numbered(30, 40), "x".repeat(300));
  await expect.poll(idsOf).toEqual(numbered(0, 40));
  expect(refused.length).toBeLessThan(30);
  expect(await metric('postern_audit_webhook_events_total{result="refused"}')).toBe("1");
  expect(warnings).toEqual(["audit webhook: an audit event is too large for the receiver: it is in the log alone"]);
});

it("gathers events that come all the time, and is not behind between them", async () => {
  await writeConfig();
  await using server = await open();
  const behind: number[] = [];
  const from = performance.now();
  let written = 0;
  while (performance.now() - from < 1_000) {
    await server.write([`id-${written++}`]);
    if (received.length > 0) behind.push(Number(await metric("postern_audit_webhook_behind_seconds")));
    await delay(2);
  }
  await expect.poll(idsOf).toEqual(numbered(0, written));
  // A fiftieth of a second apart, unless so many have come meanwhile that they are two requests.
  expect(received.length).toBeLessThanOrEqual((performance.now() - from) / 20 + 10);
  expect(behind).toContain(0);
});

it("sends less at once to a receiver that has no time for more, or ends the connection", async () => {
  await writeConfig();
  const [take] = receiver.listeners("request");
  receiver.removeAllListeners("request");
  receiver.on("request", (request, response) => {
    if (Number(request.headers["content-length"]) > 4_000) request.socket.destroy();
    else take?.(request, response);
  });
  await using server = await open();
  await server.write(numbered(0, 30), "x".repeat(300));
  await expect.poll(idsOf).toEqual(numbered(0, 30));
});

it("takes the status of an answer whose body never ends, or ends early", async () => {
  await writeConfig();
  const statuses = [413, 200];
  receiver.removeAllListeners("request");
  receiver.on("request", async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = statuses.shift() ?? 200;
    const { items } = JSON.parse(Buffer.concat(chunks).toString());
    received.push({ headers: {}, url: String(status), ids: items.map(({ auditID }: { auditID: string }) => auditID) });
    // Cut once the client has the head.
    response.writeHead(status).write("x".repeat(status === 413 ? 10 : 100_000));
    if (status === 413) await delay(200);
    if (status === 413) response.destroy();
  });
  await using server = await open();
  await server.write(["large"]);
  await expect.poll(() => received.length).toBe(1);
  await server.write(["first"]);
  await expect.poll(() => received.length).toBe(2);
  await server.write(["second"]);
  await expect
    .poll(() => received.map(({ url, ids }) => [url, ...ids]))
    .toEqual([
      ["413", "large"],
      ["200", "first"],
      ["200", "second"],
    ]);
  expect(warnings).toEqual(["audit webhook: an audit event is too large for the receiver: it is in the log alone"]);
});

it("passes over a line that was written in part", async () => {
  await writeConfig();
  {
    await using server = await open();
    await server.write(["a"]);
  }
  await appendFile(log, '{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"torn"}{');
  await using server = await open();
  await server.write(["b"]);
  await expect.poll(idsOf).toEqual(["a", "b"]);
});

it("counts a gap where the log kept too few files for a receiver that was away", async () => {
  await writeConfig();
  answer = () => 500;
  await using server = await open({}, { maxBackups: 1 });
  await server.write(["first"]);
  await expect.poll(() => refused.length).toBeGreaterThan(0);
  for (let from = 0; from < 200; from += 10) await server.write(numbered(from, from + 10), "x".repeat(900));
  answer = () => 200;
  await expect.poll(() => idsOf().at(-1)).toBe("id-199");
  expect(await metric("postern_audit_webhook_gaps_total")).toBe("1");
  expect(warnings.join()).toContain("keep more of them with --audit-log-maxbackup");
});

it("ends soon where the receiver is silent", async () => {
  await writeConfig();
  receiver.removeAllListeners("request");
  receiver.on("request", () => undefined);
  const server = await open();
  await server.write(["a"]);
  await delay(100);
  const from = performance.now();
  await server[Symbol.asyncDispose]();
  // The deadline of a request is 30 s.
  expect(performance.now() - from).toBeLessThan(15_000);
});

it.each([
  ["a file that is not there", undefined, /--audit-webhook-config-file .*cannot read .*ENOENT/],
  ["no kubeconfig", "[]", /a mapping is expected/],
  [
    "a server of another kind",
    '{"clusters":[{"name":"r","cluster":{"server":"ftp://x"}}],"contexts":[{"name":"c","context":{"cluster":"r"}}],"current-context":"c"}',
    /no http or https URL/,
  ],
  [
    "a proxy of another kind",
    '{"clusters":[{"name":"r","cluster":{"server":"https://x","proxy-url":"socks5://y"}}],"contexts":[{"name":"c","context":{"cluster":"r"}}],"current-context":"c"}',
    /--audit-webhook-config-file .*: the proxy of proxy-url must be an http URL/,
  ],
])("refuses %s", async (_title, text, message) => {
  if (text !== undefined) await writeFile(config, text);
  await expect(open()).rejects.toThrow(message);
});

it("needs a log in a file", async () => {
  await writeConfig();
  await expect(open({ "audit-log-path": "-" })).rejects.toThrow(
    "--audit-webhook-config-file needs a file in --audit-log-path: events are sent from there",
  );
});
