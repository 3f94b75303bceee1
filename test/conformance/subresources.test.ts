// Status and scale, and the Table that every resource prints.

import { expect, test } from "vitest";
import { APPLY_PATCH, JSON_PATCH, KEYS, key, MERGE_PATCH, TABLE, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const scaleOf = (name: string) => `${WIDGETS}/${name}/scale`;
const scale = (name: string, replicas: number, meta = {}) => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name, ...meta },
  spec: { replicas },
});

test("writes only the status through /status, and answers with the whole object (B-01)", async () => {
  await api.post(WIDGETS, widget("b01"));
  const patch = { metadata: { labels: { a: "b" } }, spec: { size: 9 }, status: { phase: "Ready" } };
  const { status, json } = await api.patch(`${WIDGETS}/b01/status`, MERGE_PATCH, patch);
  expect({ status, size: json.spec.size, labels: json.metadata.labels, phase: json.status.phase }).toEqual({
    status: 200,
    size: 1,
    labels: undefined,
    phase: "Ready",
  });
});

test("keeps the generation for a change of status (B-02)", async () => {
  const { metadata } = (await api.post(WIDGETS, widget("b02"))).json;
  const { json } = await api.patch(`${WIDGETS}/b02/status`, MERGE_PATCH, { status: { phase: "x" } });
  expect(json.metadata.generation).toBe(metadata.generation);
  expect(json.metadata.resourceVersion).not.toBe(metadata.resourceVersion);
});

test("reads and writes replicas as a Scale (B-03)", async () => {
  await api.post(WIDGETS, widget("b03", { size: 1, replicas: 2 }));
  const { json } = await api.get(scaleOf("b03"));
  expect(json).toMatchObject({
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    spec: { replicas: 2 },
    status: { replicas: 0 },
  });
  expect((await api.put(scaleOf("b03"), { ...json, spec: { replicas: 5 } })).json.spec.replicas).toBe(5);
  expect((await api.put(scaleOf("b03"), { ...json, spec: { replicas: 6 } })).json.code).toBe(409);
  expect((await api.patch(scaleOf("b03"), MERGE_PATCH, { spec: { replicas: 7 } })).json.spec.replicas).toBe(7);
  const operations = [{ op: "replace", path: "/spec/replicas", value: 8 }];
  expect((await api.patch(scaleOf("b03"), JSON_PATCH, operations)).json.spec.replicas).toBe(8);
  expect((await api.get(`${WIDGETS}/b03`)).json.spec.replicas).toBe(8);
});

