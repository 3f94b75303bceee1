// Paths, methods, media types, and who may do what.

import { expect, test } from "vitest";
import { API, GROUP, KEYS, key, useServer, WIDGETS } from "./testing/api.ts";

const api = useServer();
const send = (method: string, path: string) =>
  api.server.client.send({
    method,
    path,
    headers: { Authorization: "Bearer admin-token", Accept: "application/json" },
  });
const NO_SUCH_RESOURCE = "the server could not find the requested resource";

test.each(["PUT", "PATCH"])("needs a name for a %s (R-01)", async (method) => {
  expect((await send(method, KEYS)).json).toMatchObject({ code: 400, message: "name must be provided" });
});

test("answers 201 to a creation and 200 to what follows (R-02)", async () => {
  expect((await api.post(KEYS, key("r02"))).status).toBe(201);
  expect((await api.get(`${KEYS}/r02`)).status).toBe(200);
  expect((await api.delete(`${KEYS}/r02`)).status).toBe(200);
});

test.each([
  ["lists across namespaces (R-03)", "GET", `${API}/widgets`, 200],
  ["creates in a namespace only (R-03)", "POST", `${API}/widgets`, 404],
  ["has no cluster-scoped resource in a namespace (R-04)", "GET", `${API}/namespaces/default/ownedaccesskeys`, 404],
  ["has no namespaced object outside of one (R-04)", "GET", `${API}/widgets/x`, 404],
  ["takes one slash at the end (R-05)", "GET", `${KEYS}/`, 200],
  ["takes no empty segment (R-05)", "GET", `${API}//ownedaccesskeys`, 404],
  ["reads an empty namespace as all of them (R-05)", "GET", `${API}/namespaces//widgets`, 200],
  ["knows no short names (R-06)", "GET", `${API}/oak`, 404],
  ["tells upper from lower case (R-06)", "GET", `${API}/OwnedAccessKeys`, 404],
  ["refuses OPTIONS (R-09)", "OPTIONS", KEYS, 405],
  ["answers HEAD as GET without a body (R-09)", "HEAD", KEYS, 200],
  ["takes .. for a name that no object can have (R-10)", "GET", `${KEYS}/..`, 400],
  ["serves discovery to a POST (R-18)", "POST", "/apis", 200],
  ["serves the version to a GET only (R-18)", "POST", "/version", 405],
])("%s", async (_name, method, path, status) => {
  expect((await send(method, path)).status).toBe(status);
});

test("answers with a Status below a group that is served, with text elsewhere (R-07)", async () => {
  expect((await api.get(`${API}/nosuch`)).json).toMatchObject({
    code: 404,
    reason: "NotFound",
    message: NO_SUCH_RESOURCE,
  });
  const unknown = await api.get("/apis/nosuch/v1/x");
  expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 404, text: "404 page not found\n" });
  expect(unknown.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
});

test("names the verb that a subresource does not serve (R-08)", async () => {
  expect((await api.post(`${KEYS}/x/status`, key("x"))).json).toMatchObject({
    code: 405,
    reason: "MethodNotAllowed",
    message: `create is not supported on resources of kind "ownedaccesskeys.${GROUP}"`,
    details: { group: GROUP, kind: "ownedaccesskeys" },
  });
});

const NAMESPACE = "/api/v1/namespaces/default";
const CSR = "/apis/certificates.k8s.io/v1/certificatesigningrequests/x";

test.each([
  ["GET", `${NAMESPACE}/finalize`],
  ["PATCH", `${NAMESPACE}/finalize`],
  ["POST", `${NAMESPACE}/finalize`],
  ["DELETE", `${NAMESPACE}/finalize`],
  ["POST", `${NAMESPACE}/status`],
  ["DELETE", `${NAMESPACE}/status`],
  ["POST", `${CSR}/approval`],
  ["DELETE", `${CSR}/approval`],
  ["DELETE", `${CSR}/status`],
])("has no route for %s %s, and looks for no object (R-08)", async (method, path) => {
  const headers = { Authorization: "Bearer admin-token", Accept: "application/json" };
  expect((await api.server.client.send({ method, path, headers })).json).toMatchObject({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });
});

test("treats any text except false and 0 as true (R-13)", async () => {
  await api.post(KEYS, key("r13"));
  const watch = await api.watch(`${KEYS}?watch=maybe&fieldSelector=metadata.name%3Dr13`);
  expect(JSON.parse((await watch.lines(1))[0] ?? "").type).toBe("ADDED");
  watch.close();
  expect((await api.get(`${KEYS}?watch=0`)).json.kind).toBe("OwnedAccessKeyList");
});

