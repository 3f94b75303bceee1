import { gzipSync } from "node:zlib";
import { ApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import type { AuditMode } from "../audit/audit-backend.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import { type AuditPolicy, METADATA } from "../audit/audit-policy.ts";
import { CredentialRefusedError } from "../authentication/authenticator.ts";
import type { Handler } from "../context/request-context.ts";
import { jsonResponse, RelayedBody } from "../transport/api-response.ts";
import { streamResponse } from "../transport/testing/serve-handler.ts";
import { http1 } from "../transport/testing/test-clients.ts";
import { as, PODS, serveChain } from "./testing/serve-chain.ts";

const fine: Handler = async () => jsonResponse(200, "{}");
const failingSink = {
  write: () => Promise.reject(new Error("disk full")),
  [Symbol.asyncDispose]: async () => undefined,
};
const listSink = (events: AuditEvent[]) => ({
  write: (event: AuditEvent) => void events.push(event),
  [Symbol.asyncDispose]: async () => undefined,
});

describe("audit", () => {
  const record = async (handler: Handler, policy: AuditPolicy = METADATA) => {
    const events: AuditEvent[] = [];
    const audit = { policy, sink: listSink(events), mode: "blocking-strict" as const };
    return { events, ...(await serveChain(handler, { audit })) };
  };

  it("records why a credential was refused that was revoked after its request was authenticated", async () => {
    const cause = new CredentialRefusedError("replaced", "key-1", { key: "another" });
    const { code, reason, message } = unauthorizedError();
    const { events, port } = await record(async () => {
      throw new ApiError({ code, reason, message, cause });
    });
    expect((await http1({ port, path: "/healthz", headers: as("admin") })).status).toBe(401);
    // The user is that of the credential with which the request came.
    expect(events[0]).toMatchObject({
      user: { username: "admin" },
      annotations: { "authentication.kubernetes.io/refusal": "replaced" },
    });
    expect(events[0]?.annotations).not.toHaveProperty("key");
  });

  it("records the caller, the request and the response", async () => {
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

  it("records no credential that is sent as a name or user agent", async () => {
    const { events, port } = await record(fine);
    const key = "pst_abcdefgh23_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6";
    await http1({ port, path: `${PODS}/${key}`, headers: { ...as("admin"), "User-Agent": `curl ${key}` } });
    const shown = "pst_abcdefgh23_<redacted>";
    expect(events).toMatchObject([
      { requestURI: `${PODS}/${shown}`, userAgent: `curl ${shown}`, objectRef: { name: shown } },
    ]);
    expect(JSON.stringify(events)).not.toContain(key.slice(15, 23));
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

  it("records the stages of a watch, and bodies where the policy says so, without their secrets", async () => {
    const everything = () => ({ level: "RequestResponse" as const, omitStages: [] });
    const { events, port } = await record(async ({ info, audit }) => {
      audit.setRequestObject({ data: "s3cret" });
      if (info.verb === "watch") return streamResponse(async (sink) => void (await sink.write("x")));
      return jsonResponse(200, '{"data":"s3cret"}');
    }, everything);
    await http1({ port, path: `${PODS}?watch=1`, headers: as("admin") });
    await http1({ port, path: "/api/v1/secrets/x", headers: as("admin") });
    await expect.poll(() => events.length).toBe(5);
    const seen = events.map(({ stage, requestObject, responseObject }) => [stage, requestObject, responseObject]);
    expect(seen).toEqual([
      ["RequestReceived", undefined, undefined],
      ["ResponseStarted", { data: "s3cret" }, undefined],
      ["ResponseComplete", { data: "s3cret" }, undefined],
      ["RequestReceived", undefined, undefined],
      ["ResponseComplete", { data: "REDACTED" }, { data: "REDACTED" }],
    ]);
  });

  it("records no part of what another server answered with", async () => {
    const policy = () => ({ level: "RequestResponse" as const, omitStages: ["RequestReceived" as const] });
    const headers = { "content-type": "application/json" };
    const relayed = { status: 200, headers, body: new RelayedBody(Buffer.from('{"data":"of others"}')) };
    const { events, port } = await record(async () => relayed, policy);
    expect((await http1({ port, path: `${PODS}/x`, headers: as("admin") })).body).toBe('{"data":"of others"}');
    expect(events.map(({ stage, responseObject }) => [stage, responseObject])).toEqual([
      ["ResponseComplete", undefined],
    ]);
  });

  it("records no body that is too large, and notes the omission", async () => {
    const events: AuditEvent[] = [];
    const policy = () => ({ level: "RequestResponse" as const, omitStages: ["RequestReceived" as const] });
    const handler: Handler = async ({ audit, info }) => {
      audit.setRequestObject({ text: "x".repeat(info.name === "request" ? 100 : 1) });
      return jsonResponse(200, JSON.stringify({ text: "x".repeat(info.name === "response" ? 100 : 1) }));
    };
    const audit = { policy, sink: listSink(events), mode: "blocking" as const, maxBodyLength: 50 };
    const { port } = await serveChain(handler, { audit });
    for (const name of ["request", "response", "neither"]) {
      await http1({ port, path: `${PODS}/${name}`, headers: as("admin") });
    }
    expect(
      events.map(({ requestObject, responseObject, annotations }) => [
        requestObject,
        responseObject,
        annotations?.["audit.k8s.io/truncated"],
      ]),
    ).toEqual([
      [undefined, undefined, "true"],
      [{ text: "x" }, undefined, "true"],
      [{ text: "x" }, { text: "x" }, undefined],
    ]);
  });

  it("reads no YAML that takes long, and says so, also where it is compressed (security book 44)", async () => {
    const text = (length: number): Buffer => Buffer.from(`text: ${"x".repeat(length)}\n`);
    const yaml = (bytes: Uint8Array, headers = {}) =>
      jsonResponse(200, bytes, { "content-type": "application/yaml", ...headers });
    const responses = [yaml(text(3)), yaml(text(20_000)), yaml(gzipSync(text(20_000)), { "content-encoding": "gzip" })];
    const policy = () => ({ level: "RequestResponse" as const, omitStages: ["RequestReceived" as const] });
    const { events, port } = await record(async () => responses.shift() ?? jsonResponse(500, ""), policy);
    for (const name of ["short", "long", "compressed"])
      await http1({ port, path: `${PODS}/${name}`, headers: as("admin") });
    expect(
      events.map(({ responseObject, annotations }) => [responseObject, annotations?.["audit.k8s.io/truncated"]]),
    ).toEqual([
      [{ text: "xxx" }, undefined],
      [undefined, "true"],
      [undefined, "true"],
    ]);
  });

  it("takes no identifier from a client that could do harm", async () => {
    const { port } = await serveChain(fine);
    const { headers } = await http1({ port, path: "/healthz", headers: { "Audit-ID": "x".repeat(65) } });
    expect(headers["audit-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("answers 500 where a record could not be written, or continues, as configured", async () => {
    const ask = async (mode: AuditMode) => {
      const audit = { policy: METADATA, sink: failingSink, mode };
      const { port, metrics } = await serveChain(async () => jsonResponse(200, "s3cret"), { audit });
      const response = await http1({ port, path: PODS, headers: as("admin") });
      await expect.poll(() => metrics.registry.metrics()).toContain('apiserver_audit_error_total{plugin="log"} 1');
      return response;
    };
    const blocked = await ask("blocking-strict");
    expect([blocked.status, blocked.body.includes("s3cret")]).toEqual([500, false]);
    expect((await ask("blocking")).body).toBe("s3cret");
    expect((await ask("batch")).body).toBe("s3cret");
  });
});
