// Deleting objects: what is answered, finalizers, preconditions, propagation, and collections.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, parseEvents, TABLE, useServer } from "./testing/api.ts";

const api = useServer();
const create = async (name: string, meta: JsonObject = {}) =>
  (await api.post(KEYS, key(name, { user: "u" }, meta))).json;
const HELD = { finalizers: ["example.com/a"] };

test("D-01 answers with a Status that has the uid", async () => {
  const { metadata } = await create("d01");
  expect((await api.delete(`${KEYS}/d01`)).json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "d01", group: "management.example.com", kind: "ownedaccesskeys", uid: metadata.uid },
  });
});

test("D-02 answers with the object while finalizers hold it, the same for a second time", async () => {
  const old = await create("d02", HELD);
  const { status, json } = await api.delete(`${KEYS}/d02`);
  expect(status).toBe(200);
  expect(json.metadata).toMatchObject({
    deletionTimestamp: expect.any(String),
    deletionGracePeriodSeconds: 0,
    generation: old.metadata.generation + 1,
  });
  expect((await api.delete(`${KEYS}/d02`)).json).toEqual(json);
});

test.each<[string, JsonObject | string, string]>([
  ["without a kind", { propagationPolicy: "Background" }, "application/json"],
  ["of the core version", { kind: "DeleteOptions", apiVersion: "v1" }, "application/json"],
  ["of the group's version", { kind: "DeleteOptions", apiVersion: "management.example.com/v1" }, "application/json"],
  ["in YAML", "propagationPolicy: Background", "application/yaml"],
])("D-03 takes options %s", async (_what, body, contentType) => {
  await create("d03");
  expect((await api.delete(`${KEYS}/d03`, body, { contentType })).json.status).toBe("Success");
});

test.each<[JsonObject | string, number, string]>([
  [{ kind: "Foo", apiVersion: "v1" }, 500, 'no kind "Foo" is registered for version "v1" in scheme'],
  ["garbage", 500, "couldn't get version/kind; json parse error: invalid character 'g'"],
  [
    "[]",
    500,
    "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {",
  ],
  [
    { gracePeriodSeconds: 1.5 },
    500,
    "json: cannot unmarshal number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
  ],
  [
    { gracePeriodSeconds: "x" },
    500,
    "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds",
  ],
  [{ dryRun: [1] } as any, 500, "cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string"],
  [
    { preconditions: { uid: 1 } },
    500,
    "cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID",
  ],
  [{ kind: "Foo" }, 500, 'no kind "Foo" is registered for version "meta.k8s.io/v1" in scheme'],
])("D-04 answers as upstream to %j", async (body, code, text) => {
  await create("d04");
  const { json } = await api.delete(`${KEYS}/d04`, body);
  expect(json).toMatchObject({ code, message: expect.stringContaining(text) });
});

test("D-04 does not hear who asks to delete what cannot be read", async () => {
  await create("d04b");
  const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential";
  expect((await api.delete(`${KEYS}/d04b?${unsafe}=true&dryRun=All`)).status).toBe(200);
  expect((await api.delete(`${KEYS}/d04b`, { [unsafe]: true, dryRun: ["All"] })).status).toBe(200);
  expect((await api.delete(`${KEYS}/d04b`, { [unsafe]: "x" })).json.message).toBe(
    `json: cannot unmarshal string into Go struct field DeleteOptions.${unsafe} of type bool`,
  );
});

test("D-05 refuses unknown policies, and two ways to say the same", async () => {
  await create("d05");
  expect((await api.delete(`${KEYS}/d05`, { propagationPolicy: "Bogus" })).json.message).toBe(
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
  );
  const both = { propagationPolicy: "Orphan", orphanDependents: true };
  expect((await api.delete(`${KEYS}/d05`, both)).json.code).toBe(422);
});

test("D-06 holds the preconditions against the object", async () => {
  const { metadata } = await create("d06");
  const uid = await api.delete(`${KEYS}/d06`, { preconditions: { uid: "other" } });
  expect(uid.json).toMatchObject({ code: 409, details: { kind: "OwnedAccessKey" } });
  expect(uid.json.message).toContain(
    `the UID in the precondition (other) does not match the UID in record (${metadata.uid})`,
  );
  expect((await api.delete(`${KEYS}/d06`, { preconditions: { resourceVersion: "1" } })).json.code).toBe(409);
  expect((await api.delete(`${KEYS}/d06`, { preconditions: { uid: metadata.uid } })).status).toBe(200);
});

