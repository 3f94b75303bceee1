// Deleting objects: what is answered, finalizers, preconditions, propagation, and collections.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, parseEvents, TABLE, useServer } from "./testing/api.ts";

const api = useServer();
const create = async (name: string, meta: JsonObject = {}) =>
  (await api.post(KEYS, key(name, { user: "u" }, meta))).json;
const HELD = { finalizers: ["example.com/a"] };

test("answers with a Status that has the uid (D-01)", async () => {
  const { metadata } = await create("d01");
  expect((await api.delete(`${KEYS}/d01`)).json).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "d01", group: "management.example.com", kind: "ownedaccesskeys", uid: metadata.uid },
  });
});

test("answers with the object while finalizers hold it, the same for a second time (D-02)", async () => {
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
])("takes options %s (D-03)", async (_what, body, contentType) => {
  await create("d03");
  expect((await api.delete(`${KEYS}/d03`, body, { contentType })).json.status).toBe("Success");
});

test.each<[JsonObject | string, number, string]>([
  [{ kind: "Foo", apiVersion: "v1" }, 400, 'no kind "Foo" is registered for version "v1" in scheme'],
  ["garbage", 400, "couldn't get version/kind; json parse error: invalid character 'g'"],
  [
    "[]",
    400,
    "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {",
  ],
  [
    { gracePeriodSeconds: 1.5 },
    400,
    "json: cannot unmarshal number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
  ],
  [
    { gracePeriodSeconds: "x" },
    400,
    "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds",
  ],
  [{ dryRun: [1] } as any, 400, "cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string"],
  [
    { preconditions: { uid: 1 } },
    400,
    "cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID",
  ],
  [{ kind: "Foo" }, 400, 'no kind "Foo" is registered for version "meta.k8s.io/v1" in scheme'],
])("answers as upstream to %j (D-04)", async (body, code, text) => {
  await create("d04");
  const { json } = await api.delete(`${KEYS}/d04`, body);
  expect(json).toMatchObject({ code, message: expect.stringContaining(text) });
});

test("ignores ignoreStoreReadErrorWithClusterBreakingPotential (D-04)", async () => {
  await create("d04b");
  const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential";
  expect((await api.delete(`${KEYS}/d04b?${unsafe}=true&dryRun=All`)).status).toBe(200);
  expect((await api.delete(`${KEYS}/d04b`, { [unsafe]: true, dryRun: ["All"] })).status).toBe(200);
  expect((await api.delete(`${KEYS}/d04b`, { [unsafe]: "x" })).json.message).toBe(
    `json: cannot unmarshal string into Go struct field DeleteOptions.${unsafe} of type bool`,
  );
});

test("refuses unknown policies, and two ways to say the same (D-05)", async () => {
  await create("d05");
  expect((await api.delete(`${KEYS}/d05`, { propagationPolicy: "Bogus" })).json.message).toBe(
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
  );
  const both = { propagationPolicy: "Orphan", orphanDependents: true };
  expect((await api.delete(`${KEYS}/d05`, both)).json.code).toBe(422);
});

test("holds the preconditions against the object (D-06)", async () => {
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
])("holds an object by a finalizer for %s (D-07)", async (propagationPolicy, finalizer) => {
  await create(`d07-${finalizer.toLowerCase()}`);
  const { json } = await api.delete(`${KEYS}/d07-${finalizer.toLowerCase()}`, { propagationPolicy });
  expect(json.metadata.finalizers).toEqual([finalizer]);
});

test("answers 202 to the older way of asking, while a finalizer holds the object (D-08)", async () => {
  await create("d08", HELD);
  expect((await api.delete(`${KEYS}/d08`, { orphanDependents: false })).status).toBe(202);
});

test("lets no finalizer come while an object is being deleted, and any go (D-10)", async () => {
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

test("removes an object with its last finalizer, under a newer version (D-11)", async () => {
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

test("keeps the time of a deletion, whatever a patch says (D-12)", async () => {
  await create("d12", HELD);
  const { deletionTimestamp } = (await api.delete(`${KEYS}/d12`)).json.metadata;
  for (const sent of [null, "2040-01-01T00:00:00Z"]) {
    const { status, json } = await api.patch(`${KEYS}/d12`, MERGE_PATCH, { metadata: { deletionTimestamp: sent } });
    expect({ status, time: json.metadata.deletionTimestamp }).toEqual({ status: 200, time: deletionTimestamp });
  }
});

test("says that the name belongs to something that is being deleted (D-13)", async () => {
  await create("d13", HELD);
  await api.delete(`${KEYS}/d13`);
  expect((await api.post(KEYS, key("d13"))).json.message).toBe(
    'object is being deleted: ownedaccesskeys.management.example.com "d13" already exists',
  );
});

test("removes nothing in a dry run (D-14)", async () => {
  await create("d14");
  expect((await api.delete(`${KEYS}/d14`, { dryRun: ["All"] })).json.status).toBe("Success");
  expect((await api.get(`${KEYS}/d14`)).status).toBe(200);
});

test("answers a deletion of a collection with the objects that were chosen (D-15)", async () => {
  for (const name of ["d15a", "d15b"]) await create(name, { labels: { d15: name } });
  const { status, json } = await api.delete(`${KEYS}?labelSelector=d15%3Dd15a`);
  expect({ status, kind: json.kind }).toEqual({ status: 200, kind: "OwnedAccessKeyList" });
  expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(["d15a"]);
  expect((await api.get(`${KEYS}/d15b`)).status).toBe(200);
  expect((await api.delete(`${KEYS}?labelSelector=d15%3D%3D%3Dx`)).status).toBe(400);
});

test("answers requests for a Table with a Status (D-16)", async () => {
  await create("d16");
  expect((await api.delete(`${KEYS}/d16`, undefined, { headers: { Accept: TABLE } })).json.kind).toBe("Status");
});

test("gives another uid to an object that is made again (D-17)", async () => {
  const first = await create("d17");
  await api.delete(`${KEYS}/d17`);
  const second = await create("d17");
  expect(second.metadata.uid).not.toBe(first.metadata.uid);
  expect((await api.delete(`${KEYS}/d17`, { preconditions: { uid: first.metadata.uid } })).status).toBe(409);
});

test.each([-1, 0, 30])(
  "treats a grace period of %d seconds as none for kinds without graceful deletion (D-09)",
  async (seconds) => {
    const name = `d09${seconds + 1}`;
    await create(name, HELD);
    const { status, json } = await api.delete(`${KEYS}/${name}`, { gracePeriodSeconds: seconds });
    expect({ status, seconds: json.metadata.deletionGracePeriodSeconds }).toEqual({ status: 200, seconds: 0 });
  },
);
