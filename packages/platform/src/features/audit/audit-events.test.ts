// Events beside those that kube-apiserver 1.32 writes for the same requests: which members each has, and what is in them.

import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

const PROJECTS = "/apis/management.postern/v1/projects";
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
  - {level: RequestResponse, resources: [{group: management.postern, resources: [projects, projects/*]}], omitManagedFields: false}
  - {level: RequestResponse}
`;

let platform: RunningPlatform;
beforeAll(async () => {
  const policy = join(tmpdir(), `everything-${process.pid}.yaml`);
  await writeFile(policy, POLICY);
  platform = await startPlatform({ "audit-log-mode": "blocking", "audit-policy-file": policy });
  await rm(policy);
});
afterAll(() => platform[Symbol.asyncDispose]());

let number = 0;
/** The events of one request, by stage. */
async function eventsOf(call: PlatformCall): Promise<{ readonly [stage: string]: any }> {
  const auditID = `audit-events-${number++}`;
  await platform.send({ ...call, headers: { ...call.headers, "Audit-ID": auditID } });
  const lines = (await readFile(join(platform.directory, "audit.log"), "utf8")).split("\n").slice(0, -1);
  const events = lines.map((line) => JSON.parse(line)).filter((event) => event.auditID === auditID);
  return Object.fromEntries(events.map((event) => [event.stage, event]));
}

const ALWAYS =
  "annotations apiVersion auditID kind level objectRef requestReceivedTimestamp requestURI sourceIPs stage stageTimestamp user verb";
const membersOf = (event: object) =>
  Object.keys(event)
    .filter((name) => !ALWAYS.split(" ").includes(name))
    .sort()
    .join(" ");

describe("audit events", () => {
  const project = { metadata: { name: "audited" }, spec: { displayName: "a" } };

  // The second column is what upstream's events of the stage ResponseComplete have beside what all have.
  it.each<[string, PlatformCall, string, object]>([
    [
      "a create",
      { method: "POST", path: PROJECTS, body: project },
      "requestObject responseObject responseStatus",
      { code: 201 },
    ],
    [
      "a create of what is there",
      { method: "POST", path: PROJECTS, body: project },
      "requestObject responseObject responseStatus",
      { status: "Failure", reason: "AlreadyExists", code: 409 },
    ],
    [
      "a create that cannot be read",
      { method: "POST", path: PROJECTS, body: "{" },
      "responseObject responseStatus",
      { status: "Failure", reason: "BadRequest", code: 400 },
    ],
    ["a get", { path: `${PROJECTS}/audited` }, "responseObject responseStatus", { code: 200 }],
    ["a list", { path: PROJECTS }, "responseObject responseStatus", { code: 200 }],
    [
      "a get of nothing",
      { path: `${PROJECTS}/none` },
      "responseObject responseStatus",
      { status: "Failure", reason: "NotFound", code: 404, message: expect.stringContaining("not found") },
    ],
    [
      "a patch",
      { method: "PATCH", path: `${PROJECTS}/audited`, body: { spec: { displayName: "b" } } },
      "requestObject responseObject responseStatus",
      { code: 200 },
    ],
    [
      "a patch of the status",
      { method: "PATCH", path: `${PROJECTS}/audited/status`, body: { status: {} } },
      "requestObject responseObject responseStatus",
      { code: 200 },
    ],
    [
      "a patch in an unknown form",
      { method: "PATCH", path: `${PROJECTS}/audited`, body: {}, headers: { "content-type": "text/plain" } },
      "responseObject responseStatus",
      { reason: "UnsupportedMediaType", code: 415 },
    ],
    [
      "a patch of nothing",
      { method: "PATCH", path: `${PROJECTS}/none`, body: { metadata: {} } },
      "requestObject responseObject responseStatus",
      { reason: "NotFound", code: 404 },
    ],
    [
      "an old version",
      {
        method: "PUT",
        path: `${PROJECTS}/audited`,
        body: { metadata: { name: "audited", resourceVersion: "1" }, spec: {} },
      },
      "requestObject responseObject responseStatus",
      { reason: "Conflict", code: 409 },
    ],
    ["a delete", { method: "DELETE", path: `${PROJECTS}/audited` }, "responseObject responseStatus", { code: 200 }],
    [
      "a delete with options",
      { method: "DELETE", path: `${PROJECTS}/none`, body: { propagationPolicy: "Background" } },
      "requestObject responseObject responseStatus",
      { code: 404 },
    ],
  ])("have the members of upstream's: %s", async (_, call, members, status) => {
    const { RequestReceived, ResponseComplete } = await eventsOf(call);
    expect(membersOf(RequestReceived)).toBe("");
    expect(membersOf(ResponseComplete)).toBe(members);
    expect(ResponseComplete.responseStatus).toMatchObject({ metadata: {}, ...status });
    expect(ResponseComplete).toMatchObject({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "RequestResponse",
      user: { username: "admin" },
      sourceIPs: ["127.0.0.1"],
      objectRef: { resource: "projects", apiGroup: "management.postern", apiVersion: "v1" },
      annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": expect.any(String) },
      requestReceivedTimestamp: expect.stringMatching(/\.\d{6}Z$/),
    });
    if (ResponseComplete.responseStatus.code >= 400) {
      expect(ResponseComplete.responseObject).toMatchObject({
        kind: "Status",
        code: ResponseComplete.responseStatus.code,
      });
    }
  });

  it("name the object as the request does", async () => {
    const created = await eventsOf({
      method: "POST",
      path: PROJECTS,
      body: { ...project, metadata: { name: "named" } },
    });
    expect(created.ResponseComplete.objectRef).toEqual({
      resource: "projects",
      name: "named",
      apiGroup: "management.postern",
      apiVersion: "v1",
    });
    const { metadata } = created.ResponseComplete.responseObject;
    expect(metadata.managedFields).toHaveLength(1);
    const body = {
      metadata: { name: "named", uid: metadata.uid, resourceVersion: metadata.resourceVersion },
      spec: {},
    };
    const replaced = await eventsOf({ method: "PUT", path: `${PROJECTS}/named`, body });
    const { uid, resourceVersion } = metadata;
    expect(replaced.ResponseComplete.objectRef).toMatchObject({ name: "named", uid, resourceVersion });
    const gone = await eventsOf({
      method: "DELETE",
      path: "users/nobody-at-all",
      body: { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } },
    });
    expect(gone.ResponseComplete.requestObject).toEqual({
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid },
    });
  });

  it("keep the bodies of keys without their secrets: objects, patches, subresources, lists", async () => {
    const value = "my-own-secret-value-of-32-characters";
    const send = async (call: PlatformCall) => (await eventsOf(call)).ResponseComplete;
    const created = await send({ method: "POST", path: KEYS, body: { metadata: { name: "k" }, spec: { key: value } } });
    expect(created.requestObject.spec).toEqual({ key: "REDACTED" });
    expect(created.responseObject.spec).toMatchObject({ key: "REDACTED", user: "admin" });
    expect(created.responseObject.metadata.managedFields).toBeUndefined();
    const patched = await send({ method: "PATCH", path: `${KEYS}/k`, body: { spec: { key: `${value}-2`, ttl: 5 } } });
    expect(patched.requestObject).toEqual({ spec: { key: "REDACTED", ttl: 5 } });
    const json = await send({
      method: "PATCH",
      path: `${KEYS}/k`,
      body: [{ op: "add", path: "/spec/key", value: `${value}-3` }],
      headers: { "content-type": "application/json-patch+json" },
    });
    expect(json.requestObject).toEqual([{ op: "add", path: "/spec/key", value: "REDACTED" }]);
    const torn = await send({ method: "PATCH", path: `${KEYS}/k`, body: `{"spec":{"key":"${value}-4"` });
    expect([torn.responseStatus.code, torn.requestObject]).toEqual([400, undefined]);
    const rotated = await send({ method: "POST", path: `${KEYS}/k/rotate`, body: { spec: { nonce: "n" } } });
    expect(rotated.responseObject.status).toMatchObject({ key: "REDACTED", keyID: expect.stringMatching(/^\w{10}$/) });
    const kubeConfig = await send({
      method: "POST",
      path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
      body: { spec: { clientCert: true } },
    });
    expect(kubeConfig.requestObject.spec).toEqual({ clientCert: true });
    expect(kubeConfig.responseObject.status.kubeConfig).toBe("REDACTED");
    const secret = await send({
      method: "POST",
      path: "/api/v1/namespaces/default/secrets",
      body: {
        metadata: { name: "s" },
        stringData: { password: "another-value-of-a-password" },
        data: { other: "czNjcmV0LXZhbHVl" },
      },
    });
    // Upstream, too, has moved stringData into data before it records anything.
    expect(secret.requestObject.data).toEqual({ other: "REDACTED", password: "REDACTED" });
    const listed = await send({ path: "/api/v1/namespaces/default/secrets" });
    expect(listed.responseObject.items[0].data).toEqual({ other: "REDACTED", password: "REDACTED" });
    const text = await readFile(join(platform.directory, "audit.log"), "utf8");
    for (const leaked of [value, "czNjcmV0LXZhbHVl", "another-value", "YW5vdGhlci12YWx1ZS1vZi1hLXBhc3N3b3Jk"]) {
      expect(text).not.toContain(leaked);
    }
  });
});
