// In what form bodies are taken, and in what form answers come.

import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { KEYS, key, TABLE, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const DRY = `${KEYS}?dryRun=All`;
const NOTHING_TAKEN =
  "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
const accept = (value: string, path = KEYS) => api.get(path, { headers: { Accept: value } });
const postAs = (contentType: string, body: string) => api.post(DRY, body, { contentType });
const JSON_BODY = JSON.stringify(key("body"));

test.each(["", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/yaml"])(
  "takes a body of the type %j (N-01)",
  async (contentType) => {
    expect((await postAs(contentType, JSON_BODY)).status).toBe(201);
  },
);

test.each(["text/yaml", "application/x-yaml", "*/*", "application/*", "garbage", "application/json;charset"])(
  "refuses a body of the type %j (N-01)",
  async (contentType) => {
    expect((await postAs(contentType, JSON_BODY)).json).toMatchObject({ code: 415, reason: "UnsupportedMediaType" });
  },
);

test.each([
  [
    "YAML that says it is JSON",
    "application/json",
    "kind: OwnedAccessKey\n",
    "invalid character 'k' looking for beginning",
  ],
  [
    "a byte order mark",
    "application/json",
    `\ufeff${JSON_BODY}`,
    "invalid character 'ï' looking for beginning of value",
  ],
  ["two documents", "application/json", JSON_BODY + JSON_BODY, "invalid character '{' after top-level value"],
  ["what is no YAML", "application/yaml", "a: b: c", "mapping values are not allowed in this context"],
])("refuses %s (N-04)", async (_what, contentType, body, why) => {
  const { json } = await postAs(contentType, body);
  expect(json).toMatchObject({ code: 400, reason: "BadRequest", message: expect.stringContaining(why) });
});

test("shows a YAML error itself, and a JSON error as what it prevented (N-04)", async () => {
  expect((await postAs("application/yaml", "a: b: c")).json.message).toBe(
    "the object provided is unrecognized (must be of type OwnedAccessKey): yaml: mapping values are not allowed in this " +
      "context (613a20623a2063)",
  );
  expect((await postAs("application/json", "{")).json.message).toBe(
    "the object provided is unrecognized (must be of type OwnedAccessKey): couldn't get version/kind; json parse error: unexpected " +
      "end of JSON input ({)",
  );
});

test("takes no compressed body (N-04)", async () => {
  const { status } = await api.server.client.send({
    method: "POST",
    path: DRY,
    headers: { Authorization: "Bearer admin-token", "Content-Type": "application/json", "Content-Encoding": "gzip" },
    body: gzipSync(JSON_BODY),
  });
  expect(status).toBe(400);
});

test.each(["*/*", "application/*", "application/json;foo=bar", "text/html, application/json;q=0.1", ""])(
  "answers in JSON to %j (N-05)",
  async (value) => {
    expect((await accept(value)).headers["content-type"]).toBe("application/json");
  },
);

test.each(["text/html", "text/*", "*/json", "APPLICATION/JSON", "garbage", "application/json;stream=other"])(
  "refuses clients that accept only %j (N-05)",
  async (value) => {
    const { json, headers } = await accept(value);
    expect(json).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: NOTHING_TAKEN,
      reason: "NotAcceptable",
      code: 406,
    });
    expect(headers["content-type"]).toBe("application/json");
  },
);

test("takes the first of what is wanted alike, and the most wanted before it (N-05)", async () => {
  const typeOf = async (value: string) => (await accept(value)).headers["content-type"];
  expect(await typeOf("application/yaml, application/json")).toBe("application/yaml");
  expect(await typeOf("application/json, application/yaml")).toBe("application/json");
  expect(await typeOf("application/json;q=0.4, application/yaml;q=0.5")).toBe("application/yaml");
});

test("passes over a form that it cannot give, and refuses when nothing else is taken (N-07)", async () => {
  const unknown = "application/json;as=Table;v=v2;g=meta.k8s.io";
  expect((await accept(`${unknown},application/json`)).json.kind).toBe("OwnedAccessKeyList");
  for (const only of [unknown, "application/json;as=Table", "application/json;as=Bogus;v=v1;g=meta.k8s.io"]) {
    expect((await accept(only)).json, only).toMatchObject({ code: 406, message: NOTHING_TAKEN });
  }
});

test("has no CBOR (N-08)", async () => {
  expect((await accept("application/cbor, application/json")).status).toBe(200);
  expect((await accept("application/cbor")).status).toBe(406);
  expect((await postAs("application/cbor", "x")).status).toBe(415);
  const { status } = await api.patch(`${KEYS}/n08?fieldManager=m`, "application/apply-patch+cbor", "x");
  expect(status).toBe(415);
});

test("names no charset for JSON and forbids caching (N-09)", async () => {
  for (const path of [KEYS, `${KEYS}/absent`, "/apis", "/version"]) {
    expect((await api.get(path)).headers, path).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-cache, private",
    });
  }
  expect((await api.get("/healthz")).headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache, private",
  });
});

