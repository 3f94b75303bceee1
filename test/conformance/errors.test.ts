// Form of refusals: the Status that programs read, and the text that people do.

import { expect, test } from "vitest";
import { GROUP, KEYS, key, MERGE_PATCH, parseEvents, useServer, WIDGETS, widget } from "./testing/api.ts";
import { connectRaw, rawRequest } from "./testing/raw-connection.ts";

const api = useServer();
const KEY_DETAILS = { group: GROUP, kind: "ownedaccesskeys" };

test("is a Status with the code of the response, and without details when there are none (E-01)", async () => {
  const { status, json } = await api.put(`${KEYS}/e01`, key("other"));
  expect(status).toBe(400);
  expect(json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "the name of the object (other) does not match the name on the URL (e01)",
    reason: "BadRequest",
    code: 400,
  });
});

test("returns a minimal Status for a success (E-01)", async () => {
  const { metadata } = (await api.post(KEYS, key("e01"))).json;
  expect((await api.delete(`${KEYS}/e01`)).json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "e01", ...KEY_DETAILS, uid: metadata.uid },
  });
});

test("names the resource where an object is concerned, the Kind where its content is (E-02)", async () => {
  await api.post(KEYS, key("e02"));
  const detailsOf = async (answer: Promise<{ readonly json: any }>) => (await answer).json.details;
  const resource = { name: "e02", ...KEY_DETAILS };
  expect(await detailsOf(api.get(`${KEYS}/absent`))).toEqual({ ...resource, name: "absent" });
  expect(await detailsOf(api.post(KEYS, key("e02")))).toEqual(resource);
  expect(await detailsOf(api.put(`${KEYS}/e02`, key("e02", {}, { resourceVersion: "1" })))).toEqual(resource);
  expect(await detailsOf(api.get(`${KEYS}/e02`, { as: "alice" }))).toEqual(resource);
  expect(await detailsOf(api.get(KEYS, { as: "alice" }))).toEqual(KEY_DETAILS);
  const kind = { name: "e02", group: GROUP, kind: "OwnedAccessKey" };
  expect(await detailsOf(api.patch(`${KEYS}/e02`, MERGE_PATCH, { spec: { ttl: "x" } }))).toMatchObject(kind);
  expect(await detailsOf(api.delete(`${KEYS}/e02`, { preconditions: { uid: "x" } }))).toEqual(kind);
});

test("names what is not found, by its group where it has one (E-03)", async () => {
  expect((await api.get(`${KEYS}/e03`)).json).toMatchObject({
    code: 404,
    reason: "NotFound",
    message: `ownedaccesskeys.${GROUP} "e03" not found`,
  });
  expect((await api.get("/api/v1/namespaces/e03")).json).toMatchObject({
    message: 'namespaces "e03" not found',
    details: { name: "e03", kind: "namespaces" },
  });
});