test.each([
  ["Foreground", "foregroundDeletion"],
  ["Orphan", "orphan"],
])("D-07 holds an object by a finalizer for %s", async (propagationPolicy, finalizer) => {
  await create(`d07-${finalizer.toLowerCase()}`);
  const { json } = await api.delete(`${KEYS}/d07-${finalizer.toLowerCase()}`, { propagationPolicy });
  expect(json.metadata.finalizers).toEqual([finalizer]);
});

test("D-08 answers 202 to the older way of asking, while a finalizer holds the object", async () => {
  await create("d08", HELD);
  expect((await api.delete(`${KEYS}/d08`, { orphanDependents: false })).status).toBe(202);
});

test("D-10 lets no finalizer come while an object is being deleted, and any go", async () => {
  await create("d10", { finalizers: ["example.com/a", "example.com/b"] });
  await api.delete(`${KEYS}/d10`);
  const finalizers = (...names: string[]) => api.patch(`${KEYS}/d10`, MERGE_PATCH, { metadata: { finalizers: names } });
  const { json } = await finalizers("example.com/a", "example.com/b", "example.com/new");
  expect(json.details.causes[0]).toEqual({
    reason: "FieldValueForbidden",
    message:
      'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/new"}',
    field: "metadata.finalizers",
  });
  expect((await finalizers("example.com/b")).status).toBe(200);
});

test("D-11 removes an object with its last finalizer, under a newer version", async () => {
  await create("d11", HELD);
  const { metadata } = (await api.delete(`${KEYS}/d11`)).json;
  const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=${metadata.resourceVersion}`);
  const { json } = await api.patch(`${KEYS}/d11`, MERGE_PATCH, { metadata: { finalizers: null } });
  expect(json.metadata.resourceVersion).toBe(metadata.resourceVersion);
  const [event] = parseEvents(await watch.lines(1));
  expect(event.type).toBe("DELETED");
  expect(Number(event.object.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
  expect((await api.get(`${KEYS}/d11`)).status).toBe(404);
  watch.close();
});

test("D-12 keeps the time of a deletion, whatever a patch says", async () => {
  await create("d12", HELD);
  const { deletionTimestamp } = (await api.delete(`${KEYS}/d12`)).json.metadata;
  for (const sent of [null, "2040-01-01T00:00:00Z"]) {
    const { status, json } = await api.patch(`${KEYS}/d12`, MERGE_PATCH, { metadata: { deletionTimestamp: sent } });
    expect({ status, time: json.metadata.deletionTimestamp }).toEqual({ status: 200, time: deletionTimestamp });
  }
});

test("D-13 says that the name belongs to something that is being deleted", async () => {
  await create("d13", HELD);
  await api.delete(`${KEYS}/d13`);
  expect((await api.post(KEYS, key("d13"))).json.message).toBe(
    'object is being deleted: ownedaccesskeys.management.example.com "d13" already exists',
  );
});

test("D-14 removes nothing in a dry run", async () => {
  await create("d14");
  expect((await api.delete(`${KEYS}/d14`, { dryRun: ["All"] })).json.status).toBe("Success");
  expect((await api.get(`${KEYS}/d14`)).status).toBe(200);
});

test("D-15 answers a deletion of a collection with the objects that were chosen", async () => {
  for (const name of ["d15a", "d15b"]) await create(name, { labels: { d15: name } });
  const { status, json } = await api.delete(`${KEYS}?labelSelector=d15%3Dd15a`);
  expect({ status, kind: json.kind }).toEqual({ status: 200, kind: "OwnedAccessKeyList" });
  expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(["d15a"]);
  expect((await api.get(`${KEYS}/d15b`)).status).toBe(200);
  expect((await api.delete(`${KEYS}?labelSelector=d15%3D%3D%3Dx`)).status).toBe(400);
});

test("D-16 answers with a Status to those who would like a Table", async () => {
  await create("d16");
  expect((await api.delete(`${KEYS}/d16`, undefined, { headers: { Accept: TABLE } })).json.kind).toBe("Status");
});

test("D-17 gives another uid to an object that is made again", async () => {
  const first = await create("d17");
  await api.delete(`${KEYS}/d17`);
  const second = await create("d17");
  expect(second.metadata.uid).not.toBe(first.metadata.uid);
  expect((await api.delete(`${KEYS}/d17`, { preconditions: { uid: first.metadata.uid } })).status).toBe(409);
});

test.each([-1, 0, 30])("D-09 takes %d seconds of grace for none, where nothing ends gracefully", async (seconds) => {
  const name = `d09${seconds + 1}`;
  await create(name, HELD);
  const { status, json } = await api.delete(`${KEYS}/${name}`, { gracePeriodSeconds: seconds });
  expect({ status, seconds: json.metadata.deletionGracePeriodSeconds }).toEqual({ status: 200, seconds: 0 });
});
