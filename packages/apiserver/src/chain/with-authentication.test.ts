// Transcripts: recorded from kube-apiserver v1.32.13.
import { describe, expect, it } from "vitest";
import type { Handler } from "../context/request-context.ts";
import { createNonResourceHandler } from "../endpoints/non-resource-handler.ts";
import { pingCheck } from "../health/health-check.ts";
import { silentLogger } from "../logging/logger.ts";
import { createServerMetrics } from "../metrics/server-metrics.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { serverCertificate } from "../transport/testing/serve-handler.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../transport/testing/test-clients.ts";
import { pageNotFound } from "./page-not-found.ts";
import transcript from "./testdata/authentication.json" with { type: "json" };
import { as, PODS, serveChain } from "./testing/serve-chain.ts";

const fine: Handler = async () => jsonResponse(200, "{}");
const whoAmI: Handler = async ({ user }) => jsonResponse(200, JSON.stringify(user));

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
      const { port } = await serveChain(handler);
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
    const { port } = await serveChain(whoAmI);
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

  it("adds the group system:authenticated to every authenticated caller", async () => {
    const { port } = await serveChain(whoAmI);
    const { body } = await http1({ port, path: PODS, headers: as("admin") });
    expect(JSON.parse(body)).toEqual({ name: "admin", groups: ["admins", "system:authenticated"] });
  });

  it("refuses a token that no authenticator knows, and leaves it to authorization where there is none", async () => {
    const { port } = await serveChain(fine, { authenticator: { authenticate: () => undefined } });
    expect((await http1({ port, path: "/version", headers: { authorization: "Bearer x" } })).status).toBe(401);
    expect((await http1({ port, path: "/version" })).status).toBe(200);
  });

  it("does not look at the client certificate where no authenticator takes certificates", async () => {
    const { port } = await serveChain(whoAmI);
    const session = openHttp2(port, serverCertificate);
    try {
      for (const path of ["/version", "/healthz", PODS, "/none"]) {
        const { status } = await http1({ port, path });
        expect([path, (await http1({ port, path, ...serverCertificate })).status]).toEqual([path, status]);
        expect([path, (await http2(session, { ":path": path })).status]).toEqual([path, status]);
      }
      expect((await http1({ port, path: PODS, headers: as("admin"), ...serverCertificate })).status).toBe(200);
    } finally {
      session.destroy();
    }
  });
});
