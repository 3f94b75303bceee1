// Traces of requests through real servers, as a collector gets them over HTTP.

import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";
import { type CollectedSpan, startTraceCollector, type TraceCollector } from "./testing/trace-collector.ts";
import { INSTANCES, KEYS, MANAGEMENT } from "./testing/two-posterns.ts";

const WAIT = { timeout: 30_000, interval: 50 };
const newTrace = () => {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
};

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => directory?.[Symbol.asyncDispose]());

describe.skipIf(whyNoEtcd() !== undefined)("a request through two servers", () => {
  let collector: TraceCollector;
  let etcd: EtcdCluster;
  let near: PosternProcess;
  let far: PosternProcess;
  let http: HttpClient;
  let key: string;

  const spansOf = (traceId: string): readonly CollectedSpan[] =>
    collector.spans.filter((span) => span.traceId === traceId);
  /** The spans of the servers themselves end last, and each batch is sent after the one before. */
  const spansOnce = async (traceId: string, servers: number): Promise<readonly CollectedSpan[]> => {
    await expect.poll(() => spansOf(traceId).filter(({ kind }) => kind === 2).length, WAIT).toBe(servers);
    return spansOf(traceId);
  };
  const only = (spans: readonly CollectedSpan[], service: string, name: string, kind?: number): CollectedSpan => {
    const found = spans.filter(
      (span) => span.service === service && span.name === name && (kind === undefined || span.kind === kind),
    );
    expect(found, `${service} ${name} in ${JSON.stringify(spans)}`).toHaveLength(1);
    return found[0] as CollectedSpan;
  };

  beforeAll(async () => {
    collector = await startTraceCollector({ tls: serverCertificate });
    const OTEL_EXPORTER_OTLP_CERTIFICATE = join(directory.path, "collector.crt");
    await writeFile(OTEL_EXPORTER_OTLP_CERTIFICATE, serverCertificate.cert);
    etcd = await startEtcd();
    [near, far] = await Promise.all([
      startPostern(
        join(directory.path, "near"),
        ["--store", "sqlite", "--proxy-allowed-addresses", "127.0.0.0/8", "--kube-config-proxy-fallback"],
        { env: { ...collector.env("near", "http/json"), OTEL_EXPORTER_OTLP_CERTIFICATE } },
      ),
      startPostern(join(directory.path, "far"), ["--store", `etcd://${etcd.endpoints.join(",")}`], {
        env: { ...collector.env("far"), OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" },
      }),
    ]);
    http = await httpClient(near);
    key = await adminKey(near);
    const server = `${far.url}/kubernetes/project/default/virtualcluster/demo`;
    const config = JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "far",
      clusters: [
        {
          name: "far",
          cluster: { server, "certificate-authority-data": (await readFile(far.caFile)).toString("base64") },
        },
      ],
      users: [{ name: "far", user: { token: await adminKey(far) } }],
      contexts: [{ name: "far", context: { cluster: "far", user: "far" } }],
    });
    const secrets = "/kubernetes/management/api/v1/namespaces/p-default/secrets";
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "vc-remote" }, stringData: { config } };
    expect((await http(secrets, { key, body: secret })).status).toBe(201);
    const instance = { apiVersion: "management.postern/v1", kind: "VirtualClusterInstance" };
    const body = { ...instance, metadata: { name: "remote" }, spec: { external: true } };
    expect((await http(INSTANCES, { key, body })).status).toBe(201);
    await vi.waitFor(async () => {
      const { status } = (await http(`${INSTANCES}/remote`, { key })).body;
      expect(status?.conditions?.find(({ type }: any) => type === "Ready")?.status).toBe("True");
    }, WAIT);
  });
  afterAll(async () => {
    await Promise.all([near?.[Symbol.asyncDispose](), far?.[Symbol.asyncDispose]()]);
    await etcd?.[Symbol.asyncDispose]();
    await collector?.[Symbol.asyncDispose]();
  });

  it("is one trace, from its caller to the last of them", async () => {
    const { traceId, spanId, headers } = newTrace();
    const path = "/kubernetes/project/default/virtualcluster/remote/api/v1/namespaces?labelSelector=a%3Db";
    const answer = await http(path, { key, headers: { ...headers, tracestate: "vendor=1", "user-agent": "tester/1" } });
    expect(answer.status, answer.text).toBe(200);
    const spans = await spansOnce(traceId, 2);
    const request = only(spans, "near", "GET", 2);
    expect(request).toMatchObject({ parentSpanId: spanId, isError: false });
    expect(request.attributes).toMatchObject({
      "http.request.method": "GET",
      "http.response.status_code": "200",
      "url.path": path.split("?")[0],
      "user_agent.original": "tester/1",
      "k8s.audit_id": String(answer.headers["audit-id"]),
    });
    expect(JSON.stringify(request.attributes)).not.toContain("labelSelector");
    for (const name of ["authenticate", "authorize"]) {
      expect(only(spans, "near", name)).toMatchObject({ parentSpanId: request.spanId, kind: 1 });
    }
    const upstream = only(spans, "near", "GET", 3);
    expect(upstream).toMatchObject({ parentSpanId: request.spanId });
    expect(upstream.attributes).toMatchObject({
      "server.address": "127.0.0.1",
      "server.port": new URL(far.url).port,
      "http.response.status_code": "200",
    });
    expect(only(spans, "far", "GET", 2)).toMatchObject({ parentSpanId: upstream.spanId });
    expect([...collector.contentTypes].sort()).toEqual(["application/json", "application/x-protobuf"]);
  });

  it.each([
    ["near", "sqlite"],
    ["far", "etcd"],
  ] as const)("has what it waited for in the store (%s, %s)", async (service, kind) => {
    const server = service === "near" ? near : far;
    const send = await httpClient(server);
    const { traceId, headers } = newTrace();
    const body = { metadata: { name: `traced-${kind}` }, spec: { ttl: 60 } };
    expect((await send(KEYS, { key: await adminKey(server), headers, body })).status).toBe(201);
    const spans = await spansOnce(traceId, 1);
    const request = only(spans, service, "create ownedaccesskeys");
    const created = only(spans, service, "store create");
    expect(created).toMatchObject({ parentSpanId: request.spanId, kind: 3, isError: false });
    expect(created.attributes).toEqual({ "db.system.name": kind, "db.operation.name": "create" });
  });

  it("reports refusals and failures, without their messages", async () => {
    const refused = newTrace();
    const value = randomBytes(32).toString("hex");
    expect((await http(`${MANAGEMENT}/users`, { key: value, headers: refused.headers })).status).toBe(401);
    const [authenticate] = (await spansOnce(refused.traceId, 1)).filter(({ name }) => name === "authenticate");
    expect(authenticate).toMatchObject({ isError: true, attributes: { "error.type": "Unauthorized" } });
    expect(JSON.stringify(spansOf(refused.traceId))).not.toContain(value);
    const unknown = newTrace();
    expect((await http(`/apis/made.up/v1/${value}`, { key, headers: unknown.headers })).status).toBe(404);
    expect((await spansOnce(unknown.traceId, 1)).map(({ name }) => name)).toContain("GET");
  });

  it("leaves internal requests out of every trace", () => {
    const ids = new Set(collector.spans.filter(({ kind }) => kind === 2).map(({ traceId }) => traceId));
    expect(collector.spans.filter(({ traceId }) => !ids.has(traceId))).toEqual([]);
  });

  it("is counted in the metrics", async () => {
    const { text } = await http("/metrics", { key });
    expect(Number(/^postern_trace_spans_total\{result="exported"\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5);
    expect(text).not.toContain('postern_trace_spans_total{result="failed"}');
  });
});

