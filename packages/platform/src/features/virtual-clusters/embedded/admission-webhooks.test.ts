// Texts are those of kube-apiserver 1.32.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";
import { patching, startWebhookServer, type WebhookServer } from "./testing/webhook-server.ts";

const GROUP = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/default/configmaps";

let host: EmbeddedHost;
let server: WebhookServer;
beforeAll(async () => {
  host = await createEmbeddedHost();
  server = await startWebhookServer(["hooks.default.svc"]);
  await host.setUp("one");
});
afterEach(async () => {
  for (const kind of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"])
    await host.request("one", { method: "DELETE", url: `${GROUP}/${kind}` });
  const { body } = await host.request("one", { url: MAPS });
  for (const { metadata } of body.items)
    if (metadata.name !== "kube-root-ca.crt")
      await host.request("one", { method: "DELETE", url: `${MAPS}/${metadata.name}` });
  server.asked.length = 0;
  server.answers.clear();
  server.raw.clear();
});
afterAll(async () => {
  expect(host.errors).toEqual([]);
  await host[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const send = async (method: string, url: string, body?: object, type = "application/json") =>
  (
    await host.request("one", {
      method,
      url,
      ...(body === undefined ? {} : { body, headers: { "content-type": type } }),
    })
  ).body;
const create = (name: string, more: object = {}, query = "") =>
  send("POST", `${MAPS}${query}`, { metadata: { name }, ...more });
const patchMap = (name: string, body: object) => send("PATCH", `${MAPS}/${name}`, body, "application/merge-patch+json");

const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE", "DELETE"],
  resources: ["configmaps"],
};
const hook = (path: string, more: object = {}) => ({
  name: `${path.slice(1)}.example.com`,
  clientConfig: { url: `${server.url}${path}`, caBundle: server.caBundle },
  rules: [rule],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  timeoutSeconds: 5,
  ...more,
});
const configure = (kind: "validating" | "mutating", name: string, ...webhooks: object[]) =>
  send("POST", `${GROUP}/${kind}webhookconfigurations`, { metadata: { name }, webhooks });
const pathsAsked = () => server.asked.map(({ path }) => path);
const refusal = async (work: Promise<unknown>) =>
  await work.then(
    () => expect.unreachable("it was allowed"),
    (error) => ({ code: error.code, reason: error.reason, message: error.message }),
  );

it("is counted under upstream's names, without the names that tenants choose", async () => {
  const counted = async () => {
    const text = await host.metrics.registry.metrics();
    const lines = text.split("\n").filter((line) => /^apiserver_admission_webhook_(?!.*_(bucket|sum)\{)/.test(line));
    return Object.fromEntries(lines.map((line) => line.split(/ (?=\d+$)/) as [string, string]));
  };
  const before = await counted();
  server.answers.set("/deny", () => ({ allowed: false, status: { code: 403 } }));
  await configure(
    "mutating",
    "a",
    hook("/gone", { failurePolicy: "Ignore", clientConfig: { url: "https://127.0.0.1:1/" } }),
  );
  await configure("validating", "a", hook("/deny"));
  await refusal(create("x"));
  await send("DELETE", `${GROUP}/validatingwebhookconfigurations`);
  await create("x");
  const after = await counted();
  const grown = Object.keys(after).filter((line) => after[line] !== before[line]);
  const name = "apiserver_admission_webhook";
  expect(grown.toSorted()).toEqual(
    [
      `${name}_admission_duration_seconds_count{type="admit",operation="CREATE",rejected="false"}`,
      `${name}_admission_duration_seconds_count{type="validating",operation="CREATE",rejected="true"}`,
      `${name}_fail_open_count{type="admit"}`,
      `${name}_rejection_count{type="validating",operation="CREATE",error_type="no_error",rejection_code="403"}`,
      `${name}_request_total{type="admit",operation="CREATE",code="500",rejected="false"}`,
      `${name}_request_total{type="validating",operation="CREATE",code="403",rejected="true"}`,
    ].toSorted(),
  );
});

describe("a validating webhook", () => {
  it("is asked with all of upstream's fields", async () => {
    await configure("validating", "a", hook("/check"));
    await create("x", { data: { a: "1" } }, "?fieldManager=tests&fieldValidation=Strict");
    const [{ review } = expect.unreachable()] = server.asked;
    const gvk = { group: "", version: "v1", kind: "ConfigMap" };
    const gvr = { group: "", version: "v1", resource: "configmaps" };
    expect(review).toEqual({
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v1",
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: gvk,
        resource: gvr,
        subResource: "",
        requestKind: gvk,
        requestResource: gvr,
        requestSubResource: "",
        name: "x",
        namespace: "default",
        operation: "CREATE",
        userInfo: {
          username: "root",
          groups: expect.arrayContaining(["example:role:cluster-admin", "system:authenticated"]),
        },
        object: expect.objectContaining({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } }),
        oldObject: null,
        dryRun: false,
        options: {
          kind: "CreateOptions",
          apiVersion: "meta.k8s.io/v1",
          fieldManager: "tests",
          fieldValidation: "Strict",
        },
      },
    });
    expect(review.request.object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    await patchMap("x", { data: { a: "2" } });
    await send("DELETE", `${MAPS}/x`, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" });
    const [, update, remove] = server.asked.map(({ review }) => review.request);
    expect(update).toMatchObject({
      operation: "UPDATE",
      object: { data: { a: "2" } },
      oldObject: { data: { a: "1" } },
      options: { kind: "UpdateOptions" },
    });
    expect(remove).toMatchObject({
      operation: "DELETE",
      object: null,
      oldObject: { data: { a: "2" } },
      options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", propagationPolicy: "Background" },
    });
  });

  it("refuses in its own words, with code and reason, and warns", async () => {
    await configure("validating", "a", hook("/check"));
    const deny = (response: object) => server.answers.set("/check", () => response);
    deny({ allowed: false, status: { message: "too red", code: 409, reason: "Conflict" } });
    expect(await refusal(create("x"))).toEqual({
      code: 409,
      reason: "Conflict",
      message: 'admission webhook "check.example.com" denied the request: too red',
    });
    deny({ allowed: false });
    expect(await refusal(create("x"))).toMatchObject({
      code: 400,
      message: 'admission webhook "check.example.com" denied the request without explanation',
    });
    deny({ allowed: false, status: { code: 200, reason: "Because" } });
    expect(await refusal(create("x"))).toMatchObject({
      code: 400,
      reason: "Because",
      message: /the request: Because$/,
    });
  });

  it("is asked by rules, scope, selectors and conditions", async () => {
    const of = (path: string, more: object) => hook(path, more);
    await configure(
      "validating",
      "a",
      of("/cluster", { rules: [{ ...rule, scope: "Cluster" }] }),
      of("/namespaced", { rules: [{ ...rule, scope: "Namespaced" }] }),
      of("/others", { rules: [{ ...rule, resources: ["secrets", "configmaps/status"] }] }),
      of("/labelled", { objectSelector: { matchLabels: { a: "b" } } }),
      of("/spaces", { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "other" } } }),
      of("/here", { namespaceSelector: { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] } }),
      of("/holds", { matchConditions: [{ name: "n", expression: "object.metadata.name == 'x'" }] }),
      of("/not", {
        matchConditions: [
          { name: "n", expression: "object.nothing == 'x'" },
          { name: "m", expression: "authorizer.path('/x').check('get').allowed() && request.operation == 'UPDATE'" },
        ],
      }),
      of("/deletes", { rules: [{ ...rule, operations: ["DELETE"] }] }),
      of("/wild", { rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }] }),
    );
    await create("x", { metadata: { name: "x", labels: { a: "b" } } });
    expect(pathsAsked().toSorted()).toEqual(["/here", "/holds", "/labelled", "/namespaced", "/wild"]);
  });

  it("is not asked where its conditions cannot be evaluated, and the request is refused unless that is to be ignored", async () => {
    const faulty = { matchConditions: [{ name: "n", expression: "object.data.size() > 0" }] };
    await configure("validating", "a", hook("/check", { ...faulty, failurePolicy: "Ignore" }));
    await create("x");
    await configure("validating", "b", hook("/strict", faulty));
    expect(await refusal(create("y"))).toMatchObject({
      code: 403,
      message: `configmaps "y" is forbidden: expression 'object.data.size() > 0' resulted in error: no such key: data`,
    });
    expect(pathsAsked()).toEqual([]);
  });

  it("fails closed or open, and reports the reason", async () => {
    const asked = (path: string, more: object = {}) => configure("validating", "a", hook(path, more));
    const fails = async (why: string) => {
      expect(await refusal(create("x"))).toMatchObject({
        code: 500,
        reason: "InternalError",
        message: `Internal error occurred: failed calling webhook "check.example.com": ${why}`,
      });
      await send("DELETE", `${GROUP}/validatingwebhookconfigurations/a`);
    };
    const post = `failed to call webhook: Post "${server.url}/check?timeout=5s": `;
    server.raw.set("/check", (_request, response) => response.writeHead(503).end());
    await asked("/check");
    await fails("failed to call webhook: the server is currently unable to handle the request");
    server.raw.set("/check", (_request, response) =>
      response.writeHead(307, { location: `${server.url}/other` }).end(),
    );
    await asked("/check");
    await fails(`${post}the server responded with code 307, and redirects are not followed`);
    expect(pathsAsked()).not.toContain("/other");
    server.raw.set("/check", (request) => request.socket.destroy());
    await asked("/check");
    await fails(`${post}the connection was lost`);
    server.raw.set("/check", () => undefined);
    await asked("/check", { timeoutSeconds: 1 });
    await fails(`${post.replace("5s", "1s")}context deadline exceeded`);
    server.raw.delete("/check");
    await asked("/check", { clientConfig: { url: `${server.url}/check` } });
    await fails(`${post}its certificate is not signed by a trusted CA`);
    for (const [response, why] of [
      [{ uid: "x", allowed: true }, /^expected response.uid="[0-9a-f-]{36}", got "x"$/],
      [{ allowed: true, patch: "W10=", patchType: "JSONPatch" }, /^validating webhook may not return response.patch$/],
    ] as const) {
      server.answers.set("/check", () => response);
      await asked("/check");
      const { message } = await refusal(create("x"));
      expect(message.split("received invalid webhook response: ")[1]).toMatch(why);
      await send("DELETE", `${GROUP}/validatingwebhookconfigurations/a`);
    }
    server.raw.set("/check", (_request, response) => response.writeHead(500).end());
    await asked("/check", { failurePolicy: "Ignore" });
    await create("x");
  });

  it("is not asked about dry runs that it may have effects on", async () => {
    await configure("validating", "a", hook("/check", { sideEffects: "NoneOnDryRun" }));
    await create("x", {}, "?dryRun=All");
    expect(server.asked[0]?.review.request).toMatchObject({ dryRun: true, options: { dryRun: ["All"] } });
  });

  it("gets the version that its rules name, and the version of the request", async () => {
    const schema = {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      },
    };
    const version = (name: string) => ({ name, served: true, storage: name === "v1", schema });
    await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "boats.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "boats", kind: "Boat" },
        versions: [version("v1"), version("v2")],
      },
    });
    await host.settled("one");
    const boats = (more: object) => ({
      rules: [{ apiGroups: ["example.com"], apiVersions: ["v2"], operations: ["CREATE"], resources: ["boats"] }],
      ...more,
    });
    await configure("mutating", "a", hook("/equivalent", boats({})), hook("/exact", boats({ matchPolicy: "Exact" })));
    server.answers.set("/equivalent", () =>
      patching({ op: "replace", path: "/spec/size", value: 5 }, { op: "add", path: "/spec/unknown", value: 1 }),
    );
    const made = await send("POST", "/apis/example.com/v1/namespaces/default/boats", {
      metadata: { name: "b" },
      spec: { size: 1 },
    });
    expect(made).toMatchObject({ apiVersion: "example.com/v1", spec: { size: 5 } });
    expect(made.spec).not.toHaveProperty("unknown");
    expect(pathsAsked()).toEqual(["/equivalent"]);
    expect(server.asked[0]?.review.request).toMatchObject({
      kind: { version: "v2" },
      resource: { version: "v2" },
      requestKind: { version: "v1" },
      requestResource: { version: "v1" },
      object: { apiVersion: "example.com/v2" },
    });
  });

  it("is called through a Service, or reports why that fails", async () => {
    const service = { name: "hooks", namespace: "default", path: "/check", port: 8443 };
    const byService = hook("/check", { clientConfig: { service, caBundle: server.caBundle } });
    await configure("validating", "a", byService);
    const fails = async (why: string) =>
      expect((await refusal(create("x"))).message).toBe(
        `Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://hooks.default.svc:8443/check?timeout=5s": ${why}`,
      );
    await fails('service "hooks" not found');
    const services = "/api/v1/namespaces/default/services";
    await send("POST", services, { metadata: { name: "hooks" }, spec: { ports: [{ name: "https", port: 443 }] } });
    await fails('no service port 8443 found for service "hooks"');
    await send(
      "PATCH",
      `${services}/hooks`,
      { spec: { ports: [{ name: "https", port: 8443 }] } },
      "application/merge-patch+json",
    );
    await fails('no endpoints available for service "hooks": this virtual cluster runs no pods');
    await send("POST", "/api/v1/namespaces/default/endpoints", {
      metadata: { name: "hooks" },
      subsets: [{ addresses: [{ ip: "100.100.100.200" }], ports: [{ name: "https", port: server.port }] }],
    });
    await fails("its address is not allowed");
    // Upstream takes no loopback addresses here, so that this is what tests have.
    const found = { type: "ExternalName", externalName: "localhost", ports: null, clusterIP: null, clusterIPs: null };
    await send("PATCH", `${services}/hooks`, { spec: found }, "application/merge-patch+json");
    service.port = server.port;
    await send(
      "PATCH",
      `${GROUP}/validatingwebhookconfigurations/a`,
      { webhooks: [{ ...byService, clientConfig: { service, caBundle: server.caBundle } }] },
      "application/merge-patch+json",
    );
    await create("x");
    expect(pathsAsked()).toEqual(["/check"]);
  });
});