test.each(["limit", "timeoutSeconds"])("refuses a %s that is no number (R-14)", async (name) => {
  expect((await api.get(`${KEYS}?${name}=x`)).json).toMatchObject({
    code: 400,
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  });
});

test.each([
  ["bad", 'time: invalid duration "bad"'],
  ["10", 'time: missing unit in duration "10"'],
])("refuses the timeout %s (R-16)", async (timeout, why) => {
  expect((await api.get(`${KEYS}?timeout=${timeout}`)).json.message).toBe(
    `invalid timeout specified in the request URL - ${why}`,
  );
});

test("lists what it takes to a body of another type (N-02)", async () => {
  expect((await api.post(KEYS, "x", { contentType: "text/yaml" })).json).toMatchObject({
    code: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, " +
      "application/vnd.kubernetes.protobuf",
  });
});

test("refuses clients that accept none of its formats, and honours q (N-05)", async () => {
  const accept = (value: string) => api.get(KEYS, { headers: { Accept: value } });
  expect((await accept("text/html")).json).toMatchObject({ code: 406, reason: "NotAcceptable" });
  expect((await accept("application/json;q=0.1, application/yaml")).headers["content-type"]).toBe("application/yaml");
});

test("answers in JSON if protobuf is preferred but not required, and the kind has none (N-06)", async () => {
  const { status, headers } = await api.get(KEYS, {
    headers: { Accept: "application/vnd.kubernetes.protobuf, application/json" },
  });
  expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "application/json" });
});

test("prints for people when they ask, or when their tool is known to print (N-10)", async () => {
  expect((await api.get(`${KEYS}?pretty=1`)).text).toMatch(/^\{\n {2}"/);
  expect((await api.get(KEYS, { headers: { "User-Agent": "curl/8" } })).text).toMatch(/^\{\n {2}"/);
  expect((await api.get(KEYS)).text).toMatch(/^\{"kind".*\}\n$/);
});

test("answers 401 to a wrong token on every path, and treats no token as anonymous (A-01)", async () => {
  const wrong = { headers: { Authorization: "Bearer wrong" } };
  expect((await api.get("/healthz", wrong)).json).toMatchObject({
    code: 401,
    reason: "Unauthorized",
    message: "Unauthorized",
  });
  expect((await api.get(KEYS, { as: "" })).json.message).toContain('User "system:anonymous" cannot list resource');
});

test("answers a review with 201 (Z-02)", async () => {
  const spec = { resourceAttributes: { verb: "list", group: GROUP, resource: "ownedaccesskeys" } };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect(await api.post(path, review, { as: "alice" })).toMatchObject({
    status: 201,
    json: { status: { allowed: false } },
  });
  expect((await api.post(path, review)).json.status.allowed).toBe(true);
});

test("names user, verb, resource and namespace in refusals (Z-04)", async () => {
  expect((await api.get(`${WIDGETS}/x`, { as: "alice" })).json).toMatchObject({
    code: 403,
    reason: "Forbidden",
    message: `widgets.${GROUP} "x" is forbidden: User "alice" cannot get resource "widgets" in API group "${GROUP}" in the namespace "default"`,
    details: { name: "x", group: GROUP, kind: "widgets" },
  });
  expect((await api.get("/metrics", { as: "alice" })).json.message).toBe(
    'forbidden: User "alice" cannot get path "/metrics"',
  );
});

test("refuses before it says whether something exists (Z-09)", async () => {
  expect((await api.get(`${KEYS}/absent`, { as: "alice" })).status).toBe(403);
});

test("needs the right to impersonate, and then acts as the other (I-01)", async () => {
  const as = (name: string) => ({ headers: { "Impersonate-User": name } });
  expect((await api.get(KEYS, { as: "alice", ...as("admin") })).json.message).toContain(
    'User "alice" cannot impersonate-on:user-info:list resource',
  );
  expect((await api.get(KEYS, as("bob"))).json.message).toContain('User "bob" cannot list resource');
});

test.each([
  ["PUT to a collection", "PUT", "/api/v1/namespaces/default/configmaps", 405],
  ["POST to a name", "POST", "/api/v1/namespaces/default/configmaps/x", 405],
  ["POST outside of a namespace", "POST", "/api/v1/configmaps", 405],
  ["HEAD", "HEAD", "/api/v1/namespaces/default/configmaps", 405],
])("answers 405 for what a built-in kind has no route for: %s (R-01)", async (_what, method, path, status) => {
  expect((await send(method, path)).status).toBe(status);
});