test.each<[unknown, string]>([
  [-1, ".spec.replicas: Invalid value: -1: should be a non-negative integer"],
  [2 ** 31, ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
  ["x", ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"],
])("refuses %j replicas in the object itself (B-03)", async (replicas, fault) => {
  const { status, json } = await api.post(WIDGETS, widget("b03-bad", { size: 1, replicas } as any));
  expect(status).toBe(422);
  expect(json.message).toContain(fault);
});

test("refuses a status that no Scale could show (B-03)", async () => {
  await api.post(WIDGETS, widget("b03-status"));
  const { status, json } = await api.patch(`${WIDGETS}/b03-status/status`, MERGE_PATCH, { status: { replicas: -1 } });
  expect({ status, fields: json.details.causes.map((cause: any) => cause.field) }).toEqual({
    status: 422,
    fields: [".status.replicas"],
  });
});

test("records an applier of a scale as the owner of the replicas of the object (B-03)", async () => {
  await api.post(`${WIDGETS}?fieldManager=creator`, widget("b03-apply", { size: 1, replicas: 2 }));
  const apply = (query: string) =>
    api.patch(`${scaleOf("b03-apply")}?fieldManager=hpa${query}`, APPLY_PATCH, scale("b03-apply", 3));
  expect((await apply("")).json.message).toContain(
    'conflict with "creator" using management.example.com/v1: .spec.replicas',
  );
  expect((await apply("&force=true")).status).toBe(200);
  const { managedFields } = (await api.get(`${WIDGETS}/b03-apply`)).json.metadata;
  expect(managedFields[0]).toMatchObject({
    manager: "hpa",
    operation: "Apply",
    subresource: "scale",
    apiVersion: "management.example.com/v1",
    fieldsV1: { "f:spec": { "f:replicas": {} } },
  });
});

test("refuses a negative number, POST, and an object without replicas (B-03)", async () => {
  await api.post(WIDGETS, widget("b03-none"));
  expect((await api.put(scaleOf("b03-none"), scale("b03-none", -1))).json.message).toBe(
    'Widget.management.example.com "b03-none" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
  expect((await api.post(scaleOf("b03-none"), scale("b03-none", 1))).json).toMatchObject({
    code: 405,
    message: 'create is not supported on resources of kind "widgets.management.example.com"',
  });
  expect((await api.get(scaleOf("b03-none"))).json).toMatchObject({
    code: 500,
    message: 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
  });
});

const NO_INT32 = (found: string) =>
  `json: cannot unmarshal ${found} into Go struct field ScaleSpec.spec.replicas of type int32`;

test.each([
  ["string", "x"],
  ["number 2147483648", 2147483648],
  ["number 1.5", 1.5],
])("refuses a %s for a number of 32 bits, in a replacement and in a patch (B-03)", async (found, replicas) => {
  await api.post(WIDGETS, widget("b03-int32", { size: 1, replicas: 1 }));
  const body = { ...scale("b03-int32", 1), spec: { replicas } };
  expect((await api.put(scaleOf("b03-int32"), body)).json).toMatchObject({
    code: 400,
    message: `Scale in version "v1" cannot be handled as a Scale: ${NO_INT32(found)}`,
  });
  const { json } = await api.patch(scaleOf("b03-int32"), MERGE_PATCH, { spec: { replicas } });
  expect({ code: json.code, field: json.details.causes[0].field }).toEqual({ code: 422, field: "patch" });
  expect(json.message).toMatch(/^ "" is invalid: patch: Invalid value: "\{/);
  expect(json.message).toContain(`: ${NO_INT32(found)}`);
});

test("holds a Scale against the uid, the name and the namespace of its object, and names unknown fields (B-03)", async () => {
  await api.post(WIDGETS, widget("b03-meta", { size: 1, replicas: 1 }));
  const put = async (meta: object) => (await api.put(scaleOf("b03-meta"), scale("b03-meta", 2, meta))).json;
  expect(await put({ uid: "other" })).toMatchObject({
    code: 409,
    message: expect.stringContaining("Precondition failed: UID in precondition: other, UID in object meta: "),
  });
  expect(await put({ name: "other" })).toMatchObject({ code: 400 });
  expect(await put({ namespace: "other" })).toMatchObject({
    code: 400,
    message: "the namespace of the provided object does not match the namespace sent on the request",
  });
  const bogus = { spec: { replicas: 2, bogus: 1 } };
  const warned = await api.patch(scaleOf("b03-meta"), MERGE_PATCH, bogus);
  expect({ status: warned.status, warnings: warned.warnings }).toEqual({
    status: 200,
    warnings: ['299 - "unknown field \\"spec.bogus\\""'],
  });
  expect((await api.patch(`${scaleOf("b03-meta")}?fieldValidation=Strict`, MERGE_PATCH, bogus)).json).toMatchObject({
    code: 422,
    message: expect.stringContaining('strict decoding error: unknown field "spec.bogus"'),
  });
});

test("prints a scale as what is wanted and what there is (T-01)", async () => {
  await api.post(WIDGETS, widget("t01-scale", { size: 1, replicas: 3 }));
  const { json } = await api.get(`${WIDGETS}/t01-scale/scale`, { headers: { Accept: TABLE } });
  const names = json.columnDefinitions.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["Name", "Desired", "Available", "Age"]);
  expect(json.rows[0].cells).toEqual(["t01-scale", 3, 0, expect.stringMatching(/^\d+s$/)]);
  expect(json.rows[0].object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "t01-scale" } });
});

test("answers 404 for an unknown subresource, also of an existing object (B-04)", async () => {
  await api.post(WIDGETS, widget("b04"));
  for (const name of ["absent", "b04"]) {
    expect((await api.get(`${WIDGETS}/${name}/nosuch`)).json).toMatchObject({
      message: `widgets.management.example.com "${name}" not found`,
      details: { name, group: "management.example.com", kind: "widgets" },
    });
  }
});

test("answers for a subresource whatever follows it in the path (B-04)", async () => {
  await api.post(WIDGETS, widget("b04-more", { size: 1, replicas: 3 }));
  expect((await api.get(`${WIDGETS}/b04-more/status/more`)).json.metadata.name).toBe("b04-more");
  expect((await api.get(`${WIDGETS}/b04-more/scale/more`)).json.spec).toEqual({ replicas: 3 });
});

test("prints a Table where kubectl asks for one (T-01)", async () => {
  await api.post(KEYS, key("t01", { user: "u", disabled: true }));
  const { headers, json } = await api.get(`${KEYS}/t01`, { headers: { Accept: TABLE } });
  expect(headers["content-type"]).toBe("application/json");
  expect(json).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
  const names = json.columnDefinitions.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["Name", "User", "Disabled", "TTL", "Age"]);
  expect(json.rows[0].cells).toEqual(["t01", "u", true, null, expect.stringMatching(/^\d+s$/)]);
});

test("prints name and age where no columns are declared (T-03)", async () => {
  await api.post(WIDGETS, widget("t03"));
  const { json } = await api.get(WIDGETS, { headers: { Accept: TABLE } });
  const columns = json.columnDefinitions.map(({ name, type, format }: { [name: string]: string }) => [
    name,
    type,
    format,
  ]);
  expect(columns).toEqual([
    ["Name", "string", "name"],
    ["Age", "date", ""],
  ]);
});

test.each([
  ["Metadata", { kind: "PartialObjectMetadata" }],
  ["Object", { kind: "OwnedAccessKey" }],
  ["None", null],
])("includes of the object what includeObject=%s says (T-05)", async (include, expected) => {
  await api.post(KEYS, key("t05"));
  const { json } = await api.get(`${KEYS}/t05?includeObject=${include}`, { headers: { Accept: TABLE } });
  if (expected === null) expect(json.rows[0].object).toBeNull();
  else expect(json.rows[0].object).toMatchObject(expected);
});

test("answers with metadata alone, of an object and of a list (T-07)", async () => {
  await api.post(KEYS, key("t07"));
  const as = (kind: string) => ({ headers: { Accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` } });
  const { json } = await api.get(`${KEYS}/t07`, as("PartialObjectMetadata"));
  expect(json).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "t07" } });
  expect(json).not.toHaveProperty("spec");
  expect((await api.get(KEYS, as("PartialObjectMetadataList"))).json.kind).toBe("PartialObjectMetadataList");
  expect((await api.get(KEYS, as("PartialObjectMetadata"))).status).toBe(406);
});