describe("a mutating webhook", () => {
  it("changes what is written, one after the other in the order of names, before the check", async () => {
    const seen = (path: string) => server.asked.find((each) => each.path === path)?.review.request.object;
    await configure("mutating", "b", hook("/second"));
    await configure("mutating", "a", hook("/first"), hook("/between"));
    await configure("validating", "c", hook("/check"));
    server.answers.set("/first", () => patching({ op: "add", path: "/data", value: { by: "first" } }));
    server.answers.set("/second", ({ object }) =>
      patching({ op: "replace", path: "/data/by", value: `${object.data.by}, second` }),
    );
    const made = await create("x");
    expect(made.data).toEqual({ by: "first, second" });
    expect(pathsAsked()).toEqual(["/first", "/between", "/second", "/check"]);
    expect(seen("/first").data).toBeUndefined();
    expect(seen("/between").data).toEqual({ by: "first" });
    expect(seen("/check").data).toEqual({ by: "first, second" });
    // The caller owns the fields that it sent; other fields have no owner, as upstream.
    expect(made.metadata.managedFields).toBeUndefined();
  });

  it("is asked again where it wants to be and one after it has changed the object, once", async () => {
    let round = 0;
    const grow = (path: string) =>
      server.answers.set(path, ({ object }) =>
        patching({ op: "add", path: "/data", value: { ...object.data, [path.slice(1)]: String(++round) } }),
      );
    for (const path of ["/a", "/b", "/c"]) grow(path);
    await configure(
      "mutating",
      "m",
      hook("/a", { reinvocationPolicy: "IfNeeded" }),
      hook("/b"),
      hook("/c", { reinvocationPolicy: "IfNeeded" }),
    );
    expect((await create("x")).data).toEqual({ a: "4", b: "2", c: "5" });
    expect(pathsAsked()).toEqual(["/a", "/b", "/c", "/a", "/c"]);
  });

  it("cannot change what is not its own: names, uids, field managers, the kind", async () => {
    await configure("mutating", "m", hook("/m"));
    await create("x", { data: { a: "1" } });
    const before = await send("GET", `${MAPS}/x`);
    const change = (path: string, value: unknown) => ({ op: "add", path, value });
    server.answers.set("/m", () =>
      patching(
        change("/metadata/creationTimestamp", "2001-01-01T00:00:00Z"),
        change("/metadata/managedFields", [
          { manager: "m", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} },
        ]),
        change("/apiVersion", "v2"),
        change("/kind", "Secret"),
        change("/data/b", "2"),
      ),
    );
    const after = await patchMap("x", { data: { c: "3" } });
    expect(after).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { a: "1", b: "2", c: "3" } });
    expect(after.metadata).toMatchObject({
      uid: before.metadata.uid,
      creationTimestamp: before.metadata.creationTimestamp,
    });
    expect(JSON.stringify(after.metadata.managedFields)).not.toContain('"m"');
    for (const member of ["name", "uid"]) {
      server.answers.set("/m", () => patching(change(`/metadata/${member}`, "other")));
      expect(await refusal(patchMap("x", { data: { d: "4" } }))).toMatchObject({ code: 422 });
    }
  });

  it("is reported where its patch does not apply", async () => {
    await configure("mutating", "m", hook("/m", { failurePolicy: "Ignore" }));
    const fails = async (answer: object, why: RegExp) => {
      server.answers.set("/m", () => answer);
      expect(await refusal(create("x"))).toMatchObject({ code: 500, message: expect.stringMatching(why) });
    };
    await fails(patching({ op: "remove", path: "/data/nothing" }), /^Internal error occurred: /);
    await fails(patching({ op: "add", path: "/data", value: "text" }), /its patch results in no valid ConfigMap/);
    await fails(
      patching({
        op: "add",
        path: "/data",
        value: Object.fromEntries(Array.from({ length: 59_000 }, (_, i) => [i, ""])),
      }),
      /too large/,
    );
    await fails(
      patching(
        { op: "add", path: "/x", value: "x".repeat(1_000) },
        ...Array.from({ length: 15 }, (_, i) => ({ op: "copy", from: "", path: `/y${i}` })),
      ),
      /Internal error occurred: /,
    );
    // An answer that is none is a failure of the webhook, and failurePolicy here ignores it.
    for (const answer of [
      { allowed: true, patchType: "JSONPatch", patch: "%%%" },
      { allowed: true, patchType: "MergePatch", patch: "e30=" },
      { allowed: true, patch: "W10=" },
      { allowed: true, patchType: "JSONPatch", patch: "e30=" },
    ]) {
      server.answers.set("/m", () => answer);
      await create("x");
      await send("DELETE", `${MAPS}/x`).catch(() => undefined);
    }
    server.answers.set("/m", () => patching({ op: "add", path: "/data", value: {} }));
    server.answers.delete("/m");
    await create("x");
    server.answers.set("/m", () => patching({ op: "add", path: "/data", value: {} }));
    expect(await refusal(send("DELETE", `${MAPS}/x`))).toMatchObject({
      message: expect.stringContaining("attempted to modify the object, which is not supported for this operation"),
    });
    server.answers.delete("/m");
  });

  it("takes reviews of v1beta1, whose answers say less", async () => {
    await configure("mutating", "m", hook("/m", { admissionReviewVersions: ["v9", "v1beta1", "v1"] }));
    server.answers.set("/m", () => ({
      uid: "any",
      allowed: true,
      patch: patching({ op: "add", path: "/data", value: { a: "b" } }).patch,
    }));
    expect((await create("x")).data).toEqual({ a: "b" });
    expect(server.asked[0]?.review.apiVersion).toBe("admission.k8s.io/v1beta1");
  });
});

