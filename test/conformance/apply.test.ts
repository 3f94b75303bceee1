// Server-side apply, and who is recorded as the owner of which field.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { APPLY_PATCH, apiOf, JSON_PATCH, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, startServer } from "./testing/start-server.ts";

const api = useServer();
const apply = (name: string, spec: JsonObject, query = "fieldManager=m1", meta: JsonObject = {}) =>
  api.patch(`${KEYS}/${name}?${query}`, APPLY_PATCH, key(name, spec, meta));
const TYPED_PATCH = (name: string) =>
  `failed to create typed patch object (/${name}; management.example.com/v1, Kind=OwnedAccessKey)`;

test("needs a field manager (S-01)", async () => {
  expect((await apply("s01", {}, "")).json).toMatchObject({
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  });
});

test("creates what is absent, but not a status (S-02)", async () => {
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
    "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
  ],
])("refuses a configuration with %s (S-03)", async (_what, body, message) => {
  const { json } = await api.patch(`${KEYS}/s03?fieldManager=m`, APPLY_PATCH, body);
  expect({ code: json.code, message: json.message }).toEqual({ code: 400, message });
});

test("changes nothing by the same configuration again (S-04)", async () => {
  const first = await apply("s04", { user: "a" });
  const again = await apply("s04", { user: "a" });
  expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
});

test("removes what an applier alone owned and leaves out, and keeps what another owns too (S-05)", async () => {
  await apply("s05", { user: "a", team: "t" });
  await apply("s05", { user: "a" }, "fieldManager=m2");
  const { json } = await apply("s05", { displayName: "d" });
  expect(json.spec).toEqual({ user: "a", displayName: "d" });
});

test("names the owner and the field of one conflict (S-06)", async () => {
  await apply("s06", { user: "a" });
  expect((await apply("s06", { user: "b" }, "fieldManager=m2")).json).toMatchObject({
    code: 409,
    reason: "Conflict",
    message: 'Apply failed with 1 conflict: conflict with "m1": .spec.user',
    details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m1"', field: ".spec.user" }] },
  });
});

test("lists several conflicts by owner (S-07)", async () => {
  await api.post(`${KEYS}?fieldManager=creator`, key("s07", { user: "u" }));
  await apply("s07", { team: "t" }, "fieldManager=second");
  const { json } = await apply("s07", { user: "x", team: "y" }, "fieldManager=third");
  expect(json.message).toBe(
    'Apply failed with 2 conflicts: conflicts with "creator" using management.example.com/v1:\n- .spec.user\n' +
      'conflicts with "second":\n- .spec.team',
  );
  expect(json.details).not.toHaveProperty("name");
});