describe("a collector that is away", () => {
  const failedSpans = async (send: HttpClient, key: string): Promise<number> =>
    Number(
      /^postern_trace_spans_total\{result="failed"\} (\d+)$/m.exec((await send("/metrics", { key })).text)?.[1] ?? 0,
    );

  it("delays neither requests nor the shutdown, and is reported once", async () => {
    await using collector = await startTraceCollector();
    const env = { ...collector.env("alone"), OTEL_EXPORTER_OTLP_TIMEOUT: "300" };
    await collector[Symbol.asyncDispose]();
    await using server = await startPostern(join(directory.path, "away"), ["--store", "memory"], { env });
    const [send, key] = [await httpClient(server), await adminKey(server)];
    await expect.poll(() => failedSpans(send, key), WAIT).toBeGreaterThan(0);
    expect((await send(`${MANAGEMENT}/users`, { key })).status).toBe(200);
    expect(server.output().match(/the collector rejected traces, or was unreachable/g)).toHaveLength(1);
    expect(server.output()).not.toContain(collector.url);
    expect(await server.stop()).toBe(0);
  });

  byNight("takes connections, and says nothing", async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    await using server = await startPostern(join(directory.path, "silent"), ["--store", "memory"], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: "50" },
    });
    const [send, key] = [await httpClient(server), await adminKey(server)];
    for (let at = 0; at < 50; at++) expect((await send(`${MANAGEMENT}/users`, { key })).status).toBe(200);
    await expect.poll(() => sockets.size, WAIT).toBeGreaterThan(0);
    expect(await server.stop()).toBe(0);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
});
