// Creating objects: what the server fills in, what it ignores, and what it refuses.

import { expect, test } from "vitest";
import { API, KEYS, key, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const DNS_1123 =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start";

test("answers 201 with what only the server knows (C-01)", async () => {
  const { status, json } = await api.post(KEYS, key("c01"));
  expect(status).toBe(201);
  expect(json.metadata).toMatchObject({
    uid: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
    resourceVersion: expect.stringMatching(/^\d+$/),
    generation: 1,
    creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    managedFields: [{ manager: "unknown", operation: "Update", fieldsType: "FieldsV1" }],
  });
});

test("drops what clients may not set, and owns nothing of it (C-02)", async () => {
  const sent = { uid: "x", generation: 9, selfLink: "s", deletionTimestamp: "2020-01-01T00:00:00Z" };
  const { json } = await api.post(KEYS, key("c02", { user: "u" }, { ...sent, deletionGracePeriodSeconds: 3 }));
  expect(json.metadata.uid).not.toBe("x");
  expect(json.metadata).toMatchObject({ generation: 1 });
  expect(json.metadata).not.toHaveProperty("deletionTimestamp");
  expect(json.metadata.managedFields[0].fieldsV1).toEqual({ "f:spec": { ".": {}, "f:user": {} } });
});

test.each([
  ["takes an empty resourceVersion (C-03)", "", 201],
  ["takes resourceVersion 0 (C-03)", "0", 201],
  ["refuses any other resourceVersion with a 500 without reason (C-03)", "5", 500],
])("%s", async (_name, resourceVersion, expected) => {
  const { status, json } = await api.post(KEYS, key(`c03-${resourceVersion || "none"}`, {}, { resourceVersion }));
  expect(status).toBe(expected);
  if (status !== 500) return;
  expect(json.message).toBe("resourceVersion should not be set on objects to be created");
  expect(json).not.toHaveProperty("reason");
});

test("drops the status of the body (C-04)", async () => {
  const body = { ...key("c04"), status: { lastActivity: "2020-01-01T00:00:00Z" } };
  expect((await api.post(KEYS, body)).json).not.toHaveProperty("status");
});

test("needs a name or a generateName (C-05)", async () => {
  const { status, json } = await api.post(KEYS, { ...key(""), metadata: {} });
  expect(status).toBe(422);
  expect(json.details.causes).toEqual([
    {
      reason: "FieldValueRequired",
      message: "Required value: name or generateName is required",
      field: "metadata.name",
    },
  ]);
});

test("clears the namespace of a cluster-scoped object, and refuses another one than the path's (C-06)", async () => {
  const cleared = await api.post(KEYS, key("c06", {}, { namespace: "other" }));
  expect(cleared.status).toBe(201);
  expect(cleared.json.metadata).not.toHaveProperty("namespace");
  expect((await api.post(WIDGETS, widget("c06"))).json.metadata.namespace).toBe("default");
  expect(await api.post(WIDGETS, widget("c06b", { size: 1 }, { namespace: "other" }))).toMatchObject({
    status: 400,
    json: { message: "the namespace of the provided object does not match the namespace sent on the request" },
  });
});

test("answers 404 for a namespace that is not there, before it looks at the object (C-07)", async () => {
  const { status, json } = await api.post(`${API}/namespaces/nowhere/widgets`, widget("Bad_", { size: 100 }));
  expect({ status, message: json.message, details: json.details }).toEqual({
    status: 404,
    message: 'namespaces "nowhere" not found',
    details: { name: "nowhere", kind: "namespaces" },
  });
});

test.each([
  ["upper case and underscores", "Bad_Name", DNS_1123],
  ["a slash", "a/b", DNS_1123],
  ["a trailing dash", "a-", DNS_1123],
  ["254 characters", "a".repeat(254), "must be no more than 253 characters"],
])("refuses a name with %s (C-08)", async (_what, name, text) => {
  const { status, json } = await api.post(KEYS, key(name));
  expect({ status, field: json.details.causes[0].field }).toEqual({ status: 422, field: "metadata.name" });
  expect(json.details.causes[0].message).toContain(text);
});

test("truncates generateName to 58 bytes and appends five letters (C-09)", async () => {
  const generateName = "x".repeat(70);
  const { json } = await api.post(KEYS, { ...key(""), metadata: { generateName } });
  expect(json.metadata.name).toMatch(/^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  expect(json.metadata.generateName).toBe(generateName);
});

test("names the generated name where generateName is invalid (C-10)", async () => {
  const { status, json } = await api.post(KEYS, { ...key(""), metadata: { generateName: "Bad_" } });
  expect(status).toBe(422);
  expect(json.message).toMatch(/^OwnedAccessKey\.management\.example\.com "Bad_\w{5}" is invalid/);
  const fields = json.details.causes.map(({ field }: { field: string }) => field);
  expect(fields).toEqual(["metadata.generateName", "metadata.name"]);
});

test("takes a generateName that ends in a dash, not one that ends in a dot (C-10)", async () => {
  const named = (generateName: string) => api.post(KEYS, { ...key(""), metadata: { generateName } });
  expect((await named("ok-")).status).toBe(201);
  expect((await named("ok.")).status).toBe(422);
});

test("prefers the name to generateName, and keeps both (C-11)", async () => {
  const { json } = await api.post(KEYS, key("c11", {}, { generateName: "other-" }));
  expect(json.metadata).toMatchObject({ name: "c11", generateName: "other-" });
});

test("runs everything but the write in a dry run (C-13)", async () => {
  const dry = await api.post(`${KEYS}?dryRun=All`, { ...key(""), metadata: { generateName: "c13-" } });
  expect(dry.status).toBe(201);
  expect(dry.json.metadata).toMatchObject({ name: expect.stringMatching(/^c13-/), uid: expect.any(String) });
  expect(dry.json.metadata).not.toHaveProperty("resourceVersion");
  await api.post(KEYS, key("c13"));
  expect((await api.post(`${KEYS}?dryRun=All`, key("c13"))).status).toBe(409);
});

test("drops nulls that the schema does not allow, keeps the others, and keeps empty values (C-14)", async () => {
  const spec = { size: 1, color: null, mode: null, nul: null, labels: {}, replicas: 0 };
  const { json } = await api.post(WIDGETS, widget("c14", spec));
  expect(json.spec).toEqual({ size: 1, color: "red", nul: null, labels: {}, replicas: 0 });
});

test("drops empty labels, annotations and finalizers (C-15)", async () => {
  const { json } = await api.post(KEYS, key("c15", {}, { labels: null, annotations: {}, finalizers: [] }));
  expect(Object.keys(json.metadata)).not.toEqual(expect.arrayContaining(["labels"]));
  expect(json.metadata).not.toHaveProperty("annotations");
  expect(json.metadata).not.toHaveProperty("finalizers");
});

test("takes an object without a spec where the schema requires none (C-16)", async () => {
  expect((await api.post(KEYS, { ...key("c16"), spec: null })).status).toBe(201);
});

test("authorizes before it reads the body (C-17)", async () => {
  expect((await api.post(KEYS, "not JSON", { as: "alice" })).status).toBe(403);
  expect((await api.post(KEYS, "not JSON", { headers: { Authorization: "Bearer wrong" } })).status).toBe(401);
});

test("lets exactly one of two racing creates of a name win (C-18)", async () => {
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await api.post(KEYS, key("c18"))).status));
  expect(statuses.toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
});

