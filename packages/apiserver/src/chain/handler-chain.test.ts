// Transcripts: recorded from kube-apiserver v1.32.13.
import { once } from "node:events";
import { badRequestError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit/audit-event.ts";
import { metadataForAll } from "../audit/audit-policy.ts";
import { pingCheck } from "../health/health-check.ts";
import { createNonResourceHandler } from "../health/non-resource-handler.ts";
import { createLogger } from "../logging/create-logger.ts";
import { silentLogger } from "../logging/logger.ts";
import { createServerMetrics } from "../metrics/server-metrics.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { StorageUnavailableError } from "../storage/storage-errors.ts";
import { type ApiResponse, jsonResponse } from "../transport/api-response.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../transport/testing/test-clients.ts";
import type { Handler, RequestContext } from "./handler.ts";
import type { HandlerChainDeps } from "./handler-chain.ts";
import { pageNotFound } from "./page-not-found.ts";
import transcript from "./testdata/authentication.json" with { type: "json" };
import { type ServedChain, serveChain, tokensOfUsers } from "./testing/serve-chain.ts";

const open: ServedChain[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

async function serve(handler: Handler, overrides: Partial<HandlerChainDeps> = {}): Promise<ServedChain> {
  const server = await serveChain(handler, overrides);
  open.push(server);
  return server;
}

function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const PODS = "/api/v1/namespaces/default/pods";
const as = (name: string) => ({ authorization: `Bearer ${name}-token` });
const fine: Handler = async () => jsonResponse(200, "{}");
const whoAmI: Handler = async ({ user }) => jsonResponse(200, JSON.stringify(user));
const streamOf = (run: Extract<ApiResponse["body"], { type: "stream" }>["run"]): ApiResponse => ({
  status: 200,
  headers: {},
  body: { type: "stream", run },
});
const failingSink = {
  write: () => Promise.reject(new Error("disk full")),
  [Symbol.asyncDispose]: async () => undefined,
};
const listSink = (events: AuditEvent[]) => ({
  write: (event: AuditEvent) => void events.push(event),
  [Symbol.asyncDispose]: async () => undefined,
});

describe("authentication", () => {
  const version = {
    major: "1",
    minor: "32",
    gitVersion: "v1.32.13",
    gitCommit: "oracle",
    gitTreeState: "clean",
    buildDate: "2026-01-01T00:00:00Z",
    goVersion: "go1.23.5",
    compiler: "gc",
    platform: "linux/amd64",
  };
  const health = { healthz: [pingCheck], livez: [pingCheck], readyz: [pingCheck] };
  const outside = createNonResourceHandler({ health, version, metrics: createServerMetrics(), logger: silentLogger });
  const emptyList = '{"apiVersion":"management.example.com/v1","items":[],"kind":"OwnedAccessKeyList","metadata":{}}';
  const handler: Handler = async (context) =>
    outside(context) ?? (context.info.isResourceRequest ? jsonResponse(200, emptyList) : pageNotFound());

  it.each(transcript.steps.map((step, at) => [`${at} ${step.request.path} ${step.note ?? ""}`, step] as const))(
    "answers like kube-apiserver: %s",
    async (_title, { request, response }) => {
      const { port } = await serve(handler);
      const { user } = request as { user?: string | null };
      const token = user === "wrongtoken" ? "Bearer wrong" : user ? `Bearer ${user}-token` : undefined;
      const headers: { [name: string]: string } = { ...(request.headers as object) };
      if (token !== undefined) headers["Authorization"] = token;
      const got = await http1({ port, method: request.method, path: request.path, headers });
      expect(got.status).toBe(response.status);
      expect(got.headers["content-type"]).toBe(response.headers["content-type"]);
      expect(got.headers["cache-control"]).toBe(response.headers["cache-control"]);
      const { warning } = response.headers as { warning?: string[] };
      expect(got.headers["warning"]).toBe(warning?.join(", "));
      const { json, text } = response as { json?: { metadata?: object }; text?: string };
      if (text !== undefined) expect(got.body).toBe(text);
      if (response.status >= 400) expect(JSON.parse(got.body)).toEqual(json);
    },
  );

  it("answers 401 in the same shape for every bad token", async () => {
    const { port } = await serve(whoAmI);
    const bodies = new Set<string>();
    for (const authorization of ["Bearer x", "bearer x", `Bearer ${"x".repeat(100_000)}`, "Bearer admin-token,"]) {
      const { status, body } = await http1({ port, path: "/healthz", headers: { authorization } });
      expect(status).toBe(401);
      bodies.add(body);
    }
    const socket = await openTls(port);
    socket.end("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer admin-token\r\nAuthorization: Bearer x\r\n\r\n");
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 401 /);
    expect(bodies.size).toBe(1);
  });

  it("puts everybody who proved who they are in system:authenticated", async () => {
    const { port } = await serve(whoAmI);
    const { body } = await http1({ port, path: PODS, headers: as("admin") });
    expect(JSON.parse(body)).toEqual({ name: "admin", groups: ["admins", "system:authenticated"] });
  });

  it("refuses a token that no authenticator knows, and everybody without one where anonymous requests are off", async () => {
    const { port } = await serve(fine, { authenticator: { authenticate: () => undefined }, allowAnonymous: false });
    expect((await http1({ port, path: "/version", headers: { authorization: "Bearer x" } })).status).toBe(401);
    expect((await http1({ port, path: "/version" })).status).toBe(401);
  });
});

describe("refusals", () => {
  it.each([
    ["an ApiError", () => badRequestError("no"), 400, "no"],
    ["a store that cannot serve", () => new StorageUnavailableError("s3cret"), 503, "the storage is unavailable"],
  ])("answers %s with a Status", async (_title, makeError, code, message) => {
    const { port } = await serve(async () => Promise.reject(makeError()));
    const response = await http1({ port, path: PODS, headers: as("admin") });
    expect(response.status).toBe(code);
    expect(JSON.parse(response.body)).toMatchObject({ kind: "Status", status: "Failure", code, message });
    expect(response.headers["retry-after"]).toBe(code === 503 ? "1" : undefined);
  });

  it("tells nothing about an unforeseen failure, logs it, and goes on", async () => {
    const lines: string[] = [];
    const logger = createLogger({ destination: { write: (line) => lines.push(line) } });
    const { port } = await serve(() => Promise.reject(new Error("inner detail")), { logger });
    const session = openHttp2(port);
    for (let times = 0; times < 2; times += 1) {
      const response = await http2(session, { ":path": `${PODS}?token=s3cret`, ...as("admin") });
      expect(response.status).toBe(500);
      expect(response.body).toBe("This request caused apiserver to panic. Look in the logs for details.\n");
      expect(lines.join("")).toContain(String(response.headers["audit-id"]));
    }
    session.destroy();
    expect(lines.join("")).toContain("inner detail");
    expect(lines.join("")).not.toMatch(/s3cret|admin-token/);
  });

  it("answers 400 to a path that can be read in two ways, before anything else", async () => {
    const { port } = await serve(fine);
    const socket = await openTls(port);
    socket.end("GET /healthz/..%2fmetrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toContain('"reason":"BadRequest"');
    expect(text).toMatch(/audit-id: [\w-]{36}/i);
  });

  it("sends warnings with successes and refusals", async () => {
    const { port } = await serve(async ({ warnings, request }) => {
      warnings.add('a "quoted" warning');
      warnings.add('a "quoted" warning');
      warnings.add("zweite Wärnung");
      if (request.method === "DELETE") throw badRequestError("no");
      return jsonResponse(200, "{}");
    });
    const session = openHttp2(port);
    for (const method of ["GET", "DELETE", "HTTP/2"]) {
      const { headers } =
        method === "HTTP/2"
          ? await http2(session, { ":path": PODS, ...as("admin") })
          : await http1({ port, method, path: PODS, headers: as("admin") });
      const text = Buffer.from(String(headers["warning"]), "latin1").toString();
      expect(text).toBe('299 - "a \\"quoted\\" warning", 299 - "zweite Wärnung"');
    }
    session.destroy();
  });
});

describe("authorization", () => {
  it.each([
    [
      "GET",
      `${PODS}/x/log`,
      'pods "x" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "default"',
    ],
    [
      "DELETE",
      "/apis/apps/v1/deployments",
      'deployments.apps is forbidden: User "alice" cannot deletecollection resource "deployments" in API group "apps" at the cluster scope',
    ],
    ["POST", "/metrics", 'forbidden: User "alice" cannot post path "/metrics"'],
  ])("refuses %s %s in upstream's words", async (method, path, message) => {
    const { port } = await serve(fine);
    const { status, body } = await http1({ port, method, path, headers: as("alice") });
    expect(status).toBe(403);
    expect(JSON.parse(body).message).toBe(message);
  });

  it("appends the authorizer's reason", async () => {
    const { port } = await serve(fine, { authorizer: { authorize: () => ({ verdict: "deny", reason: "because" }) } });
    const { body } = await http1({ port, path: "/x", headers: as("admin") });
    expect(JSON.parse(body).message).toBe('forbidden: User "admin" cannot get path "/x": because');
  });
});

describe("impersonation", () => {
  const mayActAsAlice: HandlerChainDeps["authorizer"] = {
    authorize: ({ verb, user, name }) =>
      verb !== "impersonate" || (user.name === "admin" && name !== "bob")
        ? { verdict: "allow", reason: "" }
        : { verdict: "no-opinion", reason: "" },
  };
  const ask = async (headers: { [name: string]: string | string[] }, name = "admin") => {
    const { port } = await serve(whoAmI, { authorizer: mayActAsAlice });
    return http1({ port, path: PODS, headers: { ...as(name), ...headers } });
  };

  it.each([
    [{ "Impersonate-User": "carol" }, { name: "carol", groups: ["system:authenticated"] }],
    [{ "Impersonate-User": "" }, { name: "admin", groups: ["admins", "system:authenticated"] }],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": ["a, b", "c"] },
      { name: "carol", groups: ["a, b", "c", "system:authenticated"] },
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Uid": "u", "Impersonate-Extra-acme.com%2FScope": ["x", "y"] },
      { name: "carol", uid: "u", groups: ["system:authenticated"], extra: { "acme.com/scope": ["x", "y"] } },
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:sa" },
      {
        name: "system:serviceaccount:ns:sa",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      },
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:sa", "Impersonate-Group": "g" },
      { name: "system:serviceaccount:ns:sa", groups: ["g", "system:authenticated"] },
    ],
    [{ "Impersonate-User": "system:anonymous" }, { name: "system:anonymous", groups: ["system:unauthenticated"] }],
  ])("acts as %j", async (headers, user) => {
    const { status, body } = await ask(headers as { [name: string]: string | string[] });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(user);
  });

  it.each([
    [
      { "Impersonate-User": "admin" },
      "alice",
      'users "admin" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": "bob" },
      "admin",
      'groups "bob" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Extra-k": "bob" },
      "admin",
      'userextras.authentication.k8s.io "bob" is forbidden: User "admin" cannot impersonate resource "userextras/k" in API group "authentication.k8s.io" at the cluster scope',
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:bob" },
      "admin",
      'serviceaccounts "bob" is forbidden: User "admin" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": "system:masters" },
      "admin",
      'groups "system:masters" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
    ],
  ])("security book 29: refuses %j to %s", async (headers, name, message) => {
    const { status, body } = await ask(headers as { [name: string]: string }, name);
    expect(status).toBe(403);
    expect(JSON.parse(body).message).toBe(message);
  });

  it("answers a bare 500 to groups without a user", async () => {
    const { status, headers, body } = await ask({ "Impersonate-Group": "system:masters" });
    expect([status, headers["content-type"]]).toEqual([500, "text/plain; charset=utf-8"]);
    expect(body).toBe(
      `Internal Server Error: "${PODS}": requested [{Group  system:masters    }] without impersonating a user\n`,
    );
  });

  it.each([
    { Impersonate_User: "carol" },
    { "Impersonate-Users": "carol" },
    { "Impersonate-User ": "carol" },
    { "Impersonate-User": ["carol", "dave"] },
    { "Impersonate-Extra_k": "v" },
  ])("security book 28: refuses %j", async (headers) => {
    const response = await ask(headers as { [name: string]: string }).catch(() => ({ status: 400 }));
    expect(response.status).toBe(400);
  });

  it("shows the headers to nobody further on", async () => {
    const { port } = await serve(async ({ request }) => jsonResponse(200, JSON.stringify(request.headers)), {
      authorizer: mayActAsAlice,
    });
    const headers = { ...as("admin"), "Impersonate-User": "carol" };
    expect((await http1({ port, path: PODS, headers })).body).not.toContain("impersonate");
  });
});

describe("flow control", () => {
  it("refuses what is too much at once, reads and writes apart, but never health checks and watches", async () => {
    const release = deferred();
    const arrivals: string[] = [];
    const arrived = deferred();
    const { port, metrics } = await serve(
      async ({ request, info }) => {
        if (info.verb === "watch") return streamOf(async () => undefined);
        if (info.isResourceRequest) {
          arrivals.push(request.method);
          if (arrivals.length === 2) arrived.resolve();
          await release.promise;
        }
        return jsonResponse(200, "{}");
      },
      { flowControl: { maxReadOnly: 1, maxMutating: 1 } },
    );
    const ask = (method: string, path: string) => http1({ port, method, path, headers: as("admin") });
    const held = [ask("GET", PODS), ask("DELETE", `${PODS}/x`)];
    await arrived.promise;
    expect(await metrics.registry.metrics()).toContain(
      'apiserver_current_inflight_requests{request_kind="mutating"} 1',
    );
    for (const method of ["GET", "POST"]) {
      const refused = await ask(method, PODS);
      expect(refused).toMatchObject({ status: 429, body: "Too many requests, please try again later.\n" });
      expect(refused.headers["retry-after"]).toBe("1");
    }
    expect((await ask("GET", `${PODS}?watch=1`)).status).toBe(200);
    expect((await ask("GET", "/healthz")).status).toBe(200);
    release.resolve();
    for (const response of await Promise.all(held)) expect(response.status).toBe(200);
    expect((await ask("GET", PODS)).status).toBe(200);
  });

  it("gives the place back when the body of a response nobody reads is over", async () => {
    const { port } = await serve(async () => streamOf(async (sink) => void (await sink.write("x"))), {
      flowControl: { maxReadOnly: 1, maxMutating: 1 },
    });
    for (let times = 0; times < 3; times += 1) {
      const response = await http1({ port, method: "HEAD", path: PODS, headers: as("admin") });
      expect(response.status).toBe(200);
    }
  });
});

describe("deadline", () => {
  it("answers 504, and aborts what was under way", async () => {
    const aborted = deferred<unknown>();
    const { port } = await serve(async ({ signal }) => {
      await once(signal, "abort");
      aborted.resolve(signal.reason);
      return jsonResponse(200, "{}");
    });
    const { status, body } = await http1({ port, path: `${PODS}?timeout=1ms`, headers: as("admin") });
    expect(status).toBe(504);
    expect(JSON.parse(body)).toMatchObject({
      reason: "Timeout",
      message: "Timeout: request did not complete within the allotted timeout",
    });
    expect(await aborted.promise).toMatchObject({ code: 504 });
  });

  it.each([
    ["bad", 'invalid timeout specified in the request URL - time: invalid duration "bad"'],
    ["10", 'invalid timeout specified in the request URL - time: missing unit in duration "10"'],
  ])("refuses timeout=%s", async (timeout, message) => {
    const { port } = await serve(fine);
    const { status, body } = await http1({ port, path: `${PODS}?timeout=${timeout}`, headers: as("admin") });
    expect([status, JSON.parse(body).message]).toEqual([400, message]);
  });

  it("takes a timeout beyond the maximum, or of nothing, as the maximum", async () => {
    const delays: number[] = [];
    const scheduler = {
      schedule(delayMs: number) {
        delays.push(delayMs);
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const { port } = await serve(fine, { runtime: { ...systemRuntime, scheduler } });
    for (const query of ["", "?timeout=", "?timeout=0s", "?timeout=-5s", "?timeout=2h", "?timeout=1.5s"]) {
      await http1({ port, path: `${PODS}${query}`, headers: as("admin") });
    }
    expect(delays).toEqual([60_000, 60_000, 60_000, 60_000, 60_000, 1500]);
    await http1({ port, path: `${PODS}?watch=1&timeout=bad`, headers: as("admin") });
    expect(delays).toHaveLength(6);
  });
});

describe("requests that last", () => {
  const watch = (context: RequestContext): ApiResponse =>
    streamOf(async (sink) => {
      const over = once(context.signal, "abort");
      await sink.write("event\n");
      await over;
    });

  it("end when their credential is revoked, and forget it when they end by themselves", async () => {
    const listeners = new Set<() => void>();
    const credential = {
      id: "k",
      onRevoked(listener: () => void) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    };
    const ended = deferred<unknown>();
    const { port, metrics } = await serve(
      async (context) => {
        context.signal.addEventListener("abort", () => ended.resolve(context.signal.reason));
        return watch(context);
      },
      { authenticator: tokensOfUsers({ "admin-token": credential }) },
    );
    const session = openHttp2(port);
    const stream = session.request({ ":path": `${PODS}?watch=1`, ...as("admin") });
    await once(stream, "data");
    expect(await metrics.registry.metrics()).toMatch(/apiserver_longrunning_requests\{verb="WATCH".*\} 1/);
    expect(listeners.size).toBe(1);
    for (const listener of listeners) listener();
    await once(stream, "end");
    expect(await ended.promise).toMatchObject({ code: 401 });
    expect(listeners.size).toBe(0);
    expect(await metrics.registry.metrics()).toMatch(/apiserver_longrunning_requests\{verb="WATCH".*\} 0/);
    session.destroy();
  });

  it("end cleanly when the server stops", async () => {
    const { port, transport } = await serve(async (context) => watch(context));
    const session = openHttp2(port);
    const stream = session.request({ ":path": `${PODS}?watch=1`, ...as("admin") });
    await once(stream, "data");
    const closed = transport.close({ drainMs: 10_000 });
    await once(stream, "end");
    expect(stream.rstCode).toBe(0);
    await closed;
    session.destroy();
  });

  it("take a token among WebSocket subprotocols, which nobody further on sees", async () => {
    const { port } = await serve(async ({ request, user }) =>
      jsonResponse(200, JSON.stringify([user.name, request.headers["sec-websocket-protocol"]])),
    );
    const token = Buffer.from("admin-token").toString("base64url");
    const protocols = `base64url.bearer.authorization.k8s.io.${token}, v4.channel.k8s.io`;
    const ask = async (lines: string[]) => {
      const socket = await openTls(port);
      socket.write(
        `GET ${PODS}?watch=1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join("\r\n")}\r\n\r\n`,
      );
      return readAll(socket);
    };
    expect(await ask([`Sec-WebSocket-Protocol: ${protocols}`])).toContain('["admin","v4.channel.k8s.io"]');
    expect(await ask([`Sec-WebSocket-Protocol: ${protocols.split(",")[0]}`])).toMatch(/^HTTP\/1.1 401 /);
    const both = [`Sec-WebSocket-Protocol: ${protocols}`, "Authorization: Bearer admin-token"];
    expect(await ask(both)).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe("audit", () => {
  const record = async (handler: Handler, policy = metadataForAll) => {
    const events: AuditEvent[] = [];
    const audit = { policy, sink: listSink(events), failureMode: "blocking" as const };
    return { events, ...(await serve(handler, { audit })) };
  };

  it("records who asked for what, and what came of it", async () => {
    const { events, port } = await record(fine);
    const headers = { ...as("alice"), "Audit-ID": "my-id", "User-Agent": "test" };
    const response = await http1({ port, path: `${PODS}/x?access_token=s3cret`, headers });
    expect(response.headers["audit-id"]).toBe("my-id");
    expect(events).toEqual([
      {
        kind: "Event",
        apiVersion: "audit.k8s.io/v1",
        level: "Metadata",
        auditID: "my-id",
        stage: "ResponseComplete",
        requestURI: `${PODS}/x?access_token=REDACTED`,
        verb: "get",
        user: { username: "alice", groups: ["devs", "system:authenticated"] },
        sourceIPs: ["127.0.0.1"],
        userAgent: "test",
        objectRef: { resource: "pods", namespace: "default", name: "x", apiVersion: "v1" },
        responseStatus: expect.objectContaining({ metadata: {}, status: "Failure", reason: "Forbidden", code: 403 }),
        requestReceivedTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        stageTimestamp: expect.stringMatching(/\.\d{6}Z$/),
        annotations: { "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "" },
      },
    ]);
  });

  it("records requests without a user, and panics", async () => {
    const { events, port } = await record(() => Promise.reject(new Error("x")));
    await http1({ port, path: PODS, headers: { authorization: "Bearer wrong" } });
    await http1({ port, path: PODS, headers: as("admin") });
    expect(events.map(({ stage, user, responseStatus }) => [stage, user.username, responseStatus?.code])).toEqual([
      ["ResponseComplete", undefined, 401],
      ["Panic", "admin", 500],
    ]);
  });

  it("records the stages of a watch, and bodies only where the policy says so and they bear no secret", async () => {
    const everything = () => ({ level: "RequestResponse" as const, omitStages: [] });
    const { events, port } = await record(async ({ info, audit }) => {
      audit.setRequestObject({ spec: "s3cret" });
      if (info.verb === "watch") return streamOf(async (sink) => void (await sink.write("x")));
      return jsonResponse(200, "{}");
    }, everything);
    await http1({ port, path: `${PODS}?watch=1`, headers: as("admin") });
    await http1({ port, path: "/api/v1/secrets/x", headers: as("admin") });
    await expect.poll(() => events.length).toBe(5);
    expect(events.map(({ stage, requestObject }) => [stage, requestObject])).toEqual([
      ["RequestReceived", undefined],
      ["ResponseStarted", { spec: "s3cret" }],
      ["ResponseComplete", { spec: "s3cret" }],
      ["RequestReceived", undefined],
      ["ResponseComplete", undefined],
    ]);
  });

  it("takes no identifier from a client that could do harm", async () => {
    const { port } = await serve(fine);
    const { headers } = await http1({ port, path: "/healthz", headers: { "Audit-ID": "x".repeat(65) } });
    expect(headers["audit-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("answers 500 to what could not be recorded, or goes on, as it is told", async () => {
    const ask = async (failureMode: "blocking" | "ignore") => {
      const audit = { policy: metadataForAll, sink: failingSink, failureMode };
      const { port, metrics } = await serve(async () => jsonResponse(200, "s3cret"), { audit });
      const response = await http1({ port, path: PODS, headers: as("admin") });
      await expect.poll(() => metrics.registry.metrics()).toContain('apiserver_audit_error_total{plugin="log"} 1');
      return response;
    };
    const blocked = await ask("blocking");
    expect([blocked.status, blocked.body.includes("s3cret")]).toEqual([500, false]);
    expect((await ask("ignore")).body).toBe("s3cret");
  });
});

describe("cross-origin requests", () => {
  const cors = { allowedOrigins: ["https://console.example.com"] };
  const preflight = { method: "OPTIONS", path: PODS };

  it("are opened to listed origins, refusals included", async () => {
    const { port } = await serve(fine, { cors });
    const origin = "https://console.example.com";
    const answered = await http1({ port, ...preflight, headers: { origin } });
    expect([answered.status, answered.headers["access-control-allow-origin"]]).toEqual([204, origin]);
    const refused = await http1({ port, path: PODS, headers: { origin } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([403, origin]);
  });

  it.each([
    ["other origins", { cors }, "https://console.example.com.evil"],
    ["everybody by default", {}, "https://console.example.com"],
  ])("stay closed to %s", async (_title, overrides, origin) => {
    const { port } = await serve(fine, overrides);
    const response = await http1({ port, ...preflight, headers: { origin } });
    expect([response.status, response.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });
});

describe("metrics", () => {
  it("count requests under upstream's names", async () => {
    const { port, metrics } = await serve(fine, { isServed: ({ resource }) => resource === "pods" });
    await http1({ port, path: PODS, headers: as("admin") });
    await http1({ port, path: "/api/v1/made-up", headers: as("alice") });
    await http1({ port, method: "POST", path: `${PODS}?dryRun=All`, headers: as("admin") });
    const text = await metrics.registry.metrics();
    const series = (verb: string, rest: string) => `apiserver_request_total{verb="${verb}",${rest}} 1`;
    const common = 'subresource="",scope';
    expect(text).toContain(
      series(
        "LIST",
        `dry_run="",group="",version="v1",resource="pods",${common}="namespace",component="apiserver",code="200"`,
      ),
    );
    expect(text).toContain(
      series(
        "POST",
        `dry_run="All",group="",version="v1",resource="pods",${common}="namespace",component="apiserver",code="200"`,
      ),
    );
    expect(text).toContain(
      series("LIST", `dry_run="",group="",version="",resource="",${common}="cluster",component="apiserver",code="403"`),
    );
    expect(text).not.toContain("made-up");
    expect(text).toContain('authentication_attempts{result="success"} 3');
    expect(text).toContain('authorization_attempts_total{result="no-opinion"} 1');
  });

  it("count a refused authentication", async () => {
    const authenticator = { authenticate: () => Promise.reject(unauthorizedError()) };
    const { port, metrics } = await serve(fine, { authenticator });
    await http1({ port, path: PODS });
    expect(await metrics.registry.metrics()).toContain('authentication_attempts{result="failure"} 1');
  });
});