test("takes the fields by force, and drops a manager that is left with nothing (S-08)", async () => {
  await apply("s08", { user: "a" });
  const { json } = await apply("s08", { user: "b" }, "fieldManager=m2&force=true");
  expect(json.spec.user).toBe("b");
  expect(json.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual(["m2"]);
});

test("tracks maps themselves for updates only (S-10)", async () => {
  const updated = (await api.post(KEYS, key("s10u", { user: "u" }))).json;
  const applied = (await apply("s10a", { user: "u" })).json;
  expect(updated.metadata.managedFields[0].fieldsV1).toEqual({ "f:spec": { ".": {}, "f:user": {} } });
  expect(applied.metadata.managedFields[0].fieldsV1).toEqual({ "f:spec": { "f:user": {} } });
});

test.each([
  ["kubectl/v1.32", "kubectl"],
  ["Mozilla/5.0 (X11)", "Mozilla"],
])("names a manager after the User-Agent %s (S-11)", async (userAgent, manager) => {
  const { json } = await api.post(`${KEYS}?dryRun=All`, key("s11"), { headers: { "User-Agent": userAgent } });
  expect(json.metadata.managedFields[0].manager).toBe(manager);
});

test("merges the oldest of more than ten updaters (S-13)", async () => {
  await api.post(`${KEYS}?fieldManager=u0`, key("s13"));
  for (let n = 1; n <= 11; n++) {
    await api.patch(`${KEYS}/s13?fieldManager=u${n}`, MERGE_PATCH, { metadata: { labels: { [`l${n}`]: "x" } } });
  }
  const { managedFields } = (await api.get(`${KEYS}/s13`)).json.metadata;
  const managers = managedFields.map(({ manager }: { manager: string }) => manager);
  expect(managers).toContain("ancient-changes");
  expect(managers).toHaveLength(10);
});

test("holds what was there before the first apply against it (S-14)", async () => {
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
])("answers 500 to %s (S-15)", async (_what, spec, fault) => {
  const { json } = await apply("s15", spec);
  expect({ code: json.code, message: json.message }).toEqual({ code: 500, message: `${TYPED_PATCH("s15")}: ${fault}` });
});

test.each<[string, JsonObject, string]>([
  ["an unknown field", { bogus: 1 }, ".spec.bogus: field not declared in schema"],
  ["a wrong type", { ttl: "s" }, ".spec.ttl: expected numeric (int or float), got string"],
])("answers 500 to %s, whatever fieldValidation says (S-16)", async (_what, spec, fault) => {
  const { json } = await apply("s16", spec, "fieldManager=m&fieldValidation=Ignore");
  expect({ code: json.code, message: json.message }).toEqual({ code: 500, message: `${TYPED_PATCH("s16")}: ${fault}` });
});

test("merges labels one by one and finalizers as a set (S-17)", async () => {
  await apply("s17", {}, "fieldManager=m1", { labels: { a: "1" }, finalizers: ["x.y/a"] });
  const { json } = await apply("s17", {}, "fieldManager=m2", { labels: { b: "2" }, finalizers: ["x.y/b"] });
  expect(json.metadata).toMatchObject({ labels: { a: "1", b: "2" }, finalizers: ["x.y/a", "x.y/b"] });
});

test("keeps main resource and status apart (S-18)", async () => {
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
  // Labels are dropped, and owned all the same: upstream resets the spec alone. No recorded apply of a status has labels, so that its source
  // decides: apiextensions-apiserver/pkg/registry/customresource/status_strategy.go (GetResetFields).
  expect(entry.fieldsV1["f:metadata"]).toEqual({ "f:labels": { "f:a": {} } });
  expect(entry.fieldsV1).not.toHaveProperty("f:spec");
});

test("uses a resourceVersion as a precondition, and refuses the uid of a missing object (S-19)", async () => {
  expect((await apply("s19", { user: "a" }, "fieldManager=m1", { resourceVersion: "55" })).status).toBe(201);
  expect((await apply("s19", { user: "b" }, "fieldManager=m1", { resourceVersion: "1" })).status).toBe(409);
  expect((await apply("s19-absent", {}, "fieldManager=m1", { uid: "x" })).json).toMatchObject({
    code: 409,
    message: expect.stringContaining(
      "uid mismatch: the provided object specified uid x, and no existing object was found",
    ),
  });
});

test("makes dry runs of creations and changes (S-20)", async () => {
  expect((await apply("s20", { user: "a" }, "fieldManager=m1&dryRun=All")).status).toBe(201);
  expect((await api.get(`${KEYS}/s20`)).status).toBe(404);
});

test("leaves null where a manager gives up the last field of an object that it still applies (S-21)", async () => {
  await apply("s21", { user: "a" });
  expect((await apply("s21", {})).json).toMatchObject({
    code: 422,
    details: {
      causes: [{ field: "spec", message: 'Invalid value: "null": spec in body must be of type object: "null"' }],
    },
  });
});

test("moves from client-side to server-side apply as kubectl does (K-08)", async () => {
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

type Entry = {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly time: string;
};
const entriesOf = ({ metadata }: { readonly metadata: { readonly managedFields: readonly Entry[] } }) =>
  metadata.managedFields.map(({ manager, operation, subresource = "" }) => [manager, operation, subresource].join(" "));

/**
 * Gives the entries of an object other times, by the name of their manager. Times alone would be no change: the manager `clock` sets an
 * annotation of its own beside them.
 */
async function setTimes(path: string, times: { readonly [manager: string]: string }): Promise<void> {
  const { annotations, managedFields, resourceVersion } = (await api.get(path)).json.metadata;
  const value = managedFields.map((entry: Entry) => ({ ...entry, time: times[entry.manager] ?? entry.time }));
  const { status } = await api.patch(`${path}?fieldManager=clock`, JSON_PATCH, [
    { op: "replace", path: "/metadata/managedFields", value },
    { op: "add", path: "/metadata/annotations", value: { ...annotations, set: resourceVersion } },
  ]);
  expect(status).toBe(200);
}
const OLD = "2020-01-01T00:00:00Z";

test("distinguishes managers by name, operation and subresource, and updaters also by version (S-09)", async () => {
  await api.post(`${WIDGETS}?fieldManager=m`, widget("s09"));
  await api.patch(`${WIDGETS}/s09?fieldManager=m`, APPLY_PATCH, widget("s09", { mode: "A" }));
  await api.patch(`${WIDGETS}/s09/status?fieldManager=m`, MERGE_PATCH, { status: { phase: "x" } });
  await api.patch(`${WIDGETS}/s09/status?fieldManager=m`, APPLY_PATCH, { ...widget("s09"), status: { replicas: 1 } });
  const { json } = await api.get(`${WIDGETS}/s09`);
  expect(entriesOf(json).toSorted()).toEqual(["m Apply ", "m Apply status", "m Update ", "m Update status"]);
  for (const entry of json.metadata.managedFields) {
    expect(entry).toMatchObject({
      apiVersion: "management.example.com/v1",
      fieldsType: "FieldsV1",
      fieldsV1: expect.any(Object),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  }
});

test("lists appliers first, then by time, then by name (S-09)", async () => {
  await api.post(`${KEYS}?fieldManager=zoe`, key("s09"));
  await api.patch(`${KEYS}/s09?fieldManager=ann`, MERGE_PATCH, { spec: { team: "t" } });
  await apply("s09", { displayName: "d" }, "fieldManager=yves");
  await apply("s09", { description: "d" }, "fieldManager=bea");
  await setTimes(`${KEYS}/s09`, { zoe: OLD, ann: OLD, yves: OLD, bea: "2021-01-01T00:00:00Z" });
  // Times alone are no change.
  const { json } = await api.get(`${KEYS}/s09`);
  const late = json.metadata.managedFields.map((entry: Entry) => ({ ...entry, time: "2022-01-01T00:00:00Z" }));
  const patch = { metadata: { managedFields: late } };
  expect((await api.patch(`${KEYS}/s09`, MERGE_PATCH, patch)).json.metadata).toEqual(json.metadata);
  expect(entriesOf(json)).toEqual(["yves Apply ", "bea Apply ", "ann Update ", "zoe Update ", "clock Update "]);
});

test("gives an entry another time only for other fields or values of its own (S-12)", async () => {
  await apply("s12", { user: "a", team: "t" }, "fieldManager=one");
  await apply("s12", { displayName: "d" }, "fieldManager=two");
  await api.patch(`${KEYS}/s12?fieldManager=three`, MERGE_PATCH, { spec: { description: "d" } });
  await setTimes(`${KEYS}/s12`, { one: OLD, two: OLD, three: OLD });
  const changed = async (change: () => Promise<unknown>) => {
    await change();
    const { managedFields } = (await api.get(`${KEYS}/s12`)).json.metadata;
    const names = managedFields
      .filter(({ time, manager }: Entry) => time !== OLD && manager !== "clock")
      .map(({ manager }: Entry) => manager);
    await setTimes(`${KEYS}/s12`, { one: OLD, two: OLD, three: OLD });
    return names;
  };
  expect(await changed(() => apply("s12", { user: "a", team: "t" }, "fieldManager=one"))).toEqual([]);
  expect(await changed(() => apply("s12", { user: "b", team: "t" }, "fieldManager=one"))).toEqual(["one"]);
  expect(await changed(() => apply("s12", { user: "b" }, "fieldManager=one"))).toEqual(["one"]);
  const update = (spec: JsonObject) => api.patch(`${KEYS}/s12?fieldManager=three`, MERGE_PATCH, { spec });
  expect(await changed(() => update({ description: "d" }))).toEqual([]);
  expect(await changed(() => update({ description: "e" }))).toEqual(["three"]);
  // A field taken from a manager is no change by that manager.
  expect(await changed(() => update({ user: "c" }))).toEqual(["three"]);
});

test("lets only kubectl take over the fields of its own client-side apply (S-22)", async () => {
  const lastApplied = JSON.stringify(key("s22", { user: "a", team: "t" }));
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": lastApplied };
  const body = key("s22", { user: "a", team: "t" }, { annotations });
  await api.post(`${KEYS}?fieldManager=kubectl-client-side-apply`, body);
  expect((await apply("s22", { user: "b" }, "fieldManager=other")).json.message).toBe(
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using management.example.com/v1: .spec.user',
  );
  const { status, json } = await apply("s22", { user: "b", team: "t" }, "fieldManager=kubectl");
  expect({ status, user: json.spec.user, entries: entriesOf(json) }).toEqual({
    status: 200,
    user: "b",
    entries: ["kubectl Apply ", "kubectl-client-side-apply Update "],
  });
});

test("merges what has no schema by what it is: maps by key, lists and scalars whole (S-23)", async () => {
  const free = (value: JsonObject, manager: string, query = "") =>
    api.patch(`${WIDGETS}/s23?fieldManager=${manager}${query}`, APPLY_PATCH, widget("s23", { size: 1, free: value }));
  await free({ a: { x: 1 }, list: [{ name: "n" }] }, "one");
  const { json } = await free({ a: { y: [1] }, b: null }, "two");
  expect(json.spec.free).toEqual({ a: { x: 1, y: [1] }, b: null, list: [{ name: "n" }] });
  const entry = json.metadata.managedFields.find(({ manager }: Entry) => manager === "two");
  expect(entry.fieldsV1["f:spec"]["f:free"]).toEqual({ "f:a": { ".": {}, "f:y": {} }, "f:b": {} });
  expect((await free({ list: [] }, "two")).json.message).toBe(
    'Apply failed with 1 conflict: conflict with "one": .spec.free.list',
  );
  expect((await free({ a: { x: { deep: true } } }, "two", "&force=true")).json.spec.free).toEqual({
    a: { x: { deep: true } },
    list: [{ name: "n" }],
  });
});

test("gives a manager of parts the whole of what became atomic, and cannot tell the parts of what became granular (S-24)", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "postern-schemas-"));
  const atomic = await readFile(CUSTOM_RESOURCE_DEFINITIONS, "utf8");
  const MARK = "x-kubernetes-map-type: atomic, ";
  expect(atomic).toContain(MARK);
  const granular = join(dataDir, "granular.yaml");
  await writeFile(granular, atomic.replace(MARK, ""));

  /** The atoms of the entries, by manager, after an apply of a server with these definitions. */
  const applyUnder = async (crdFile: string, manager: string, atom: JsonObject) => {
    await using server = await startServer({ dataDir, crdFiles: [crdFile] });
    const reply = await apiOf(() => server).patch(
      `${WIDGETS}/s24?fieldManager=${manager}`,
      APPLY_PATCH,
      widget("s24", { size: 1, atom }),
    );
    const entries: readonly (Entry & { readonly fieldsV1: any })[] = reply.json.metadata.managedFields ?? [];
    const owned = entries.map(({ manager: name, fieldsV1 }) => [name, fieldsV1["f:spec"]["f:atom"]]);
    return { message: reply.json.message, owned: Object.fromEntries(owned) };
  };
  expect((await applyUnder(CUSTOM_RESOURCE_DEFINITIONS, "one", { a: "1" })).owned).toEqual({ one: {} });
  const second = await applyUnder(granular, "two", { b: "2" });
  expect(second.owned).toEqual({ one: {}, two: { "f:b": {} } });
  expect((await applyUnder(CUSTOM_RESOURCE_DEFINITIONS, "two", { a: "1", b: "3" })).message).toBe(
    'Apply failed with 1 conflict: conflict with "one": .spec.atom',
  );
  await rm(dataDir, { recursive: true });
});
