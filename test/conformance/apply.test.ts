// Server-side apply, and who is recorded as the owner of which field.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { APPLY_PATCH, JSON_PATCH, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const apply = (name: string, spec: JsonObject, query = "fieldManager=m1", meta: JsonObject = {}) =>
  api.patch(`${KEYS}/${name}?${query}`, APPLY_PATCH, key(name, spec, meta));
const TYPED_PATCH = (name: string) =>
  `failed to create typed patch object (/${name}; management.example.com/v1, Kind=OwnedAccessKey)`;

test("S-01 needs a field manager", async () => {
  expect((await apply("s01", {}, "")).json).toMatchObject({
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  });
});

test("S-02 creates what is absent, but not a status", async () => {
  expect((await apply("s02", { user: "a" })).status).toBe(201);
  expect((await api.patch(`${KEYS}/s02-absent/status?fieldManager=m`, APPLY_PATCH, key("s02-absent"))).status).toBe(
    404,
  );
});

test.each<[string, JsonObject | string, string]>([
  ["no kind", { metadata: { name: "s03" } }, "invalid object type: /, Kind="],
  ["another kind", { ...key("s03"), kind: "Widget" }, "invalid object type: management.example.com/v1, Kind=Widget"],
  ["another name", key("other"), "the name of the object (other) does not match the name on the URL (s03)"],
  ["managed fields", key("s03", {}, { managedFields: [{ manager: "x" }] }), "metadata.managedFields must be nil"],
  [
    "text that is no YAML",
    "a: b: c",
    "error decoding YAML: error converting YAML to JSON: yaml: line 1: mapping values are not allowed in this context",
  ],
])("S-03 refuses a configuration with %s", async (_what, body, message) => {
  const { json } = await api.patch(`${KEYS}/s03?fieldManager=m`, APPLY_PATCH, body);
  expect({ code: json.code, message: json.message }).toEqual({ code: 400, message });
});

test("S-04 changes nothing by the same configuration again", async () => {
  const first = await apply("s04", { user: "a" });
  const again = await apply("s04", { user: "a" });
  expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
});

test("S-05 removes what an applier alone owned and leaves out, and keeps what another owns too", async () => {
  await apply("s05", { user: "a", team: "t" });
  await apply("s05", { user: "a" }, "fieldManager=m2");
  const { json } = await apply("s05", { displayName: "d" });
  expect(json.spec).toEqual({ user: "a", displayName: "d" });
});

test("S-06 names the owner and the field of one conflict", async () => {
  await apply("s06", { user: "a" });
  expect((await apply("s06", { user: "b" }, "fieldManager=m2")).json).toMatchObject({
    code: 409,
    reason: "Conflict",
    message: 'Apply failed with 1 conflict: conflict with "m1": .spec.user',
    details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m1"', field: ".spec.user" }] },
  });
});

test("S-07 lists several conflicts by owner", async () => {
  await api.post(`${KEYS}?fieldManager=creator`, key("s07", { user: "u" }));
  await apply("s07", { team: "t" }, "fieldManager=second");
  const { json } = await apply("s07", { user: "x", team: "y" }, "fieldManager=third");
  expect(json.message).toBe(
    'Apply failed with 2 conflicts: conflicts with "creator" using management.example.com/v1:\n- .spec.user\n' +
      'conflicts with "second":\n- .spec.team',
  );
  expect(json.details).not.toHaveProperty("name");
});

