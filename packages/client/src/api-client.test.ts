import { isApiError } from "@postern/apimachinery/meta/api-error";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createApiClient } from "./api-client.ts";
import { createResourceClient, listAll } from "./resource-client.ts";
import { sendJson, startTestServer, type TestServer } from "./testing/test-server.ts";
import { createBrowserTransport } from "./transport/browser.ts";
import { createNodeTransport } from "./transport/node.ts";
import type { Transport } from "./transport/transport.ts";

let server: TestServer;
let transport: Transport;
beforeAll(async () => {
  server = await startTestServer();
  transport = createNodeTransport({ server: server.url, certificateAuthorityPem: server.certificatePem });
});
beforeEach(() => server.requests.splice(0));
afterAll(async () => {
  await transport[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const keys = (options: Partial<Parameters<typeof createApiClient>[0]> = {}) =>
  createResourceClient(createApiClient({ transport, token: "secret", ...options }), {
    group: "management.postern",
    version: "v1",
    resource: "ownedaccesskeys",
  });
const key = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "ci" } };
const failure = (code: number, reason: string, message = "no") => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  code,
  reason,
  message,
});

describe("the verbs of a resource", () => {
  const base = "/apis/management.postern/v1/ownedaccesskeys";
  it.each([
    ["get", () => keys().get("ci"), `GET ${base}/ci`, "", undefined],
    [
      "create",
      () => keys().create(key, { dryRun: true, fieldManager: "x" }),
      `POST ${base}?dryRun=All&fieldManager=x`,
      JSON.stringify(key),
      "application/json",
    ],
    [
      "replace",
      () => keys().replace(key, { fieldValidation: "Strict" }),
      `PUT ${base}/ci?fieldValidation=Strict`,
      JSON.stringify(key),
      "application/json",
    ],
    [
      "merge patch",
      () => keys().patch("ci", { type: "merge", patch: { a: 1 } }),
      `PATCH ${base}/ci`,
      '{"a":1}',
      "application/merge-patch+json",
    ],
    [
      "JSON patch",
      () => keys().patch("ci", { type: "json", operations: [] }),
      `PATCH ${base}/ci`,
      "[]",
      "application/json-patch+json",
    ],
    [
      "apply",
      () => keys().apply("ci", key, { fieldManager: "x", force: true }),
      `PATCH ${base}/ci?fieldManager=x&force=true`,
      JSON.stringify(key),
      "application/apply-patch+yaml",
    ],
    [
      "subresource",
      () => keys().createSubresource("a/b", "rotate", { kind: "Rotation" }),
      `POST ${base}/a%2Fb/rotate`,
      '{"apiVersion":"management.postern/v1","metadata":{},"kind":"Rotation"}',
      "application/json",
    ],
  ])("%s", async (_, call, request, expectedBody, contentType) => {
    let seen: unknown;
    server.respond(({ headers }, response, body) => {
      seen = { authorization: headers.authorization, contentType: headers["content-type"], body };
      sendJson(response, key);
    });
    expect(await call()).toEqual(key);
    expect(server.requests).toEqual([request]);
    expect(seen).toEqual({ authorization: "Bearer secret", contentType, body: expectedBody });
  });

  it("delete sends its options as a body", async () => {
    let seen = "";
    server.respond((_, response, body) => {
      seen = body;
      sendJson(response, { kind: "Status", status: "Success" });
    });
    await keys().delete("ci", { propagationPolicy: "Foreground", preconditions: { uid: "u" } });
    expect(JSON.parse(seen)).toEqual({
      kind: "DeleteOptions",
      apiVersion: "v1",
      propagationPolicy: "Foreground",
      preconditions: { uid: "u" },
    });
  });

  it("namespaces and the core group have their own paths", async () => {
    server.respond((_, response) => sendJson(response, { items: null, metadata: {} }));
    const secrets = createResourceClient(createApiClient({ transport }), {
      group: "",
      version: "v1",
      resource: "secrets",
      namespace: "p-default",
    });
    expect((await secrets.list({ labelSelector: "a in (b,c)" })).items).toEqual([]);
    expect(server.requests).toEqual(["GET /api/v1/namespaces/p-default/secrets?labelSelector=a+in+%28b%2Cc%29"]);
  });

  it("listing all follows the pages, and names the version only once", async () => {
    const pages: { [token: string]: unknown } = {
      "": { metadata: { resourceVersion: "7", continue: "next" }, items: [key] },
      next: { metadata: { resourceVersion: "7" }, items: [key, key] },
    };
    server.respond(({ url }, response) =>
      sendJson(response, pages[new URL(url!, server.url).searchParams.get("continue") ?? ""]),
    );
    const all = await listAll(keys(), { resourceVersion: "0" });
    expect(all.items).toHaveLength(3);
    expect(all.metadata.resourceVersion).toBe("7");
    expect(server.requests[1]).not.toContain("resourceVersion");
  });

  it("integers keep all of their digits", async () => {
    server.respond((_, response) => response.end('{"metadata":{},"n":9223372036854775807}'));
    expect((await keys().get("x"))["n"]).toBe(9223372036854775807n);
  });
});