test("prints indented errors on request, and errors in YAML for clients that accept it (N-10)", async () => {
  const absent = `${KEYS}/absent`;
  expect((await api.get(`${absent}?pretty=true`)).text).toMatch(/^\{\n {2}"kind": "Status",\n/);
  expect((await api.get(absent, { headers: { "User-Agent": "curl/8" } })).text).toMatch(/^\{\n {2}"kind": "Status",\n/);
  expect((await api.get(absent, { as: "", headers: { "User-Agent": "curl/8" } })).text).toMatch(/^\{\n {2}"kind"/);
  const yaml = await accept("application/yaml", absent);
  expect(yaml.headers["content-type"]).toBe("application/yaml");
  expect(yaml.text).toMatch(/^apiVersion: v1\ncode: 404\ndetails:\n/);
});

test("lets the parameter decide where it is given (N-10)", async () => {
  const textOf = async (query: string, agent: string) =>
    (await api.get(`${KEYS}${query}`, { headers: { "User-Agent": agent } })).text;
  expect(await textOf("?pretty=false", "curl/8")).toMatch(/^\{"kind"/);
  expect(await textOf("?pretty=", "curl/8")).toMatch(/^\{\n/);
  for (const agent of ["Wget/1", "Mozilla/5.0 (X11)"]) expect(await textOf("", agent)).toMatch(/^\{\n/);
  for (const agent of ["Mozilla/4.0", "CURL/8", "kubectl/v1.32.4"])
    expect(await textOf("", agent)).toMatch(/^\{"kind"/);
});

test("compresses long responses for clients that accept it, and never a watch (N-11)", async () => {
  const text = "x".repeat(200_000);
  await api.post(WIDGETS, widget("n11", { size: 1, free: { text } }));
  const headers = { Authorization: "Bearer admin-token", "Accept-Encoding": "gzip" };
  for (const path of [`${WIDGETS}/n11`, WIDGETS]) {
    const { headers: plain, text: body } = await api.get(path);
    expect(plain).not.toHaveProperty("content-encoding");
    const compressed = await api.server.client.send({ method: "GET", path, headers });
    expect(compressed.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    expect(gunzipSync(compressed.bytes).toString()).toBe(body);
  }
  const short = await api.server.client.send({ method: "GET", path: KEYS, headers });
  expect(short.headers).not.toHaveProperty("content-encoding");
  const watch = `${WIDGETS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dn11`;
  const watched = await api.server.client.send({ method: "GET", path: watch, headers });
  expect(watched.headers).not.toHaveProperty("content-encoding");
  expect(watched.text).toContain(text);
});

test("writes objects, lists and Tables in YAML, with sorted keys (N-12)", async () => {
  await api.post(KEYS, key("n12"));
  const object = await accept("application/yaml", `${KEYS}/n12`);
  expect(object.headers["content-type"]).toBe("application/yaml");
  expect(object.text).toMatch(
    /^apiVersion: management\.example\.com\/v1\nkind: OwnedAccessKey\nmetadata:\n {2}creation/,
  );
  expect((await accept("application/yaml")).text).toMatch(/^apiVersion: .*\nitems:\n- apiVersion: /);
  const table = await accept("application/yaml;as=Table;v=v1;g=meta.k8s.io");
  expect(table.text).toMatch(/^apiVersion: meta\.k8s\.io\/v1\ncolumnDefinitions:\n- description: /);
});

test("lets the last of two equal keys count, and warns (N-14)", async () => {
  const body = JSON_BODY.replace('"user":"u1"', '"user":"first","user":"last"');
  const { json, warnings } = await postAs("application/json", body);
  expect(json.spec).toEqual({ user: "last" });
  expect(warnings).toEqual([`299 - "duplicate field \\"spec.user\\""`]);
});

test("tells Name from name (N-15)", async () => {
  const body = JSON_BODY.replace('"user":', '"User":').replace('"name":"body"', '"name":"body","Name":"other"');
  const { json, warnings } = await postAs("application/json", body);
  expect(json.metadata.name).toBe("body");
  expect(json.spec).toEqual({});
  expect(warnings).toEqual([`299 - "unknown field \\"metadata.Name\\""`, `299 - "unknown field \\"spec.User\\""`]);
});

test("answers 304 to a known ETag, for discovery and OpenAPI only (N-16)", async () => {
  const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  for (const [path, type] of [
    ["/apis", aggregated],
    ["/openapi/v2", "application/json"],
    ["/openapi/v3", "application/json"],
  ] as const) {
    const first = await accept(type, path);
    expect(first.headers.vary, path).toContain("Accept");
    const again = await api.get(path, { headers: { Accept: type, "If-None-Match": String(first.headers.etag) } });
    expect({ status: again.status, text: again.text }, path).toEqual({ status: 304, text: "" });
    expect((await api.get(path, { headers: { Accept: type, "If-None-Match": '"other"' } })).status).toBe(200);
  }
  const list = await accept(TABLE);
  expect(list.headers).not.toHaveProperty("etag");
  expect((await api.get(KEYS, { headers: { "If-None-Match": "*" } })).status).toBe(200);
});

test.each([
  ["/api", ""],
  ["/api/v1", ""],
  ["/apis/rbac.authorization.k8s.io/v1", ""],
  ["/api/v1/namespaces/default", ""],
  ["/api/v1/namespaces", ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"],
])("routes of built-in kinds refuse formats that they do not write: %s (N-05)", async (path, streams) => {
  const message = `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf${streams}`;
  const answer = await api.get(path, { headers: { Accept: "text/html, application/cbor;q=1" } });
  expect(answer.json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "NotAcceptable",
    details: {},
    code: 406,
  });
  for (const taken of ["*/*", "text/html,application/json;q=0.1", "application/yaml"]) {
    expect((await api.get(path, { headers: { Accept: taken } })).status).toBe(200);
  }
});