describe("a webhook configuration", () => {
  it("is refused with upstream's words", async () => {
    const faults = async (webhook: object) => {
      const { message } = await refusal(configure("mutating", "m", { ...hook("/m"), ...webhook }));
      return message.replace('MutatingWebhookConfiguration.admissionregistration.k8s.io "m" is invalid: ', "");
    };
    expect(await faults({ name: "short" })).toBe(
      'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots',
    );
    expect(await faults({ sideEffects: "Some" })).toBe(
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    );
    expect(await faults({ timeoutSeconds: 31 })).toBe(
      "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    );
    expect(await faults({ admissionReviewVersions: ["v2"] })).toBe(
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
    );
    expect(await faults({ clientConfig: {} })).toBe(
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    );
    expect(await faults({ clientConfig: { url: "http://user@example.com/x?y#z" } })).toBe(
      "[webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path], " +
        'webhooks[0].clientConfig.url: Invalid value: "user": user information is not permitted in the URL, ' +
        'webhooks[0].clientConfig.url: Invalid value: "z": fragments are not permitted in the URL, ' +
        'webhooks[0].clientConfig.url: Invalid value: "y": query parameters are not permitted in the URL]',
    );
    expect(
      await faults({ rules: [{ ...rule, operations: ["*", "CREATE"], resources: ["*", "pods"], scope: "x" }] }),
    ).toBe(
      '[webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations, ' +
        'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources without subresources, ' +
        'webhooks[0].rules[0].scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"]',
    );
    expect(await faults({ matchConditions: [{ name: "a", expression: "params.x" }] })).toContain(
      "webhooks[0].matchConditions[0].expression: Invalid value: \"params.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'",
    );
    expect(await faults({ failurePolicy: "x", matchPolicy: "y", reinvocationPolicy: "z" })).toMatch(
      /failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore".*matchPolicy.*"Equivalent", "Exact".*reinvocationPolicy.*"IfNeeded", "Never"/,
    );
    const twice = await refusal(configure("validating", "v", hook("/a"), hook("/a")));
    expect(twice.message).toContain('webhooks[1].name: Duplicate value: "a.example.com"');
  });

  it("has upstream's defaults, and is not itself asked about", async () => {
    const everything = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }];
    await configure("validating", "v", hook("/deny", { rules: everything }));
    server.answers.set("/deny", () => ({ allowed: false }));
    const { name, clientConfig, sideEffects, admissionReviewVersions } = hook("/m");
    const bare = {
      name,
      sideEffects,
      admissionReviewVersions,
      clientConfig: { service: { name: "s", namespace: "n" } },
    };
    expect((await configure("mutating", "m", { ...bare, rules: [rule] })).webhooks).toEqual([
      {
        ...bare,
        clientConfig: { service: { name: "s", namespace: "n", port: 443 } },
        rules: [{ ...rule, scope: "*" }],
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        reinvocationPolicy: "Never",
      },
    ]);
    expect(clientConfig.url).toContain("/m");
    await send("DELETE", `${GROUP}/mutatingwebhookconfigurations/m`);
    expect(await refusal(create("x"))).toMatchObject({ code: 400 });
  });
});

