// Owners and what is collected after them, and namespaces that end.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { expect, test } from "vitest";
import { allow } from "./testing/allow.ts";
import { API, GROUP, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const NAMESPACES = "/api/v1/namespaces";
const widgetsIn = (namespace: string) => `${API}/namespaces/${namespace}/widgets`;

type Stored = { readonly kind: string; readonly metadata: { readonly name: string; readonly uid: string } };

const create = async (path: string, body: JsonObject): Promise<Stored> => {
  const { status, json } = await api.post(path, body);
  expect(status).toBe(201);
  return json;
};
const ownerOf = ({ kind, metadata: { name, uid } }: Stored, more: JsonObject = {}): JsonObject => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  name,
  uid,
  ...more,
});
const dependent = (name: string, ...ownerReferences: readonly JsonObject[]) =>
  key(name, { user: "u" }, { ownerReferences });

/** The names that are gone, in the order in which they went, when as many are as `change` is to bring about. */
async function namesGone(path: string, count: number, change: () => Promise<unknown>): Promise<readonly string[]> {
  const { resourceVersion } = (await api.get(path)).json.metadata;
  const watch = await api.watch(`${path}?watch=true&resourceVersion=${resourceVersion}`);
  await change();
  const gone: string[] = [];
  for (let lines = 1; gone.length < count; lines++) {
    const { type, object } = JSON.parse((await watch.lines(lines)).at(lines - 1) ?? "");
    if (type === "DELETED") gone.push(object.metadata.name);
  }
  watch.close();
  return gone;
}

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u1" };

test.each([
  ["uid", { ...CONFIG_MAP, uid: "" }, "metadata.ownerReferences.uid", 'Invalid value: "": must not be empty'],
  ["name", { ...CONFIG_MAP, name: "" }, "metadata.ownerReferences.name", 'Invalid value: "": must not be empty'],
  ["kind", { ...CONFIG_MAP, kind: "" }, "metadata.ownerReferences.kind", 'Invalid value: "": must not be empty'],
  [
    "version",
    { ...CONFIG_MAP, apiVersion: "a/b/c" },
    "metadata.ownerReferences.apiVersion",
    'Invalid value: "a/b/c": version must not be empty',
  ],
])("needs the %s of an owner (G-01)", async (_what, reference, field, message) => {
  const { json } = await api.post(KEYS, dependent("g01", reference));
  expect(json).toMatchObject({ code: 422, message: `OwnedAccessKey.${GROUP} "g01" is invalid: ${field}: ${message}` });
  expect(json.details.causes).toEqual([{ reason: "FieldValueInvalid", message, field }]);
});

test("names each member of an owner that is nothing at all, once (G-01)", async () => {
  const { causes } = (await api.post(KEYS, dependent("g01", {}))).json.details;
  expect(causes.map(({ field }: { field: string }) => field)).toEqual(
    ["apiVersion", "kind", "name", "uid"].map((member) => `metadata.ownerReferences.${member}`),
  );
});

test("takes one controller at most (G-02)", async () => {
  const controller = { ...CONFIG_MAP, controller: true };
  const { json } = await api.post(KEYS, dependent("g02", controller, { ...controller, name: "d", uid: "u2" }));
  expect(json.details.causes).toEqual([
    {
      reason: "FieldValueInvalid",
      field: "metadata.ownerReferences",
      message: expect.stringMatching(
        /Only one reference can have Controller set to true\. Found "true" in references for ConfigMap\/c and ConfigMap\/d$/,
      ),
    },
  ]);
});

test("lets no event own anything, where it is one of the core group (G-03)", async () => {
  const { json } = await api.post(KEYS, dependent("g03", { ...CONFIG_MAP, kind: "Event" }));
  expect(json.message).toContain(": /v1, Kind=Event is disallowed from being an owner");
  const other = { ...CONFIG_MAP, apiVersion: "events.k8s.io/v1", kind: "Event" };
  expect((await api.post(`${KEYS}?dryRun=All`, dependent("g03", other))).status).toBe(201);
});

test("collects dependents some time after their owner (G-04)", async () => {
  const owner = await create(KEYS, key("g04b"));
  await create(KEYS, dependent("g04b-of", ownerOf(owner, { blockOwnerDeletion: true })));
  const gone = await namesGone(KEYS, 2, () => api.delete(`${KEYS}/g04b`, { propagationPolicy: "Background" }));
  expect(gone).toEqual(["g04b", "g04b-of"]);
});

