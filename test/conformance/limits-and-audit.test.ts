// How much is taken at once, what is kept of it, and what becomes of faults.

import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import { createAuditPolicy } from "@postern/apiserver/audit/audit-policy";
import { createFairShares, DEFAULT_FAIR_SHARES } from "@postern/apiserver/limits/fair-shares";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, useServer } from "./testing/api.ts";
import { connectRaw, rawRequest } from "./testing/raw-connection.ts";

describe("with the usual limits", () => {
  const api = useServer();

  test.each([
    ["labels", { "example.com/Name_1.x": "V-a_l.1", short: "" }],
    ["annotations", { "Example.COM/name": "anything at all\n\u{1f600}" }],
  ])("takes %s (X-02)", async (field, values) => {
    expect((await api.post(`${KEYS}?dryRun=All`, key("x02", {}, { [field]: values }))).status).toBe(201);
  });

  test.each([
    [
      "labels",
      { "-a": "b" },
      "metadata.labels",
      'Invalid value: "-a": name part must consist of alphanumeric characters',
    ],
    [
      "labels",
      { "Example.com/a": "b" },
      "metadata.labels",
      'Invalid value: "Example.com/a": prefix part a lowercase RFC 1123',
    ],
    ["labels", { "a/b/c": "d" }, "metadata.labels", 'Invalid value: "a/b/c": a valid label key must consist of'],
    ["labels", { [`${"a".repeat(64)}`]: "" }, "metadata.labels", "name part must be no more than 63"],
    ["labels", { a: "b c" }, "metadata.labels", 'Invalid value: "b c": a valid label must be an empty string'],
    ["labels", { a: "b".repeat(64) }, "metadata.labels", "must be no more than 63"],
    ["annotations", { "a b": "c" }, "metadata.annotations", 'Invalid value: "a b": name part must consist of'],
  ])("refuses the %s %j (X-02)", async (field, values, path, text) => {
    const { json } = await api.post(KEYS, key("x02", {}, { [field]: values }));
    expect(json).toMatchObject({ code: 422, reason: "Invalid" });
    expect(json.details.causes[0]).toMatchObject({ field: path, message: expect.stringContaining(text) });
  });

  test("answers an unexpected error with 500 and no details, and keeps the connection (X-06)", async () => {
    using connection = await connectRaw(api.server);
    connection.write(rawRequest("POST", "/debug/panic"));
    const text = await connection.received("details.\n");
    expect(text).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
    expect(text).toMatch(/\r\n\r\nThis request caused apiserver to panic\. Look in the logs for details\.\n$/);
    connection.write(rawRequest("GET", "/livez"));
    expect(await connection.received("\r\n\r\nok")).not.toContain("asked to fail");
  });

  test("reads a path of 70 kB (X-07)", async () => {
    const names = Array.from({ length: 4000 }, (_none, n) => `name-of-many-${n}`).join(",");
    const selector = encodeURIComponent(`case in (${names})`);
    expect(selector.length).toBeGreaterThan(70_000);
    expect((await api.get(`${KEYS}?labelSelector=${selector}`)).json).toMatchObject({ items: [] });
  });

  test("keeps a connection for the next request (X-08)", async () => {
    using connection = await connectRaw(api.server);
    for (let n = 1; n <= 3; n++) {
      connection.write(rawRequest("GET", `${KEYS}/x08-${n}`));
      expect(await connection.received(`\\"x08-${n}\\" not found`)).not.toMatch(/connection: close/i);
    }
  });
});

describe("with room for one change", () => {
  const limits = { ...DEFAULT_FAIR_SHARES, places: { readOnly: 2, mutating: 1, urgent: 1 }, queueMs: 0 };
  const shares = createFairShares(limits, systemRuntime);
  const api = useServer({ chain: { shares } });
  const RETRY = { status: 429, text: "Too many requests, please try again later.\n", after: "1" };
  const held = () => shares.take("mutating", { user: "other", key: "other" }, { signal: AbortSignal.timeout(60_000) });

  test("sends a second one away for a second, as text (E-18)", async () => {
    const place = await held();
    const { status, text, headers } = await api.post(KEYS, key("second"));
    expect({ status, text, after: headers["retry-after"] }).toEqual(RETRY);
    expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
    place[Symbol.dispose]();
    expect((await api.post(`${KEYS}?dryRun=All`, key("second"))).status).toBe(201);
  });

  test("counts neither reads, nor watches, nor probes as changes (X-04)", async () => {
    using _ = await held();
    const watches = await Promise.all([1, 2, 3].map(() => api.watch(`${KEYS}?watch=true`)));
    expect(watches.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await api.get(KEYS)).status).toBe(200);
    for (const path of ["/livez", "/readyz", "/healthz/ping"]) expect((await api.get(path)).status, path).toBe(200);
    for (const watch of watches) watch.close();
  });

  test("takes a change beside others whose bodies have not come (X-04)", async () => {
    using connection = await connectRaw(api.server);
    const body = JSON.stringify(key("slow"));
    connection.write(rawRequest("POST", `${KEYS}?dryRun=All`, body.slice(0, 5), body.length));
    expect((await api.post(`${KEYS}?dryRun=All`, key("quick"))).status).toBe(201);
    connection.write(body.slice(5));
    expect(await connection.received('"name":"slow"')).toMatch(/^HTTP\/1\.1 201 /);
  });
});