describe("a webhook without a required field", () => {
  const without = (name: string) => ({ ...hook("/check"), [name]: undefined });

  it.each(["validating", "mutating"] as const)("is refused as invalid: %s", async (kind) => {
    for (const missing of ["name", "clientConfig", "sideEffects", "admissionReviewVersions"]) {
      const { code, message } = await refusal(configure(kind, "bad", without(missing)));
      expect({ missing, code }).toEqual({ missing, code: 422 });
      expect(message).toContain(`webhooks[0].${missing}: Required value`);
    }
    const noClient = { ...hook("/check"), clientConfig: {} };
    expect((await refusal(configure(kind, "bad", noClient))).message).toContain("exactly one of url or service");
    const noService = { ...hook("/check"), clientConfig: { service: {} } };
    expect(await refusal(configure(kind, "bad", noService))).toMatchObject({ code: 422 });
  });

  it.each(["validating", "mutating"] as const)("cannot be made by an update: %s", async (kind) => {
    await configure(kind, "good", hook("/check"));
    const url = `${GROUP}/${kind}webhookconfigurations/good`;
    const body = { metadata: { name: "good" }, webhooks: [without("clientConfig")] };
    for (const [method, type] of [
      ["PUT", "application/json"],
      ["PATCH", "application/merge-patch+json"],
      ["PATCH", "application/apply-patch+yaml"],
    ] as const) {
      const query = type.includes("apply") ? "?fieldManager=a&force=true" : "";
      const sent = { apiVersion: "admissionregistration.k8s.io/v1", kind: kindNames[kind], ...body };
      // An apply leaves the fields of others alone.
      const answer = send(method, `${url}${query}`, sent, type);
      if (type.includes("apply")) await answer;
      else expect(await refusal(answer)).toMatchObject({ code: 422 });
    }
  });
});

const kindNames = { validating: "ValidatingWebhookConfiguration", mutating: "MutatingWebhookConfiguration" };