test("collects dependents, and waits for them in the foreground (G-04)", async () => {
  const owner = await create(KEYS, key("g04f"));
  await create(KEYS, dependent("g04f-of", ownerOf(owner, { blockOwnerDeletion: true })));
  const gone = await namesGone(KEYS, 2, () => api.delete(`${KEYS}/g04f`, { propagationPolicy: "Foreground" }));
  expect(gone).toEqual(["g04f-of", "g04f"]);
});

test("leaves orphans alone, and takes the reference from them (G-04)", async () => {
  const owner = await create(KEYS, key("g04o"));
  await create(KEYS, dependent("g04o-of", ownerOf(owner)));
  expect(await namesGone(KEYS, 1, () => api.delete(`${KEYS}/g04o`, { propagationPolicy: "Orphan" }))).toEqual(["g04o"]);
  const { status, json } = await api.get(`${KEYS}/g04o-of`);
  expect({ status, owners: json.metadata.ownerReferences }).toEqual({ status: 200, owners: undefined });
});

test("collects with the last owner, and drops a reference to one that is gone before (G-05)", async () => {
  const [first, second] = [await create(KEYS, key("g05a")), await create(KEYS, key("g05b"))];
  const { metadata } = await create(KEYS, dependent("g05-of", ownerOf(first), ownerOf(second)));
  const watch = await api.watch(`${KEYS}?watch=true&fieldSelector=metadata.name%3Dg05-of`);
  await watch.lines(1);
  await api.delete(`${KEYS}/g05a`);
  const { type, object } = JSON.parse((await watch.lines(2)).at(1) ?? "");
  expect({ type, uid: object.metadata.uid, owners: object.metadata.ownerReferences }).toEqual({
    type: "MODIFIED",
    uid: metadata.uid,
    owners: [ownerOf(second)],
  });
  watch.close();
  expect(await namesGone(KEYS, 2, () => api.delete(`${KEYS}/g05b`))).toEqual(["g05b", "g05-of"]);
});

test("collects what names an owner that never was, or that was made again (G-06)", async () => {
  const { metadata } = await create(KEYS, key("g06"));
  const other = { kind: "OwnedAccessKey", metadata: { ...metadata, uid: "11111111-1111-1111-1111-111111111111" } };
  const never = { kind: "OwnedAccessKey", metadata: { ...metadata, name: "g06-never" } };
  for (const [name, owner] of Object.entries({ "g06-other": other, "g06-absent": never })) {
    expect(await namesGone(KEYS, 1, () => create(KEYS, dependent(name, ownerOf(owner))))).toEqual([name]);
  }
});

test("collects no cluster-scoped object by a namespaced owner, and finds no owner in another namespace (G-07)", async () => {
  const owner = await create(WIDGETS, widget("g07"));
  await create(KEYS, dependent("g07-cluster", ownerOf(owner)));
  const stranger = widget("g07-stranger", { size: 1 }, { ownerReferences: [ownerOf(owner)] });
  const gone = await namesGone(`${API}/widgets`, 1, () => create(widgetsIn("other"), stranger));
  expect(gone).toEqual(["g07-stranger"]);
  // Its owner goes, and so would it now if it were held to belong to it.
  expect(await namesGone(`${API}/widgets`, 1, () => api.delete(`${WIDGETS}/g07`))).toEqual(["g07"]);
  const next = dependent("g07-next", ownerOf({ kind: "OwnedAccessKey", metadata: owner.metadata }));
  expect(await namesGone(KEYS, 1, () => create(KEYS, next))).toEqual(["g07-next"]);
  expect((await api.get(`${KEYS}/g07-cluster`)).status).toBe(200);
});

test("refuses with 422 to hold up an owner that one may not delete, where the hold is new (G-08)", async () => {
  await allow(api, "alice", { apiGroups: [GROUP], resources: ["ownedaccesskeys"], verbs: ["create", "patch"] });
  const owner = await create(KEYS, key("g08"));
  const held = ownerOf(owner, { blockOwnerDeletion: true });
  const alice = { as: "alice" } as const;
  const { json } = await api.post(KEYS, dependent("g08-of", held), alice);
  expect(json).toMatchObject({
    code: 422,
    details: {
      causes: [{ reason: "FieldValueForbidden", field: "metadata.ownerReferences[0].blockOwnerDeletion" }],
    },
  });
  expect((await api.post(KEYS, dependent("g08-free", ownerOf(owner)), alice)).status).toBe(201);
  const unknown = { apiVersion: "nosuch/v1", kind: "X", name: "x", uid: "u", blockOwnerDeletion: true };
  expect((await api.post(KEYS, dependent("g08-x", unknown), alice)).json.message).toContain(
    "cannot find RESTMapping for APIVersion nosuch/v1 Kind X",
  );
  await create(KEYS, dependent("g08-held", held));
  expect((await api.patch(`${KEYS}/g08-held`, MERGE_PATCH, { spec: { user: "v" } }, alice)).status).toBe(200);
});