test("distinguishes a stale version from a taken name, both with 409 (E-05)", async () => {
  const { json } = await api.post(KEYS, key("e05"));
  await api.patch(`${KEYS}/e05`, MERGE_PATCH, { spec: { user: "u2" } });
  expect((await api.put(`${KEYS}/e05`, json)).json).toMatchObject({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ownedaccesskeys.${GROUP} "e05": the object has been modified; please apply your changes to the latest version and try again`,
  });
  expect((await api.post(KEYS, key("e05"))).json).toMatchObject({ code: 409, reason: "AlreadyExists" });
});

test("holds a PUT to the uid that it names (E-06)", async () => {
  const { metadata } = (await api.post(KEYS, key("e06"))).json;
  const { json } = await api.put(
    `${KEYS}/e06`,
    key("e06", {}, { uid: "other", resourceVersion: metadata.resourceVersion }),
  );
  expect(json).toMatchObject({ code: 409, reason: "Conflict", details: { name: "e06", ...KEY_DETAILS } });
  expect(json.message).toMatch(
    new RegExp(
      `^Operation cannot be fulfilled on ownedaccesskeys\\.${GROUP} "e06": StorageError: invalid object, Code: 4, Key: \\S+, ` +
        `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${metadata.uid}$`,
    ),
  );
});

test("holds a deletion to its preconditions (E-07)", async () => {
  const { metadata } = (await api.post(KEYS, key("e07"))).json;
  const messageFor = async (preconditions: { readonly [name: string]: string }): Promise<string> =>
    (await api.delete(`${KEYS}/e07`, { preconditions })).json.message;
  const start = `Operation cannot be fulfilled on OwnedAccessKey.${GROUP} "e07": `;
  expect(await messageFor({ uid: "x" })).toBe(
    `${start}the UID in the precondition (x) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
  );
  expect(await messageFor({ resourceVersion: "1" })).toBe(
    `${start}the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
  );
  expect((await api.delete(`${KEYS}/e07`, { preconditions: { uid: metadata.uid } })).status).toBe(200);
});

test("lists what is invalid, once in the text and each time in the causes (E-08)", async () => {
  const one = (await api.post(WIDGETS, widget("e08", { size: 11 }))).json;
  expect(one.message).toBe(
    `Widget.${GROUP} "e08" is invalid: spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10`,
  );
  expect(one.details.causes).toEqual([
    {
      reason: "FieldValueInvalid",
      message: "Invalid value: 11: spec.size in body should be less than or equal to 10",
      field: "spec.size",
    },
  ]);
  const several = (await api.post(WIDGETS, widget("e08", { size: 11, mode: "C" }))).json;
  expect(several.message).toMatch(new RegExp(`^Widget\\.${GROUP} "e08" is invalid: \\[spec\\..*, .*\\]$`));
  expect(several.details.causes.length).toBeGreaterThanOrEqual(2);
  const owners = [1, 2].map(() => ({ apiVersion: "v1", kind: "ConfigMap", name: "", uid: "u" }));
  const twice = (await api.post(KEYS, key("e08", {}, { ownerReferences: owners }))).json;
  expect(twice.message.match(/ownerReferences.name: Invalid value: "": must not be empty/g)).toHaveLength(1);
});

test.each([
  ["FieldValueRequired", {}, "spec.size", "Required value"],
  [
    "FieldValueInvalid",
    { size: 0 },
    "spec.size",
    "Invalid value: 0: spec.size in body should be greater than or equal to 1",
  ],
  ["FieldValueNotSupported", { size: 1, mode: "C" }, "spec.mode", 'Unsupported value: "C": supported values: "A", "B"'],
  ["FieldValueTooLong", { size: 1, color: "yellow" }, "spec.color", "Too long: may not be more than 5 bytes"],
  [
    "FieldValueTooMany",
    { size: 1, ports: [1, 2, 3, 4].map((port) => ({ port })) },
    "spec.ports",
    "Too many: 4: must have at most 3 items",
  ],
  [
    "FieldValueDuplicate",
    { size: 1, ports: [{ port: 1 }, { port: 1 }] },
    "spec.ports[1]",
    'Duplicate value: {"port":1,"protocol":"TCP"}',
  ],
  [
    "FieldValueTypeInvalid",
    { size: "1" },
    "spec.size",
    'Invalid value: "string": spec.size in body must be of type integer: "string"',
  ],
])("gives a cause the reason %s (E-09)", async (reason, spec, field, message) => {
  const { json } = await api.post(WIDGETS, widget("e09", spec));
  expect(json).toMatchObject({ code: 422, reason: "Invalid" });
  expect(json.details.causes).toContainEqual({ reason, message, field });
});

test("quotes text as Go does, and says what may not be (E-09)", async () => {
  const { json } = await api.post(`${KEYS}?fieldManager=${encodeURIComponent("a\nb")}`, key("e09"));
  expect(json.details.causes).toEqual([
    {
      reason: "FieldValueInvalid",
      message: 'Invalid value: "a\\nb": invalid character U+000A (at position 1)',
      field: "fieldManager",
    },
  ]);
  await api.post(KEYS, key("e09", {}, { finalizers: ["example.com/a"] }));
  await api.delete(`${KEYS}/e09`);
  const more = await api.patch(`${KEYS}/e09`, MERGE_PATCH, {
    metadata: { finalizers: ["example.com/a", "example.com/b"] },
  });
  expect(more.json.details.causes[0]).toMatchObject({ reason: "FieldValueForbidden", field: "metadata.finalizers" });
});

test("says Unauthorized and nothing else (E-15)", async () => {
  const { json, headers } = await api.get(KEYS, { headers: { Authorization: "Bearer wrong" } });
  expect(json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Unauthorized",
    reason: "Unauthorized",
    code: 401,
  });
  expect(headers).not.toHaveProperty("www-authenticate");
});

test("has the reason Expired for a version that is gone (E-16)", async () => {
  await api.post(KEYS, key("e16"));
  await api.server.compact();
  const { json } = await api.get(`${KEYS}?resourceVersion=2&resourceVersionMatch=Exact`);
  expect(json).toMatchObject({ code: 410, reason: "Expired" });
});

test("names the limit that a body exceeds (E-17)", async () => {
  const { json } = await api.post(KEYS, JSON.stringify(key("e17", { user: "x".repeat(3 * 1024 * 1024) })));
  expect(json).toMatchObject({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: "Request entity too large: limit is 3145728",
  });
});

test("answers 504 to a token from a version of the future (E-19)", async () => {
  const token = { v: "meta.k8s.io/v1", rv: 999_999_999, start: "a" };
  const text = Buffer.from(JSON.stringify(token)).toString("base64url");
  expect((await api.get(`${KEYS}?continue=${text}`)).json).toMatchObject({
    code: 504,
    message: expect.stringMatching(/^Timeout: Too large resource version: 999999999, current: \d+$/),
  });
});

test("answers 504 when a request is not done in the time that it asked for (E-20)", async () => {
  using connection = await connectRaw(api.server);
  connection.write(rawRequest("POST", `${KEYS}?timeout=100ms`, '{"kind":', 1000));
  const text = await connection.received('"code":504');
  expect(text).toMatch(/^HTTP\/1\.1 504 Gateway Timeout\r\n/);
  expect(text).toContain('"reason":"Timeout"');
  expect(text).toContain('"message":"Timeout: request did not complete within the allotted timeout"');
});

test("has no reason where upstream has an untyped error, and one where it has not (E-21)", async () => {
  const { json } = await api.post(KEYS, key("e21", {}, { resourceVersion: "5" }));
  expect(json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "resourceVersion should not be set on objects to be created",
    code: 500,
  });
  await api.post(KEYS, key("e21"));
  expect((await api.put(`${KEYS}/e21`, key("e21", {}, { resourceVersion: "abc" }))).json).toMatchObject({
    code: 500,
    message: 'strconv.ParseUint: parsing "abc": invalid syntax',
  });
});

test("reports an error inside a running watch (E-23)", async () => {
  const { status, text } = await (await api.watch(`${KEYS}?watch=true&resourceVersion=1`)).finished;
  const [event] = parseEvents([text]);
  expect({ status, type: event.type, kind: event.object.kind, code: event.object.code }).toEqual({
    status: 200,
    type: "ERROR",
    kind: "Status",
    code: 410,
  });
});