test("answers 409 AlreadyExists for a name that is taken (E-04)", async () => {
  await api.post(KEYS, key("e04"));
  const { json } = await api.post(KEYS, key("e04"));
  expect(json).toMatchObject({
    code: 409,
    reason: "AlreadyExists",
    message: 'ownedaccesskeys.management.example.com "e04" already exists',
    details: { name: "e04", group: "management.example.com", kind: "ownedaccesskeys" },
  });
});

test("refuses another apiVersion, and infers the kind and version of a body without them (E-11)", async () => {
  const { json } = await api.post(KEYS, { ...key("e11"), apiVersion: "management.example.com/v9" });
  expect(json.message).toBe(
    "the API version in the data (management.example.com/v9) does not match the expected API version (management.example.com/v1)",
  );
  expect((await api.post(`${KEYS}?dryRun=All`, { metadata: { name: "e11" } })).json.kind).toBe("OwnedAccessKey");
});

test("refuses another kind with 422 under that kind (E-12)", async () => {
  expect((await api.post(KEYS, { ...key("e12"), kind: "Widget" })).json.message).toBe(
    'Widget.management.example.com "e12" is invalid: kind: Invalid value: "Widget": must be OwnedAccessKey',
  );
});

test.each([
  ["{", "unexpected end of JSON input ({)"],
  ["", "unexpected end of JSON input (<empty>)"],
  ["abc", "invalid character 'a' looking for beginning of value (616263)"],
])("shows what it could not parse: %j (E-13)", async (body, text) => {
  expect((await api.post(KEYS, body)).json.message).toBe(
    `the object provided is unrecognized (must be of type OwnedAccessKey): couldn't get version/kind; json parse error: ${text}`,
  );
});

test("names the field of metadata that has a wrong type (E-14)", async () => {
  const { status, json } = await api.post(KEYS, key("e14", {}, { labels: { a: 1 } }));
  expect({ status, message: json.message }).toEqual({
    status: 400,
    message:
      'OwnedAccessKey in version "v1" cannot be handled as a OwnedAccessKey: json: cannot unmarshal number into Go struct field ' +
      "ObjectMeta.labels of type string",
  });
});