describe("a refusal", () => {
  it("is an ApiError with the fields of the Status", async () => {
    const details = { name: "ci", group: "management.postern", kind: "ownedaccesskeys" };
    server.respond((_, response) => sendJson(response, { ...failure(404, "NotFound", "gone"), details }, 404));
    const error = await keys()
      .get("ci")
      .catch((reason: unknown) => reason);
    expect(isApiError(error, "NotFound")).toBe(true);
    expect(error).toMatchObject({ code: 404, message: "gone", details });
  });

  it.each([
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [502, ""],
    [302, ""],
  ])("of code %i that is no Status keeps its meaning", async (code, reason) => {
    server.respond((_, response) => response.writeHead(code, { location: "/elsewhere" }).end("<html>"));
    await expect(keys().get("ci")).rejects.toMatchObject({ name: "ApiError", code, reason });
    expect(server.requests).toHaveLength(1);
  });

  it.each([429, 503])("%i with Retry-After is waited out", async (code) => {
    const waits: number[] = [];
    server.respond((_, response) =>
      server.requests.length < 3
        ? sendJson(response, failure(code, "TooManyRequests"), code, { "retry-after": "2" })
        : sendJson(response, key),
    );
    expect(await keys({ delay: async (ms) => void waits.push(ms) }).get("ci")).toEqual(key);
    expect(waits).toEqual([2000, 2000]);
  });

  it("that never ends is given up on", async () => {
    server.respond((_, response) => sendJson(response, failure(429, "TooManyRequests"), 429, { "retry-after": "1" }));
    await expect(keys({ delay: async () => undefined }).get("ci")).rejects.toMatchObject({ code: 429 });
    expect(server.requests).toHaveLength(11);
  });
});

describe("the client", () => {
  it("returns warnings", async () => {
    server.respond((_, response) =>
      sendJson(response, key, 200, { warning: '299 - "use \\"scope\\"", 299 - "and rest"' }),
    );
    const warnings: string[] = [];
    await keys({ onWarning: (text) => warnings.push(text) }).get("ci");
    expect(warnings).toEqual(['use "scope"', "and rest"]);
  });

  it("stops when its signal aborts", async () => {
    const controller = new AbortController();
    server.respond(() => controller.abort());
    await expect(keys().get("ci", { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
  });

  it("reads again over a new connection when the server closed the kept one", async () => {
    server.respond((request, response) => {
      if (server.requests.length === 2) request.socket.destroy();
      else sendJson(response, key);
    });
    await using own = createNodeTransport({ server: server.url, certificateAuthorityPem: server.certificatePem });
    await keys({ transport: own }).get("ci");
    expect(await keys({ transport: own }).get("ci")).toEqual(key);
    expect(server.requests).toHaveLength(3);
  });

  it("never sends a write twice", async () => {
    server.respond((request, response) => {
      if (server.requests.length === 2) request.socket.destroy();
      else sendJson(response, key);
    });
    await using own = createNodeTransport({ server: server.url, certificateAuthorityPem: server.certificatePem });
    await keys({ transport: own }).get("ci");
    await expect(keys({ transport: own }).create(key)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(server.requests).toHaveLength(2);
  });

  it("refuses a server that its authority did not sign", async () => {
    await using strict = createNodeTransport({ server: server.url });
    await expect(keys({ transport: strict }).get("ci")).rejects.toMatchObject({ code: /SELF_SIGNED|UNABLE_TO_VERIFY/ });
    expect(server.requests).toEqual([]);
  });

  it("signs in with a client certificate, below a base path", async () => {
    server.respond(({ socket }, response) =>
      sendJson(response, { ...key, user: (socket as any).getPeerCertificate().subject.CN }),
    );
    await using withCertificate = createNodeTransport({
      server: `${server.url}/kubernetes/management/`,
      certificateAuthorityPem: server.certificatePem,
      clientCertificatePem: server.certificatePem,
      clientKeyPem: server.keyPem,
    });
    expect((await keys({ transport: withCertificate }).get("ci"))["user"]).toBe("jane");
    expect(server.requests).toEqual(["GET /kubernetes/management/apis/management.postern/v1/ownedaccesskeys/ci"]);
  });

  it("works through fetch as well", async () => {
    const requests: [string, RequestInit | undefined][] = [];
    const browser = createBrowserTransport({
      server: "/kubernetes/management/",
      fetch: async (url, init) => {
        requests.push([String(url), init]);
        return new Response(JSON.stringify(key));
      },
    });
    expect(await keys({ transport: browser }).create(key)).toEqual(key);
    expect(requests[0]![0]).toBe("/kubernetes/management/apis/management.postern/v1/ownedaccesskeys");
    expect(requests[0]![1]).toMatchObject({ method: "POST", body: JSON.stringify(key), redirect: "error" });
  });
});
