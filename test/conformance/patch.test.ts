// JSON patches and merge patches: what they make of an object, and how they fail.

import { expect, test } from "vitest";
import { APPLY_PATCH, JSON_PATCH, KEYS, key, MERGE_PATCH, useServer, WIDGETS } from "./testing/api.ts";

const api = useServer();
const create = async (name: string) => (await api.post(KEYS, key(name, { user: "u1" }))).json;
const ACCEPTED = `${JSON_PATCH}, ${MERGE_PATCH}, application/apply-patch+yaml`;

test.each(["application/json", "application/strategic-merge-patch+json", "text/plain", ""])(
  "answers 415 to a patch of the type %j, with what it takes (P-01)",
  async (contentType) => {
    const { json } = await api.patch(`${KEYS}/p01`, contentType, {});
    expect(json).toMatchObject({
      code: 415,
      reason: "UnsupportedMediaType",
      message: `the body of the request was in an unknown format - accepted media types include: ${ACCEPTED}`,
    });
  },
);

test.each([
  ["application/merge-patch+json; charset=utf-8", 200],
  ["application/merge-patch+json;x", 200],
  ["Application/Merge-Patch+JSON", 415],
  ["application/merge-patch+json ;charset=utf-8", 415],
])("compares the type of a patch exactly: %s (P-01)", async (contentType, status) => {
  await create("p01b");
  expect((await api.patch(`${KEYS}/p01b`, contentType, {})).status).toBe(status);
});

test("answers 404 for an object that is not there (P-02)", async () => {
  expect((await api.patch(`${KEYS}/p02`, MERGE_PATCH, {})).status).toBe(404);
  expect((await api.patch(`${KEYS}/p02`, JSON_PATCH, [])).status).toBe(404);
});

test.each([
  [MERGE_PATCH, KEYS, ""],
  [JSON_PATCH, KEYS, ""],
  [MERGE_PATCH, WIDGETS, "/scale"],
  [APPLY_PATCH, KEYS, "/status"],
])("misses an object before it reads a patch of the type %s below %s/x%s (P-02)", async (type, path, subresource) => {
  const { json } = await api.patch(`${path}/p02${subresource}?fieldManager=m`, type, "{");
  expect(json).toMatchObject({ code: 404, reason: "NotFound" });
});

