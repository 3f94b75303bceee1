// Replacing objects: optimistic locks, what a write may not change, and writes that change nothing.

import { expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, parseEvents, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const create = async (name: string, spec = { user: "u1" }, meta = {}) =>
  (await api.post(KEYS, key(name, spec, meta))).json;

test("replaces the whole object (U-01)", async () => {
  const { metadata } = await create("u01");
  const { status, json } = await api.put(`${KEYS}/u01`, { ...key("u01", { team: "t" }), metadata });
  expect({ status, spec: json.spec }).toEqual({ status: 200, spec: { team: "t" } });
});

test("does not write an unchanged object: no version, no event (U-02)", async () => {
  const old = await create("u02");
  const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=${old.metadata.resourceVersion}`);
  expect((await api.put(`${KEYS}/u02`, old)).json).toEqual(old);
  await create("u02-after");
  const [first] = parseEvents(await watch.lines(1));
  expect(first.object.metadata.name).toBe("u02-after");
  watch.close();
});

test("counts generations of what is wanted only (U-03)", async () => {
  const { metadata } = await create("u03");
  const put = async (body: object) =>
    (await api.put(`${KEYS}/u03`, { ...key("u03"), metadata, ...body } as never)).json.metadata;
  const labelled = await put({ metadata: { ...metadata, labels: { a: "b" } } });
  expect(labelled.generation).toBe(1);
  expect((await put({ metadata: labelled, spec: { user: "other" } })).generation).toBe(2);
});

test.each([
  ["stale", "1", 409, "Conflict"],
  ["future", "999999", 409, "Conflict"],
  ["absent", "", 422, "Invalid"],
])("refuses a resourceVersion that is %s (U-04)", async (what, resourceVersion, code, reason) => {
  await create(`u04-${what}`);
  const { json } = await api.put(`${KEYS}/u04-${what}`, key(`u04-${what}`, { user: "x" }, { resourceVersion }));
  expect(json).toMatchObject({ code, reason });
});

test("answers 500 without reason for a resourceVersion that is no number (U-04)", async () => {
  await create("u04");
  const { json } = await api.put(`${KEYS}/u04`, key("u04", {}, { resourceVersion: "abc" }));
  expect(json).toMatchObject({ code: 500, message: 'strconv.ParseUint: parsing "abc": invalid syntax' });
  expect(json).not.toHaveProperty("reason");
});

test("refuses another uid with 409, and answers 404 where nothing exists (U-05)", async () => {
  const { metadata } = await create("u05");
  const { json } = await api.put(`${KEYS}/u05`, key("u05", {}, { ...metadata, uid: "other" }));
  expect(json).toMatchObject({ code: 409, reason: "Conflict" });
  expect(json.message).toContain(
    `Precondition failed: UID in precondition: other, UID in object meta: ${metadata.uid}`,
  );
  expect((await api.put(`${KEYS}/u05-absent`, key("u05-absent", {}, { uid: "x" }))).status).toBe(404);
});

test("restores what only the server sets, without a word (U-06)", async () => {
  const { metadata } = await create("u06");
  const { resourceVersion } = metadata;
  const sent = { resourceVersion, creationTimestamp: "2001-01-01T00:00:00Z", generation: 77, uid: "" };
  const { status, json } = await api.put(`${KEYS}/u06`, key("u06", { user: "u1" }, sent));
  expect({ status, metadata: json.metadata }).toEqual({ status: 200, metadata });
});

test("refuses a deletionTimestamp on a living object, (U-06)", async () => {
  const { metadata } = await create("u06b");
  const meta = { resourceVersion: metadata.resourceVersion, deletionTimestamp: "2020-01-01T00:00:00Z" };
  const { status, json } = await api.put(`${KEYS}/u06b`, key("u06b", {}, meta));
  expect(status).toBe(422);
  expect(json.message).toContain(
    "metadata.deletionTimestamp: Invalid value: 2020-01-01 00:00:00 +0000 UTC: field is immutable",
  );
  expect(json.details.causes).toHaveLength(2);
});

test("drops all managed fields for a list of one empty entry, and tracks nothing after that (U-08)", async () => {
  await create("u08");
  const patch = { metadata: { managedFields: [{}] } };
  expect((await api.patch(`${KEYS}/u08`, MERGE_PATCH, patch)).json.metadata).not.toHaveProperty("managedFields");
  const { json } = await api.patch(`${KEYS}/u08`, MERGE_PATCH, { spec: { user: "x" } });
  expect(json.metadata).not.toHaveProperty("managedFields");
});

test("warns of a finalizer without a domain (U-09)", async () => {
  const { status, warnings } = await api.post(KEYS, key("u09", {}, { finalizers: ["nodomain"] }));
  expect({ status, warnings }).toEqual({
    status: 201,
    warnings: [
      '299 - "metadata.finalizers: \\"nodomain\\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"',
    ],
  });
});

test("warns only of the finalizers that a write adds, in their order, and only when it is carried out (U-09)", async () => {
  const { json } = await api.post(KEYS, key("u09b", {}, { finalizers: ["old"] }));
  const { metadata } = json;
  const warningOf = (finalizer: string) => expect.stringContaining(`metadata.finalizers: \\"${finalizer}\\": prefer`);
  const changed = { ...metadata, finalizers: ["old", "b", "a", "example.com/c", "orphan"] };
  const { status, warnings } = await api.put(`${KEYS}/u09b?dryRun=All`, { ...json, metadata: changed });
  expect({ status, warnings }).toEqual({ status: 200, warnings: [warningOf("a"), warningOf("b")] });
  const refused = await api.put(`${KEYS}/u09b`, { ...json, metadata: changed, spec: { ttl: "x" } });
  expect({ status: refused.status, warnings: refused.warnings }).toEqual({ status: 422, warnings: [] });
});

test("names an owner once, with a warning (U-10)", async () => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u1" };
  const { json, warnings } = await api.post(`${KEYS}?dryRun=All`, key("u10", {}, { ownerReferences: [owner, owner] }));
  expect(json.metadata.ownerReferences).toEqual([owner]);
  expect(warnings[0]).toContain("duplicate UID(s) observed: u1");
});

test("answers 404 for a missing object (U-11)", async () => {
  expect((await api.put(`${KEYS}/u11`, key("u11", {}, { resourceVersion: "5" }))).json).toMatchObject({
    code: 404,
    reason: "NotFound",
  });
});

test("refuses another name than the path's, and none (E-10)", async () => {
  expect((await api.put(`${KEYS}/e10`, key("other"))).json.message).toBe(
    "the name of the object (other) does not match the name on the URL (e10)",
  );
  expect((await api.put(`${KEYS}/e10`, key(""))).json.message).toBe(
    "the name of the object (e10 based on URL) was undeterminable: name must be provided",
  );
});

test("lets the prefix of a generated name change, and the name not (U-07)", async () => {
  const { metadata } = await create("u07", { user: "u" }, { generateName: "u0" });
  const { status, json } = await api.put(`${KEYS}/u07`, {
    ...key("u07", { user: "u" }),
    metadata: { ...metadata, generateName: "other-" },
  });
  expect({ status, prefix: json.metadata.generateName, generation: json.metadata.generation }).toEqual({
    status: 200,
    prefix: "other-",
    generation: 1,
  });
});

test("names what may not change twice among the causes, and once in the message (U-12)", async () => {
  const { metadata } = await create("u12");
  const { json } = await api.put(`${KEYS}/u12`, {
    ...key("u12"),
    metadata: { ...metadata, deletionGracePeriodSeconds: 5 },
  });
  const cause = {
    reason: "FieldValueInvalid",
    message: "Invalid value: 5: field is immutable",
    field: "metadata.deletionGracePeriodSeconds",
  };
  expect(json.details.causes).toEqual([cause, cause]);
  expect(json.message).toBe(`OwnedAccessKey.management.example.com "u12" is invalid: ${cause.field}: ${cause.message}`);
});

test("lets everything change of what is being deleted, but for its finalizers (U-13)", async () => {
  await create("u13", { user: "u" }, { finalizers: ["example.com/a"] });
  const { metadata } = (await api.delete(`${KEYS}/u13`)).json;
  const { status, json } = await api.put(`${KEYS}/u13`, {
    ...key("u13", { team: "t" }),
    metadata: { ...metadata, labels: { a: "b" } },
  });
  expect({ status, spec: json.spec, labels: json.metadata.labels, generation: json.metadata.generation }).toEqual({
    status: 200,
    spec: { team: "t" },
    labels: { a: "b" },
    generation: metadata.generation + 1,
  });
  expect(json.metadata.deletionTimestamp).toBe(metadata.deletionTimestamp);
});

test("locks one object, under versions that all resources count together (U-14)", async () => {
  const first = await create("u14");
  const second = (await api.post(WIDGETS, widget("u14"))).json;
  const third = (await api.post("/api/v1/namespaces/default/configmaps", { metadata: { name: "u14" } })).json;
  expect((await api.put(`${KEYS}/u14`, { ...first, spec: { team: "t" } })).status).toBe(200);
  const versions = [first, second, third, (await api.get(`${KEYS}/u14`)).json].map((object) =>
    Number(object.metadata.resourceVersion),
  );
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  expect(new Set(versions).size).toBe(versions.length);
});

test("keeps a duplicate finalizer (U-09)", async () => {
  const finalizers = ["example.com/a", "example.com/a"];
  const { json } = await api.post(KEYS, key("u09-twice", {}, { finalizers }));
  expect(json.metadata.finalizers).toEqual(finalizers);
  const { status } = await api.patch(`${KEYS}/u09-twice`, MERGE_PATCH, { metadata: { labels: { a: "b" } } });
  expect(status).toBe(200);
});
