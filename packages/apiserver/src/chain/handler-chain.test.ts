import { badRequestError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import type { Handler } from "../context/request-context.ts";
import { createLogger } from "../logging/create-logger.ts";
import { StorageUnavailableError } from "../storage/storage-errors.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { streamResponse } from "../transport/testing/serve-handler.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../transport/testing/test-clients.ts";
import { as, PODS, serveChain } from "./testing/serve-chain.ts";

const fine: Handler = async () => jsonResponse(200, "{}");

describe("refusals", () => {
  it.each([
    ["an ApiError", () => badRequestError("no"), 400, "no"],
    ["a store that cannot serve", () => new StorageUnavailableError("s3cret"), 503, "the storage is unavailable"],
  ])("answers %s with a Status", async (_title, makeError, code, message) => {
    const { port } = await serveChain(async () => Promise.reject(makeError()));
    const response = await http1({ port, path: PODS, headers: as("admin") });
    expect(response.status).toBe(code);
    expect(JSON.parse(response.body)).toMatchObject({ kind: "Status", status: "Failure", code, message });
    expect(response.headers["retry-after"]).toBe(code === 503 ? "1" : undefined);
  });

  it("refuses what the authorizer denies, whatever the authorizer of paths answers", async () => {
    let served = 0;
    const handler: Handler = async () => {
      served++;
      return jsonResponse(200, "{}");
    };
    const asked: string[] = [];
    const { port } = await serveChain(handler, {
      authorizer: { authorize: () => ({ verdict: "allow", reason: "" }) },
      questionOf: ({ info, user }) => ({
        attributes: { ...info, user, verb: "use" },
        authorizer: {
          authorize({ verb, name }) {
            asked.push(`${verb} ${name}`);
            return { verdict: name === "open" ? "allow" : "no-opinion", reason: "closed" };
          },
        },
      }),
      withRefusals: { fail: () => jsonResponse(403, '"in another form"') },
    });
    const refused = await http1({ port, path: `${PODS}/x`, headers: as("alice") });
    expect([refused.status, refused.body, served]).toEqual([403, '"in another form"', 0]);
    expect((await http1({ port, path: `${PODS}/open`, headers: as("alice") })).status).toBe(200);
    expect([asked, served]).toEqual([["use x", "use open"], 1]);
  });

  it("runs the body of a response that a filter fails to pass on, for nobody", async () => {
    let isAborted: boolean | undefined;
    const handler: Handler = async () =>
      streamResponse(async (_sink, signal) => {
        isAborted = signal.aborted;
      });
    const failing = {
      leave() {
        throw new Error("inner detail");
      },
    };
    const { port } = await serveChain(handler, { withRefusals: failing });
    expect((await http1({ port, path: PODS, headers: as("admin") })).status).toBe(500);
    expect(isAborted).toBe(true);
  });

  it("hides the details of an unexpected failure, logs it, and continues", async () => {
    const lines: string[] = [];
    const logger = createLogger({ destination: { write: (line) => lines.push(line) } });
    const { port } = await serveChain(() => Promise.reject(new Error("inner detail")), { logger });
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
    const { port } = await serveChain(fine);
    const socket = await openTls(port);
    socket.end("GET /healthz/..%2fmetrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toContain('"reason":"BadRequest"');
    expect(text).toMatch(/audit-id: [\w-]{36}/i);
  });

  it("sends warnings with successes and refusals", async () => {
    const { port } = await serveChain(async ({ warnings, request }) => {
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
    const { port } = await serveChain(fine);
    const { status, body } = await http1({ port, method, path, headers: as("alice") });
    expect(status).toBe(403);
    expect(JSON.parse(body).message).toBe(message);
  });

  it("appends the authorizer's reason", async () => {
    const { port } = await serveChain(fine, {
      authorizer: { authorize: () => ({ verdict: "deny", reason: "because" }) },
    });
    const { body } = await http1({ port, path: "/x", headers: as("admin") });
    expect(JSON.parse(body).message).toBe('forbidden: User "admin" cannot get path "/x": because');
  });
});

describe("cross-origin requests", () => {
  it("are served to no caller", async () => {
    const { port } = await serveChain(fine);
    const headers = { origin: "https://console.example.com" };
    const response = await http1({ port, method: "OPTIONS", path: PODS, headers });
    expect([response.status, response.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });
});

describe("metrics", () => {
  it("count requests under upstream's names", async () => {
    const { port, metrics } = await serveChain(fine, { isServed: ({ resource }) => resource === "pods" });
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
    const { port, metrics } = await serveChain(fine, { authenticator });
    await http1({ port, path: PODS });
    expect(await metrics.registry.metrics()).toContain('authentication_attempts{result="failure"} 1');
  });
});