describe("with an audit log", () => {
  const events: AuditEvent[] = [];
  const policy = createAuditPolicy([
    { level: "None", users: ["bob"] },
    { level: "RequestResponse", verbs: ["create"], resources: [{ group: "management.example.com" }] },
    { level: "Request", verbs: ["patch"] },
    { level: "Metadata" },
  ]);
  const sink = {
    write: (event: AuditEvent): Promise<void> => {
      events.push(event);
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const api = useServer({ chain: { audit: { policy, sink, mode: "blocking" } } });
  const eventsOf = (id: unknown) => events.filter(({ auditID }) => auditID === id);

  test("records arrival and answer of a change, with both bodies at the level that has them (X-05)", async () => {
    const { headers, json } = await api.post(`${KEYS}?fieldManager=m`, key("x05"), {
      headers: { "User-Agent": "agent/1" },
    });
    const [received, complete] = eventsOf(headers["audit-id"]);
    expect([received?.stage, complete?.stage]).toEqual(["RequestReceived", "ResponseComplete"]);
    expect(complete).toMatchObject({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "RequestResponse",
      requestURI: `${KEYS}?fieldManager=m`,
      verb: "create",
      user: { username: "admin", groups: expect.arrayContaining(["system:masters", "system:authenticated"]) },
      sourceIPs: ["127.0.0.1"],
      userAgent: "agent/1",
      objectRef: { resource: "ownedaccesskeys", apiGroup: "management.example.com", apiVersion: "v1" },
      responseStatus: { code: 201 },
      requestObject: { kind: "OwnedAccessKey", spec: { user: "u1" } },
      responseObject: { metadata: { uid: json.metadata.uid } },
      annotations: { "authorization.k8s.io/decision": "allow" },
    });
    expect(complete?.requestReceivedTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test("keeps to the level: the request alone, metadata alone, or nothing (X-05)", async () => {
    const patched = await api.patch(`${KEYS}/x05`, MERGE_PATCH, { spec: { user: "u2" } });
    const [, patch] = eventsOf(patched.headers["audit-id"]);
    expect(patch).toMatchObject({ level: "Request", verb: "patch", objectRef: { name: "x05" } });
    expect(patch?.requestObject).toEqual({ spec: { user: "u2" } });
    expect(patch?.responseObject).toBeUndefined();
    const read = await api.get(`${KEYS}/absent`);
    const [, get] = eventsOf(read.headers["audit-id"]);
    expect(get).toMatchObject({ level: "Metadata", verb: "get", responseStatus: { code: 404, reason: "NotFound" } });
    expect(get?.requestObject).toBeUndefined();
    const ofBob = await api.get(KEYS, { as: "bob" });
    expect(ofBob.status).toBe(403);
    expect(eventsOf(ofBob.headers["audit-id"])).toEqual([]);
  });

  test("records the refused, the impersonated, and the beginning of a watch (X-05)", async () => {
    const refused = await api.get(KEYS, { as: "alice" });
    expect(eventsOf(refused.headers["audit-id"])[1]).toMatchObject({
      user: { username: "alice" },
      responseStatus: { code: 403 },
      annotations: { "authorization.k8s.io/decision": "forbid" },
    });
    const acting = await api.get(KEYS, { headers: { "Impersonate-User": "carol" } });
    expect(eventsOf(acting.headers["audit-id"])[1]).toMatchObject({
      user: { username: "admin" },
      impersonatedUser: { username: "carol" },
    });
    const id = "watch-of-x05";
    const watch = await api.watch(`${KEYS}?watch=true&timeoutSeconds=1`, { headers: { "Audit-ID": id } });
    await watch.finished;
    expect(eventsOf(id).map(({ stage }) => stage)).toEqual(["RequestReceived", "ResponseStarted", "ResponseComplete"]);
  });

  test("records an unexpected error at the stage Panic (X-05)", async () => {
    const { headers } = await api.post("/debug/panic", "");
    expect(eventsOf(headers["audit-id"]).map(({ stage }) => stage)).toContain("Panic");
  });
});