test("refuses with 403 to give an object that one may not delete another owner (G-08)", async () => {
  await allow(api, "bob", { apiGroups: [GROUP], resources: ["ownedaccesskeys"], verbs: ["patch"] });
  const owner = await create(KEYS, key("g08-owner"));
  await create(KEYS, key("g08-owned"));
  const patch = { metadata: { ownerReferences: [ownerOf(owner)] } };
  expect((await api.patch(`${KEYS}/g08-owned`, MERGE_PATCH, patch, { as: "bob" })).json).toMatchObject({
    code: 403,
    message: `ownedaccesskeys.${GROUP} "g08-owned" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>`,
  });
});

test("ends a circle of objects that wait for each other (G-09)", async () => {
  const a = await create(KEYS, key("g09a"));
  const b = await create(KEYS, dependent("g09b", ownerOf(a, { blockOwnerDeletion: true })));
  const back = { metadata: { ownerReferences: [ownerOf(b, { blockOwnerDeletion: true })] } };
  expect((await api.patch(`${KEYS}/g09a`, MERGE_PATCH, back)).status).toBe(200);
  const gone = await namesGone(KEYS, 2, () => api.delete(`${KEYS}/g09a`, { propagationPolicy: "Foreground" }));
  expect(gone.toSorted()).toEqual(["g09a", "g09b"]);
});

const namespace = (name: string): JsonObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

test("keeps a namespace that is being deleted until what is in it is gone (G-10)", async () => {
  await create(NAMESPACES, namespace("g10"));
  await create(widgetsIn("g10"), widget("free"));
  await create(widgetsIn("g10"), widget("held", { size: 1 }, { finalizers: ["example.com/a"] }));
  const gone = await namesGone(widgetsIn("g10"), 1, async () => {
    const { status, json } = await api.delete(`${NAMESPACES}/g10`);
    expect({ status, kind: json.kind, spec: json.spec, phase: json.status.phase }).toEqual({
      status: 200,
      kind: "Namespace",
      spec: { finalizers: ["kubernetes"] },
      phase: "Terminating",
    });
    expect(json.metadata.deletionTimestamp).toEqual(expect.any(String));
  });
  expect(gone).toEqual(["free"]);
  expect((await api.get(`${NAMESPACES}/g10`)).json.status.phase).toBe("Terminating");
  const release = () => api.patch(`${widgetsIn("g10")}/held`, MERGE_PATCH, { metadata: { finalizers: null } });
  expect(await namesGone(NAMESPACES, 1, release)).toEqual(["g10"]);
});

test("ends an empty namespace by itself, and lets /finalize alone take its finalizer (G-10)", async () => {
  await create(NAMESPACES, namespace("g10e"));
  expect(await namesGone(NAMESPACES, 1, () => api.delete(`${NAMESPACES}/g10e`))).toEqual(["g10e"]);
  const { metadata } = await create(NAMESPACES, namespace("g10f"));
  const emptied = { ...namespace("g10f"), metadata, spec: {} };
  expect((await api.put(`${NAMESPACES}/g10f`, emptied)).json.spec).toEqual({ finalizers: ["kubernetes"] });
  const { resourceVersion: _, ...unlocked } = metadata as Stored["metadata"] & { readonly resourceVersion: string };
  const finalized = await api.put(`${NAMESPACES}/g10f/finalize`, { ...emptied, metadata: unlocked });
  expect(finalized.json.spec).toEqual({});
  expect((await api.delete(`${NAMESPACES}/g10f`)).json).toMatchObject({
    status: "Success",
    details: { uid: metadata.uid },
  });
});

test("lets nothing new into a namespace that is going (G-11)", async () => {
  await create(NAMESPACES, namespace("g11"));
  await create(widgetsIn("g11"), widget("held", { size: 1 }, { finalizers: ["example.com/a"] }));
  expect((await api.delete(`${NAMESPACES}/g11`)).json.status.phase).toBe("Terminating");
  expect((await api.post(widgetsIn("g11"), widget("new"))).json).toMatchObject({
    code: 403,
    message: `widgets.${GROUP} "new" is forbidden: unable to create new content in namespace g11 because it is being terminated`,
    details: {
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace g11 is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  });
});

test.each(["default", "kube-system", "kube-public"])("refuses deletion of the namespace %s (G-12)", async (name) => {
  expect((await api.delete(`${NAMESPACES}/${name}`)).json).toMatchObject({
    code: 403,
    message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
  });
});