test.each([
  [JSON_PATCH, "{", 400, "unexpected end of JSON input"],
  [JSON_PATCH, "{}", 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"],
  [JSON_PATCH, "[1]", 400, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"],
  [JSON_PATCH, '[{"op":1}]', 422, "the server rejected our request due to an error in our request"],
  [JSON_PATCH, '[{"op":"add","path":1}]', 422, "the server rejected our request due to an error in our request"],
  [MERGE_PATCH, "{", 400, "Invalid JSON Patch"],
  [MERGE_PATCH, '"x"', 400, "Invalid JSON Patch"],
  [MERGE_PATCH, "null", 400, "Invalid JSON Patch"],
])("answers for %s of %j in other words if strict errors are ignored (P-04)", async (type, patch, code, message) => {
  await create("p04-loose");
  const { json } = await api.patch(`${KEYS}/p04-loose?fieldValidation=Ignore`, type, patch);
  expect(json).toMatchObject({ code, message });
});

test("lets a merge patch that is a list replace the object if strict errors are ignored (P-04)", async () => {
  await create("p04-list");
  const { json } = await api.patch(`${KEYS}/p04-list?fieldValidation=Ignore`, MERGE_PATCH, '[{"a":null}]');
  expect(json).toMatchObject({ code: 422, details: { causes: [{ field: "patch" }] } });
  expect(json.message).toContain(`patch: Invalid value: "[{}]": couldn't get version/kind`);
});

test.each([
  ["a failed test", { op: "test", path: "/spec/user", value: "no" }],
  ["an unknown operation", { op: "bogus", path: "/spec/user" }],
  ["a missing member", { op: "remove", path: "/spec/none" }],
  ["a missing parent", { op: "add", path: "/a/b/c", value: 1 }],
  ["an empty path of an add", { op: "add", path: "", value: {} }],
])("answers 422 to a JSON patch with %s (P-03)", async (what, operation) => {
  const name = `p03-${what.replaceAll(" ", "-")}`;
  await create(name);
  const { json } = await api.patch(`${KEYS}/${name}`, JSON_PATCH, [operation]);
  expect(json).toMatchObject({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
  });
  expect(json.details).toEqual({});
});

test.each([
  [JSON_PATCH, "{}", "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"],
  [JSON_PATCH, "", "unexpected end of JSON input"],
  [MERGE_PATCH, "[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"],
])("answers 400 to a body that is no patch: %s %s (P-04)", async (type, body, text) => {
  await create("p04");
  expect((await api.patch(`${KEYS}/p04`, type, body)).json).toMatchObject({
    code: 400,
    message: `error decoding patch: ${text}`,
  });
});

test("reads JSON pointers as evanphx/json-patch does (P-05)", async () => {
  await create("p05");
  const patch = (operations: object[]) => api.patch(`${KEYS}/p05`, JSON_PATCH, operations as never);
  expect((await patch([{ op: "replace", path: "/spec/team", value: "t" }])).json.spec.team).toBe("t");
  await patch([{ op: "add", path: "/spec/groups", value: ["a", "b"] }]);
  expect((await patch([{ op: "replace", path: "/spec/groups/-1", value: "c" }])).json.spec.groups).toEqual(["a", "c"]);
});

test("takes 10000 operations and no more (P-06)", async () => {
  await create("p06");
  const operations = (count: number) =>
    Array.from({ length: count }, () => ({ op: "test", path: "/kind", value: "OwnedAccessKey" }));
  expect((await api.patch(`${KEYS}/p06`, JSON_PATCH, operations(10_000))).status).toBe(200);
  expect((await api.patch(`${KEYS}/p06`, JSON_PATCH, operations(10_001))).json).toMatchObject({
    code: 413,
    message: "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
  });
});

test("merges objects, replaces lists and deletes by null (P-07)", async () => {
  await api.post(KEYS, key("p07", { user: "u", groups: ["a", "b"], team: "t" }));
  const { json } = await api.patch(`${KEYS}/p07`, MERGE_PATCH, { spec: { groups: ["c"], team: null } });
  expect(json.spec).toEqual({ user: "u", groups: ["c"] });
  expect((await api.patch(`${KEYS}/p07`, MERGE_PATCH, "null")).json).toMatchObject({
    code: 400,
    message: "Invalid JSON Patch",
  });
});

test.each([
  ["the name", { metadata: { name: "other" } }, 400, "does not match the name on the URL"],
  ["all metadata", { metadata: null }, 400, "name must be provided"],
  ["the uid", { metadata: { uid: "x" } }, 422, 'metadata.uid: Invalid value: "x": field is immutable'],
  ["the kind", { kind: "Widget" }, 422, 'kind: Invalid value: "Widget": must be OwnedAccessKey'],
  ["the version", { apiVersion: "v9" }, 422, 'apiVersion: Invalid value: "v9": must be management.example.com/v1'],
])("lets no patch change %s (P-08)", async (what, patch, code, text) => {
  const name = `p08-${what.replaceAll(" ", "-")}`;
  await create(name);
  const { json } = await api.patch(`${KEYS}/${name}`, MERGE_PATCH, patch as never);
  expect(json.code).toBe(code);
  expect(json.message).toContain(text);
});

test.each([
  [{ kind: "Other" }, { group: "management.example.com", kind: "Other" }, "kind"],
  [{ apiVersion: "v9" }, { kind: "OwnedAccessKey" }, "apiVersion"],
])("refuses %j, and names the object by what it has become (P-08)", async (patch, named, field) => {
  await create("p08");
  const { status, json } = await api.patch(`${KEYS}/p08`, MERGE_PATCH, patch);
  const { causes, ...details } = json.details;
  expect({ status, details, fields: causes.map((cause: any) => cause.field) }).toEqual({
    status: 422,
    details: { ...named, name: "p08" },
    fields: [field],
  });
});

test.each([
  [{ apiVersion: 5 }, "json: cannot unmarshal number into Go struct field .apiVersion of type string"],
  [{ kind: {} }, "json: cannot unmarshal object into Go struct field .kind of type string"],
])("refuses %j as what cannot be read (P-08)", async (patch, why) => {
  await create("p08b");
  const { status, json } = await api.patch(`${KEYS}/p08b`, MERGE_PATCH, patch);
  expect({ status, field: json.details.causes[0].field }).toEqual({ status: 422, field: "patch" });
  expect(json.message).toContain(`couldn't get version/kind; json parse error: ${why}`);
});

test("answers 500 without a reason where a patch takes the apiVersion away, as upstream does (P-08)", async () => {
  await create("p08c");
  expect((await api.patch(`${KEYS}/p08c`, MERGE_PATCH, { apiVersion: null })).json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Object 'apiVersion' is missing in 'object has no apiVersion field'",
    code: 500,
  });
});

test("uses a resourceVersion in the patch as a precondition (P-09)", async () => {
  await create("p09");
  expect((await api.patch(`${KEYS}/p09`, MERGE_PATCH, { metadata: { resourceVersion: "1" } })).status).toBe(409);
});

test("never answers 409 to patches without a version, however many race (P-10)", async () => {
  await create("p10");
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_none, index) => {
      const patch = { metadata: { labels: { [`l${index}`]: "x" } } };
      return (await api.patch(`${KEYS}/p10`, MERGE_PATCH, patch)).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(Object.keys((await api.get(`${KEYS}/p10`)).json.metadata.labels)).toHaveLength(30);
});

test("keeps the version for a patch that changes nothing, or only what belongs to another subresource (P-11)", async () => {
  const { metadata } = await create("p11");
  for (const patch of [{}, { spec: { user: "u1" } }, { status: { lastActivity: "2020-01-01T00:00:00Z" } }]) {
    const { json } = await api.patch(`${KEYS}/p11`, MERGE_PATCH, patch);
    expect(json.metadata.resourceVersion).toBe(metadata.resourceVersion);
  }
});

test("refuses what is no object any more (P-12)", async () => {
  await create("p12");
  const { json } = await api.patch(`${KEYS}/p12`, JSON_PATCH, [{ op: "replace", path: "", value: {} }]);
  expect(json).toMatchObject({
    code: 422,
    message: ` "" is invalid: patch: Invalid value: "{}": Object 'Kind' is missing in '{}'`,
  });
});

test.each([
  [`fieldManager=${"a".repeat(129)}`, "fieldManager: Too long: may not be more than 128 bytes"],
  ["fieldManager=a%0Ab", 'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'],
  ["force=true", "force: Forbidden: may not be specified for non-apply patch"],
  ["dryRun=x", 'dryRun: Unsupported value: ["x"]: supported values: "All"'],
])("refuses the options %s (P-13)", async (query, text) => {
  expect((await api.patch(`${KEYS}/p13?${query}`, MERGE_PATCH, {})).json).toMatchObject({
    code: 422,
    message: `PatchOptions.meta.k8s.io "" is invalid: ${text}`,
  });
});

test("lets a JSON patch write managedFields (P-14)", async () => {
  const { metadata } = await create("p14");
  const managedFields = [{ ...metadata.managedFields[0], manager: "moved" }];
  const { json } = await api.patch(`${KEYS}/p14`, JSON_PATCH, [
    { op: "replace", path: "/metadata/managedFields", value: managedFields },
    { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
  ]);
  expect(json.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual(["moved"]);
});