test("S-08 takes the fields by force, and drops a manager that is left with nothing", async () => {
  await apply("s08", { user: "a" });
  const { json } = await apply("s08", { user: "b" }, "fieldManager=m2&force=true");
  expect(json.spec.user).toBe("b");
  expect(json.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual(["m2"]);
});

test("S-10 tracks maps themselves for updates only", async () => {
  const updated = (await api.post(KEYS, key("s10u", { user: "u" }))).json;
  const applied = (await apply("s10a", { user: "u" })).json;
  expect(updated.metadata.managedFields[0].fieldsV1).toEqual({ "f:spec": { ".": {}, "f:user": {} } });
  expect(applied.metadata.managedFields[0].fieldsV1).toEqual({ "f:spec": { "f:user": {} } });
});

test.each([
  ["kubectl/v1.32", "kubectl"],
  ["Mozilla/5.0 (X11)", "Mozilla"],
])("S-11 names a manager after the User-Agent %s", async (userAgent, manager) => {
  const { json } = await api.post(`${KEYS}?dryRun=All`, key("s11"), { headers: { "User-Agent": userAgent } });
  expect(json.metadata.managedFields[0].manager).toBe(manager);
});

test("S-13 merges the oldest of more than ten updaters", async () => {
  await api.post(`${KEYS}?fieldManager=u0`, key("s13"));
  for (let n = 1; n <= 11; n++) {
    await api.patch(`${KEYS}/s13?fieldManager=u${n}`, MERGE_PATCH, { metadata: { labels: { [`l${n}`]: "x" } } });
  }
  const { managedFields } = (await api.get(`${KEYS}/s13`)).json.metadata;
  const managers = managedFields.map(({ manager }: { manager: string }) => manager);
  expect(managers).toContain("ancient-changes");
  expect(managers).toHaveLength(10);
});

test("S-14 holds what was there before the first apply against it", async () => {
  await api.post(KEYS, key("s14", { user: "old" }));
  await api.patch(`${KEYS}/s14`, MERGE_PATCH, { metadata: { managedFields: [{}] } });
  expect((await apply("s14", { user: "new" })).json.message).toBe(
    'Apply failed with 1 conflict: conflict with "before-first-apply" using management.example.com/v1: .spec.user',
  );
});

test.each<[string, JsonObject, string]>([
  ["a repeated item of a set", { tags: ["x", "x"] }, '.spec.tags: duplicate entries for key [="x"]'],
  [
    "a repeated key of a list",
    { scope: { projects: [{ project: "a" }, { project: "a" }] } },
    '.spec.scope.projects: duplicate entries for key [project="a"]',
  ],
])("S-15 answers 500 to %s", async (_what, spec, fault) => {
  const { json } = await apply("s15", spec);
  expect({ code: json.code, message: json.message }).toEqual({ code: 500, message: `${TYPED_PATCH("s15")}: ${fault}` });
});

test.each<[string, JsonObject, string]>([
  ["an unknown field", { bogus: 1 }, ".spec.bogus: field not declared in schema"],
  ["a wrong type", { ttl: "s" }, ".spec.ttl: expected numeric (int or float), got string"],
])("S-16 answers 500 to %s, whatever fieldValidation says", async (_what, spec, fault) => {
  const { json } = await apply("s16", spec, "fieldManager=m&fieldValidation=Ignore");
  expect({ code: json.code, message: json.message }).toEqual({ code: 500, message: `${TYPED_PATCH("s16")}: ${fault}` });
});

test("S-17 merges labels one by one and finalizers as a set", async () => {
  await apply("s17", {}, "fieldManager=m1", { labels: { a: "1" }, finalizers: ["x.y/a"] });
  const { json } = await apply("s17", {}, "fieldManager=m2", { labels: { b: "2" }, finalizers: ["x.y/b"] });
  expect(json.metadata).toMatchObject({ labels: { a: "1", b: "2" }, finalizers: ["x.y/a", "x.y/b"] });
});

test("S-18 keeps main resource and status apart", async () => {
  await api.post(WIDGETS, widget("s18"));
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  const body = { ...widget("s18", { size: 9 }, { labels: { a: "b" } }), status };
  const { json } = await api.patch(`${WIDGETS}/s18/status?fieldManager=st`, APPLY_PATCH, body);
  expect({ spec: json.spec.size, labels: json.metadata.labels, status: json.status }).toEqual({
    spec: 1,
    labels: undefined,
    status,
  });
  const entry = json.metadata.managedFields.find(({ manager }: { manager: string }) => manager === "st");
  expect(entry).toMatchObject({ subresource: "status", fieldsV1: { "f:status": {} } });
  expect(Object.keys(entry.fieldsV1)).toEqual(["f:status"]);
});

test("S-19 takes a version for a lock, and refuses a uid of what is not there", async () => {
  expect((await apply("s19", { user: "a" }, "fieldManager=m1", { resourceVersion: "55" })).status).toBe(201);
  expect((await apply("s19", { user: "b" }, "fieldManager=m1", { resourceVersion: "1" })).status).toBe(409);
  expect((await apply("s19-absent", {}, "fieldManager=m1", { uid: "x" })).json).toMatchObject({
    code: 409,
    message: expect.stringContaining(
      "uid mismatch: the provided object specified uid x, and no existing object was found",
    ),
  });
});

test("S-20 makes dry runs of creations and changes", async () => {
  expect((await apply("s20", { user: "a" }, "fieldManager=m1&dryRun=All")).status).toBe(201);
  expect((await api.get(`${KEYS}/s20`)).status).toBe(404);
});

test("S-21 leaves null where a manager gives up the last field of an object that it still applies", async () => {
  await apply("s21", { user: "a" });
  expect((await apply("s21", {})).json).toMatchObject({
    code: 422,
    details: {
      causes: [{ field: "spec", message: 'Invalid value: "null": spec in body must be of type object: "null"' }],
    },
  });
});

test("K-08 moves from client-side to server-side apply as kubectl does", async () => {
  const lastApplied = JSON.stringify(key("k08", { user: "a", team: "t" }));
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": lastApplied };
  const created = await api.post(
    `${KEYS}?fieldManager=kubectl-client-side-apply`,
    key("k08", { user: "a", team: "t" }, { annotations }),
  );
  const [entry] = created.json.metadata.managedFields;
  await api.patch(`${KEYS}/k08`, JSON_PATCH, [
    { op: "replace", path: "/metadata/managedFields", value: [{ ...entry, manager: "kubectl", operation: "Apply" }] },
    { op: "replace", path: "/metadata/resourceVersion", value: created.json.metadata.resourceVersion },
  ]);
  const { status, json } = await apply("k08", { user: "b" }, "fieldManager=kubectl");
  expect({ status, spec: json.spec }).toEqual({ status: 200, spec: { user: "b" } });
});
