// Dry runs, field validation, schema errors and defaults.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { JSON_PATCH, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();

test("stores nothing of a dry run, through the main resource or status (Y-01)", async () => {
  const old = (await api.post(KEYS, key("y01"))).json;
  const runs = [
    await api.put(`${KEYS}/y01?dryRun=All`, { ...old, spec: { user: "x" } }),
    await api.patch(`${KEYS}/y01?dryRun=All`, MERGE_PATCH, { spec: { user: "x" } }),
    await api.patch(`${KEYS}/y01/status?dryRun=All`, MERGE_PATCH, { status: { lastActivity: "2020-01-01T00:00:00Z" } }),
    await api.delete(`${KEYS}/y01?dryRun=All`),
    await api.delete(`${KEYS}?dryRun=All`),
  ];
  expect(runs.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect((await api.get(`${KEYS}/y01`)).json).toEqual(old);
});

test.each(["all", "None", "", "true"])("refuses the dryRun %j (Y-02)", async (value) => {
  expect((await api.post(`${KEYS}?dryRun=${value}`, key("y02"))).json).toMatchObject({
    code: 422,
    message: `CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [${JSON.stringify(value)}]: supported values: "All"`,
  });
});

test("shows the old version and the next generation of a dry update (Y-03)", async () => {
  const { metadata } = (await api.post(KEYS, key("y03"))).json;
  const { json } = await api.patch(`${KEYS}/y03?dryRun=All`, MERGE_PATCH, { spec: { user: "x" } });
  expect(json.metadata).toMatchObject({ resourceVersion: metadata.resourceVersion, generation: 2 });
});

test("fails as the real thing would (Y-04)", async () => {
  const { metadata } = (await api.post(KEYS, key("y04"))).json;
  expect((await api.post(`${KEYS}?dryRun=All`, key("y04"))).status).toBe(409);
  expect((await api.patch(`${KEYS}/absent?dryRun=All`, MERGE_PATCH, {})).status).toBe(404);
  const stale = { ...key("y04"), metadata: { ...metadata, resourceVersion: "1" } };
  expect((await api.put(`${KEYS}/y04?dryRun=All`, stale)).status).toBe(409);
  expect((await api.patch(`${KEYS}/y04?dryRun=All`, MERGE_PATCH, { spec: { type: "x" } })).status).toBe(422);
});

test("refuses an unknown directive (F-01)", async () => {
  expect((await api.post(`${KEYS}?fieldValidation=Bogus`, key("f01"))).json.message).toBe(
    'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn"',
  );
});

const ODD =
  '{"metadata":{"name":"f02","odd":1},"spec":{"user":"a","user":"b","bogus":1,"scope":{"projects":[{"project":"p","x":1}]}},"extra":1}';
const FAULTS = [
  'duplicate field "spec.user"',
  'unknown field "metadata.odd"',
  'unknown field "extra"',
  'unknown field "spec.bogus"',
  'unknown field "spec.scope.projects[0].x"',
];

test("warns of unknown and repeated fields, and drops them (F-02)", async () => {
  const { status, json, warnings } = await api.post(`${KEYS}?dryRun=All`, ODD);
  expect(status).toBe(201);
  expect(warnings).toEqual(FAULTS.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`));
  expect(json.spec).toEqual({ user: "b", scope: { projects: [{ project: "p" }] } });
});

test("refuses them when asked to be strict (F-03)", async () => {
  const { json } = await api.post(`${KEYS}?fieldValidation=Strict`, ODD);
  expect(json).toMatchObject({
    code: 400,
    message: `OwnedAccessKey in version "v1" cannot be handled as a OwnedAccessKey: strict decoding error: ${FAULTS.join(", ")}`,
  });
});

test("refuses them in a patch with 422 (F-03)", async () => {
  await api.post(KEYS, key("f03"));
  const { json } = await api.patch(`${KEYS}/f03?fieldValidation=Strict`, MERGE_PATCH, { spec: { bogus: 1 } });
  expect(json).toMatchObject({
    code: 422,
    message: expect.stringContaining('strict decoding error: unknown field "spec.bogus"'),
  });
});

test("names the line of what YAML repeats (F-04)", async () => {
  const yaml = "metadata:\n  name: f04\nspec:\n  user: a\n  user: b\n";
  const { warnings } = await api.post(`${KEYS}?dryRun=All`, yaml, { contentType: "application/yaml" });
  expect(warnings).toEqual(['299 - "line 5: key \\"user\\" already set in map"']);
});

test("warns of odd members of a JSON patch (F-05)", async () => {
  await api.post(KEYS, key("f05"));
  const patch = '[{"op":"test","op":"test","path":"/kind","value":"OwnedAccessKey","foo":1}]';
  const { warnings } = await api.patch(`${KEYS}/f05`, JSON_PATCH, patch);
  expect(warnings).toEqual([
    '299 - "json patch duplicate field \\"[0].op\\""',
    '299 - "json patch unknown field \\"[0].foo\\""',
  ]);
});

test.each<[JsonObject, string]>([
  [{ size: "x" }, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'],
  [{ size: 1.5 }, 'spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"'],
  [{ size: 11 }, "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"],
  [{ size: 1, color: "abcdefg" }, "spec.color: Too long: may not be more than 5 bytes"],
  [{ size: 1, color: "ABC" }, "spec.color: Invalid value: \"ABC\": spec.color in body should match '^[a-z]+$'"],
  [{ size: 1, mode: "Z" }, 'spec.mode: Unsupported value: "Z": supported values: "A", "B"'],
  [{ color: "red" }, "spec.size: Required value"],
  [{ size: 1, ports: [1, 2, 3, 4].map((port) => ({ port })) }, "spec.ports: Too many: 4: must have at most 3 items"],
])("names what the schema does not allow: %j (F-07)", async (spec, text) => {
  const { json } = await api.post(`${WIDGETS}?dryRun=All`, widget("f07", spec));
  expect(json.code).toBe(422);
  expect(json.message).toContain(text);
});

test("says that rules were not checked on an object that is wrong already (F-08)", async () => {
  const { json } = await api.post(`${WIDGETS}?dryRun=All`, widget("f08", { size: 1, mode: "Z" }));
  expect(json.details.causes).toContainEqual({
    reason: "FieldValueInvalid",
    message:
      "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    field: "<nil>",
  });
});

test("gives the message of a rule that is broken (F-09)", async () => {
  expect((await api.post(WIDGETS, widget("f09", { size: 1, mode: "B" }))).json.message).toBe(
    'Widget.management.example.com "f09" is invalid: spec: Invalid value: mode B needs size above 5',
  );
});

test("fills in defaults on create, on update and in place of null (F-10)", async () => {
  const { json } = await api.post(WIDGETS, widget("f10", { size: 1, color: null }));
  expect(json.spec.color).toBe("red");
  expect((await api.patch(`${WIDGETS}/f10`, MERGE_PATCH, { spec: { color: null } })).json.spec.color).toBe("red");
});

test("accepts 1.0 as an integer, and either for int-or-string (F-11)", async () => {
  expect(
    (await api.post(`${WIDGETS}?dryRun=All`, '{"metadata":{"name":"f11"},"spec":{"size":1.0}}')).json.spec.size,
  ).toBe(1);
  for (const ios of [5, "50%"]) {
    expect((await api.post(`${WIDGETS}?dryRun=All`, widget("f11", { size: 1, ios }))).status).toBe(201);
  }
});

test("refuses JSON that nests too deep (F-13)", async () => {
  const { json } = await api.post(KEYS, `{"spec":${"[".repeat(10_001)}${"]".repeat(10_001)}}`);
  expect(json).toMatchObject({ code: 400, message: expect.stringContaining("exceeded max depth") });
});

test("reads YAML 1.1 (N-03)", async () => {
  const yaml = "metadata: {name: n03}\nspec: {size: 010, free: {a: yes, b: 1_000, c: 0x10}}\n";
  const { json } = await api.post(`${WIDGETS}?dryRun=All`, yaml, { contentType: "application/yaml" });
  expect(json.spec).toMatchObject({ size: 8, free: { a: true, b: 1000, c: 16 } });
});

test("keeps integers of 64 bits exactly (N-13)", async () => {
  const body = '{"metadata":{"name":"n13"},"spec":{"size":1,"free":{"n":9007199254740993}}}';
  expect((await api.post(`${WIDGETS}?dryRun=All`, body)).text).toContain('"n":9007199254740993');
});

test("bounds bodies and annotations (X-01)", async () => {
  expect((await api.post(KEYS, `{"a":"${"x".repeat(3_145_728)}"}`)).json).toMatchObject({
    code: 413,
    message: "Request entity too large: limit is 3145728",
  });
  const annotated = (length: number) =>
    api.post(`${KEYS}?dryRun=All`, key("x01", {}, { annotations: { a: "x".repeat(length) } }));
  expect((await annotated(262_143)).status).toBe(201);
  expect((await annotated(262_144)).json.message).toContain(
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  );
});
