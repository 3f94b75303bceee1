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

test.each(["PUT", "PATCH"])("R-01 needs a name for a %s", async (method) => {
  expect((await send(method, KEYS)).json).toMatchObject({ code: 400, message: "name must be provided" });
});

test("R-02 answers 201 to a creation and 200 to what follows", async () => {
  expect((await api.post(KEYS, key("r02"))).status).toBe(201);
  expect((await api.get(`${KEYS}/r02`)).status).toBe(200);
  expect((await api.delete(`${KEYS}/r02`)).status).toBe(200);
});

test.each([
  ["R-03 lists across namespaces", "GET", `${API}/widgets`, 200],
  ["R-03 creates in a namespace only", "POST", `${API}/widgets`, 404],
  ["R-04 has no cluster-scoped resource in a namespace", "GET", `${API}/namespaces/default/ownedaccesskeys`, 404],
  ["R-04 has no namespaced object outside of one", "GET", `${API}/widgets/x`, 404],
  ["R-05 takes one slash at the end", "GET", `${KEYS}/`, 200],
  ["R-05 takes no empty segment", "GET", `${API}//ownedaccesskeys`, 404],
  ["R-05 reads an empty namespace as all of them", "GET", `${API}/namespaces//widgets`, 200],
  ["R-06 knows no short names", "GET", `${API}/oak`, 404],
  ["R-06 tells upper from lower case", "GET", `${API}/OwnedAccessKeys`, 404],
  ["R-09 refuses OPTIONS", "OPTIONS", KEYS, 405],
  ["R-09 answers HEAD as GET without a body", "HEAD", KEYS, 200],
  ["R-10 takes .. for a name that no object can have", "GET", `${KEYS}/..`, 400],
  ["R-18 serves discovery to a POST", "POST", "/apis", 200],
  ["R-18 serves the version to a GET only", "POST", "/version", 405],
])("%s", async (_name, method, path, status) => {
  expect((await send(method, path)).status).toBe(status);
});

test("R-07 answers with a Status below a group that is served, with text elsewhere", async () => {
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

test("R-08 names the verb that a subresource does not serve", async () => {
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
])("R-08 has no route for %s %s, and looks for no object", async (method, path) => {
  const headers = { Authorization: "Bearer admin-token", Accept: "application/json" };
  expect((await api.server.client.send({ method, path, headers })).json).toMatchObject({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });
});

test("R-13 takes any text but false and 0 for true", async () => {
  await api.post(KEYS, key("r13"));
  const watch = await api.watch(`${KEYS}?watch=maybe&fieldSelector=metadata.name%3Dr13`);
  expect(JSON.parse((await watch.lines(1))[0] ?? "").type).toBe("ADDED");
  watch.close();
  expect((await api.get(`${KEYS}?watch=0`)).json.kind).toBe("OwnedAccessKeyList");
});

test.each(["limit", "timeoutSeconds"])("R-14 refuses a %s that is no number", async (name) => {
  expect((await api.get(`${KEYS}?${name}=x`)).json).toMatchObject({
    code: 400,
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  });
});

test.each([
  ["bad", 'time: invalid duration "bad"'],
  ["10", 'time: missing unit in duration "10"'],
])("R-16 refuses the timeout %s", async (timeout, why) => {
  expect((await api.get(`${KEYS}?timeout=${timeout}`)).json.message).toBe(
    `invalid timeout specified in the request URL - ${why}`,
  );
});

test("N-02 lists what it takes to a body of another type", async () => {
  expect((await api.post(KEYS, "x", { contentType: "text/yaml" })).json).toMatchObject({
    code: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, " +
      "application/vnd.kubernetes.protobuf",
  });
});

test("N-05 refuses who takes nothing it writes, and honours q", async () => {
  const accept = (value: string) => api.get(KEYS, { headers: { Accept: value } });
  expect((await accept("text/html")).json).toMatchObject({ code: 406, reason: "NotAcceptable" });
  expect((await accept("application/json;q=0.1, application/yaml")).headers["content-type"]).toBe("application/yaml");
});

test("N-06 answers in JSON to those who would rather have protobuf", async () => {
  const { status, headers } = await api.get(KEYS, {
    headers: { Accept: "application/vnd.kubernetes.protobuf, application/json" },
  });
  expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "application/json" });
});

test("N-10 prints for people when they ask, or when their tool is known to print", async () => {
  expect((await api.get(`${KEYS}?pretty=1`)).text).toMatch(/^\{\n {2}"/);
  expect((await api.get(KEYS, { headers: { "User-Agent": "curl/8" } })).text).toMatch(/^\{\n {2}"/);
  expect((await api.get(KEYS)).text).toMatch(/^\{"kind".*\}\n$/);
});

test("A-01 answers 401 to a wrong token on every path, and takes no token for nobody", async () => {
  const wrong = { headers: { Authorization: "Bearer wrong" } };
  expect((await api.get("/healthz", wrong)).json).toMatchObject({
    code: 401,
    reason: "Unauthorized",
    message: "Unauthorized",
  });
  expect((await api.get(KEYS, { as: "" })).json.message).toContain('User "system:anonymous" cannot list resource');
});

test("Z-02 answers a review with 201", async () => {
  const spec = { resourceAttributes: { verb: "list", group: GROUP, resource: "ownedaccesskeys" } };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect(await api.post(path, review, { as: "alice" })).toMatchObject({
    status: 201,
    json: { status: { allowed: false } },
  });
  expect((await api.post(path, review)).json.status.allowed).toBe(true);
});

test("Z-04 says who may not do what, and where", async () => {
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

test("Z-09 refuses before it says whether something exists", async () => {
  expect((await api.get(`${KEYS}/absent`, { as: "alice" })).status).toBe(403);
});

test("I-01 needs the right to impersonate, and then acts as the other", async () => {
  const as = (name: string) => ({ headers: { "Impersonate-User": name } });
  expect((await api.get(KEYS, { as: "alice", ...as("admin") })).json.message).toBe(
    'users "admin" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
  );
  expect((await api.get(KEYS, as("bob"))).json.message).toContain('User "bob" cannot list resource');
});

test.each([
  ["PUT to a collection", "PUT", "/api/v1/namespaces/default/configmaps", 405],
  ["POST to a name", "POST", "/api/v1/namespaces/default/configmaps/x", 405],
  ["POST outside of a namespace", "POST", "/api/v1/configmaps", 405],
  ["HEAD", "HEAD", "/api/v1/namespaces/default/configmaps", 405],
])("R-01 answers 405 for what a built-in kind has no route for: %s", async (_what, method, path, status) => {
  expect((await send(method, path)).status).toBe(status);
});
