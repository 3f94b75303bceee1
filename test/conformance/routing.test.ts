// Meaning of paths, methods and query parameters.

import { expect, test } from "vitest";
import { API, GROUP, KEYS, key, parseEvents, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const send = (method: string, path: string) =>
  api.server.client.send({
    method,
    path,
    headers: { Authorization: "Bearer admin-token", Accept: "application/json" },
  });
const NOT_ALLOWED = "the server does not allow this method on the requested resource";

test.each(["FOO", "LIST", "PROPFIND"])("answers %s in the words of the resource (R-09)", async (method) => {
  const { json, headers } = await send(method, KEYS);
  expect(json).toMatchObject({
    code: 405,
    reason: "MethodNotAllowed",
    message: ` is not supported on resources of kind "ownedaccesskeys.${GROUP}"`,
    details: { group: GROUP, kind: "ownedaccesskeys" },
  });
  expect(headers).not.toHaveProperty("allow");
  expect(headers["audit-id"]).toBeDefined();
});

test("answers the older proxy path in the words of the resource (R-08)", async () => {
  expect((await send("GET", `${API}/proxy/ownedaccesskeys/x`)).json).toMatchObject({
    code: 405,
    message: `proxy is not supported on resources of kind "ownedaccesskeys.${GROUP}"`,
  });
});

test("authenticates requests with an unknown method as usual (R-09)", async () => {
  const { json } = await api.server.client.send({ method: "FOO", path: KEYS });
  expect(json).toMatchObject({ code: 403, reason: "Forbidden" });
});

test("says nothing of a watch on an object, and whatever is not false makes one of a list (R-11)", async () => {
  await api.post(KEYS, key("r11"));
  expect((await api.get(`${KEYS}/r11?watch=true`)).json.kind).toBe("OwnedAccessKey");
  expect((await api.get(`${KEYS}/absent?watch=true`)).status).toBe(404);
  const name = "fieldSelector=metadata.name%3Dr11";
  for (const value of ["true", "1", "yes", "TRUE", ""]) {
    const watch = await api.watch(`${KEYS}?watch=${value}&${name}`);
    expect(parseEvents(await watch.lines(1))[0].type, value).toBe("ADDED");
    watch.close();
  }
  for (const value of ["false", "0", "False", "FALSE"]) {
    expect((await api.get(`${KEYS}?watch=${value}&${name}`)).json.kind, value).toBe("OwnedAccessKeyList");
  }
});

test("passes over unknown parameters, and takes the first of a repeated one (R-15)", async () => {
  for (const name of ["r15-a", "r15-b"]) await api.post(KEYS, key(name, {}, { labels: { case: "r15" } }));
  const list = async (query: string) => (await api.get(`${KEYS}?labelSelector=case%3Dr15&${query}`)).json.items.length;
  expect(await list("nosuch=1&=&x")).toBe(2);
  expect(await list("limit=1&limit=2")).toBe(1);
  expect(await list("limit=1&limit=x")).toBe(1);
  expect((await api.post(`${KEYS}?dryRun=All&dryRun=All&dryRun`, key("r15"))).status).toBe(422);
});

test.each([
  ["get", "GET", `${KEYS}/x`, 'cannot get resource "ownedaccesskeys"'],
  ["get for HEAD", "HEAD", `${KEYS}/x`, ""],
  ["list", "GET", KEYS, 'cannot list resource "ownedaccesskeys"'],
  ["watch", "GET", `${KEYS}?watch=1`, 'cannot watch resource "ownedaccesskeys"'],
  ["watch by the older path", "GET", `${API}/watch/ownedaccesskeys`, 'cannot watch resource "ownedaccesskeys"'],
  ["create", "POST", KEYS, 'cannot create resource "ownedaccesskeys"'],
  ["update", "PUT", `${KEYS}/x`, 'cannot update resource "ownedaccesskeys"'],
  ["patch", "PATCH", `${KEYS}/x`, 'cannot patch resource "ownedaccesskeys"'],
  ["delete", "DELETE", `${KEYS}/x`, 'cannot delete resource "ownedaccesskeys"'],
  ["deletecollection", "DELETE", KEYS, 'cannot deletecollection resource "ownedaccesskeys"'],
  ["update of a part", "PUT", `${KEYS}/x/status`, 'cannot update resource "ownedaccesskeys/status"'],
  ["get for a path", "GET", "/metrics", 'cannot get path "/metrics"'],
])("authorizes %s by its verb (R-17)", async (_what, method, path, text) => {
  const headers = { Authorization: "Bearer alice-token" };
  const { status, json, text: body } = await api.server.client.send({ method, path, headers });
  expect(status).toBe(403);
  if (method === "HEAD") expect(body).toBe("");
  else expect(json).toMatchObject({ message: expect.stringContaining(text) });
});

test("authorizes a list by metadata.name as one of that name (R-17)", async () => {
  const { json } = await api.get(`${KEYS}?fieldSelector=metadata.name%3Dmine`, { as: "alice" });
  expect(json).toMatchObject({ code: 403, details: { name: "mine" } });
  expect(
    (await api.get(`${KEYS}?fieldSelector=metadata.name!%3Dmine`, { as: "alice" })).json.details,
  ).not.toHaveProperty("name");
});

test.each([
  ["/", "POST", 200],
  ["/apis", "POST", 200],
  [API, "DELETE", 200],
  [`/apis/${GROUP}`, "PUT", 200],
  ["/healthz", "POST", 200],
  ["/api", "POST", 405],
  ["/api/v1", "DELETE", 405],
  ["/apis/rbac.authorization.k8s.io/v1", "PUT", 405],
  ["/version", "PUT", 405],
  ["/version", "HEAD", 405],
])("answers at %s to %s with %i (R-18)", async (path, method, status) => {
  const answer = await send(method, path);
  expect(answer.status).toBe(status);
  if (status === 405 && method !== "HEAD") expect(answer.json).toMatchObject({ message: NOT_ALLOWED, details: {} });
});

test("lists the paths in order, for people, whatever they read (R-18)", async () => {
  for (const path of ["/", "/index.html"]) {
    const { json, text, headers } = await api.get(path, { headers: { Accept: "text/html" } });
    expect(headers["content-type"]).toBe("application/json");
    expect(text).toMatch(/^\{\n {2}"paths": \[\n {4}"\/api",\n/);
    expect(json.paths).toEqual([...json.paths].sort());
    expect(json.paths).toEqual(
      expect.arrayContaining(["/apis", API, "/healthz", "/metrics", "/openapi/v3", "/version"]),
    );
  }
  for (const path of ["//", "/nosuch", "/openapi/v2/", "/openapi/v3/", "/healthz/"]) {
    expect((await api.get(path)).status, path).toBe(404);
  }
});

test("answers 201 to creations, also dry ones, and to reviews, and 200 to the rest (R-19)", async () => {
  expect((await api.post(`${KEYS}?dryRun=All`, key("r19"))).status).toBe(201);
  const created = await api.post(KEYS, key("r19"));
  expect(created.status).toBe(201);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  expect((await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)).status).toBe(201);
  expect((await api.put(`${KEYS}/r19`, created.json)).status).toBe(200);
  expect((await api.delete(`${KEYS}?labelSelector=none%3Dx`)).status).toBe(200);
  expect((await api.delete(`${KEYS}/r19`)).status).toBe(200);
});

test("answers 202 only where orphanDependents=false has to wait (R-19)", async () => {
  for (const [name, options, status] of [
    ["r19-a", { orphanDependents: false }, 202],
    ["r19-b", { propagationPolicy: "Background" }, 200],
    ["r19-c", { orphanDependents: true }, 200],
  ] as const) {
    await api.post(WIDGETS, widget(name, { size: 1 }, { finalizers: ["example.com/a"] }));
    expect((await api.delete(`${WIDGETS}/${name}`, options)).status, name).toBe(status);
  }
  await api.post(WIDGETS, widget("r19-d"));
  expect((await api.delete(`${WIDGETS}/r19-d`, { orphanDependents: false })).status).toBe(200);
});
