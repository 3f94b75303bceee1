// Handling of unusual bodies by the built-in kinds, and of the bodies of deletions, scales and statuses: as kube-apiserver 1.32 does.

import { expect, test } from "vitest";
import { API, APPLY_PATCH, JSON_PATCH, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const STRATEGIC = "application/strategic-merge-patch+json";
const CORE = "/api/v1/namespaces/default";
const MAPS = `${CORE}/configmaps`;
const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS = `${CORE}/events`;
const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const made = async (path: string, name: string, fields: object = {}): Promise<any> => {
  const { json, status } = await api.post(path, { metadata: { name }, ...fields });
  expect([status, json.message]).toEqual([201, undefined]);
  return json;
};
const refusal = ({ status, json }: { readonly status: number; readonly json: any }) => [status, json.message];

test.each([
  ["configmaps", { data: { KEY: null } }, { KEY: "" }],
  ["configmaps", { data: { a: "1", KEY: null } }, { a: "1", KEY: "" }],
  ["secrets", { data: { KEY: null } }, { KEY: "" }],
  ["secrets", { data: null, stringData: { KEY: null } }, { KEY: "" }],
])("a key of %s whose value is null stays, empty: %j", async (plural, fields, data) => {
  const name = `null-${plural}-${Object.keys(fields).length}-${Object.keys(data).length}`;
  expect((await made(`${CORE}/${plural}`, name, fields)).data).toEqual(data);
  const added = await api.patch(`${CORE}/${plural}/${name}`, JSON_PATCH, [
    { op: "add", path: "/data/later", value: null },
  ]);
  expect(added.json.data).toEqual({ ...data, later: "" });
});

test("lists of rules, subjects and secrets that are empty are left out, and rules are null", async () => {
  expect((await made(ROLES, "no-rules", { rules: [] })).rules).toBeNull();
  expect((await api.get(`${ROLES}/no-rules`)).json).toMatchObject({ rules: null });
  expect((await made(ROLES, "absent-rules")).rules).toBeNull();
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
  expect((await made(ROLES, "empty-names", { rules: [{ ...rule, resourceNames: [] }] })).rules).toEqual([rule]);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "no-rules" };
  expect(await made(BINDINGS, "nobody", { roleRef, subjects: [] })).not.toHaveProperty("subjects");
  expect(await made(`${CORE}/serviceaccounts`, "none", { secrets: [], imagePullSecrets: [] })).not.toHaveProperty(
    "secrets",
  );
  const empty = await made(MAPS, "no-data", { data: {}, binaryData: {} });
  expect([empty.data, empty.binaryData, empty.metadata.managedFields]).toEqual([undefined, undefined, undefined]);
});

test("null in a list of subjects is a subject of which nothing is known", async () => {
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  expect(
    refusal(await api.post(BINDINGS, { metadata: { name: "nulls" }, roleRef, subjects: [null] } as never)),
  ).toEqual([422, expect.stringContaining('subjects[0].kind: Unsupported value: ""')]);
});

test.each([
  [
    { finalizers: ["abc"] },
    'metadata.finalizers[0]: Invalid value: "abc": name is neither a standard finalizer name nor',
  ],
  [{ generation: -1 }, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
])("metadata %j of a built-in kind is refused", async (metadata, why) => {
  expect(refusal(await api.post(MAPS, { metadata: { name: "wrong", ...metadata } }))).toEqual([
    422,
    expect.stringContaining(why),
  ]);
});

test("standard finalizers need no domain, and a generation is kept if the kind does not count it", async () => {
  const { metadata } = await made(MAPS, "kept", { metadata: { name: "kept", finalizers: ["orphan"], generation: 5 } });
  expect(metadata).toMatchObject({ finalizers: ["orphan"], generation: 5 });
  const { json } = await api.patch(`${MAPS}/kept`, MERGE_PATCH, { metadata: { finalizers: null, generation: 9 } });
  expect(json.metadata.generation).toBe(5);
});

const MICRO = '"2006-01-02T15:04:05.000000Z07:00"';
test.each([
  ["2026-01-01T00:00:00Z", `as ${MICRO}: cannot parse "Z" as ".000000"`],
  ["", `as ${MICRO}: cannot parse "" as "2006"`],
  ["2026-13-01T00:00:00.000000Z", ": month out of range"],
])("a lease renewed at %j is refused", async (renewTime, why) => {
  const answer = await api.post(LEASES, { metadata: { name: "wrong" }, spec: { renewTime } });
  expect(refusal(answer)).toEqual([
    400,
    expect.stringMatching(/^Lease in version "v1" cannot be handled as a Lease: parsing time /),
  ]);
  expect(answer.json.message).toContain(why);
});

test("the times of leases are kept in UTC, to the microsecond", async () => {
  const { spec } = await made(LEASES, "timed", { spec: { renewTime: "2026-01-01T00:00:00.123456+02:00" } });
  expect(spec.renewTime).toBe("2025-12-31T22:00:00.123456Z");
});

test.each([
  [EVENTS, "A_b", { involvedObject: { namespace: "default" } }, 201, undefined],
  [EVENTS, "A%b", { involvedObject: { namespace: "default" } }, 422, "may not contain '%'"],
  [REQUESTS, "A/b", { spec: {} }, 422, "may not contain '/'"],
  [ROLES, "a%b", {}, 422, "may not contain '%'"],
])("in %s the name %s is judged as part of a path", async (path, name, fields, status, why) => {
  const { status: found, json } = await api.post(path, { metadata: { name }, ...fields });
  expect([found, json.message]).toEqual([status, why === undefined ? undefined : expect.stringContaining(why)]);
});

test.each([
  ["configmaps", MAPS],
  ["clusterroles", ROLES],
  ["widgets", WIDGETS],
])("a name with a percent sign in the path of %s is no name, whatever is done there", async (_plural, path) => {
  const refused = [400, `Name parameter invalid: "a%b": may not contain '%'`];
  const at = `${path}/a%25b`;
  expect(refusal(await api.get(at))).toEqual(refused);
  expect(refusal(await api.delete(at))).toEqual(refused);
  expect(refusal(await api.patch(at, MERGE_PATCH, {}))).toEqual(refused);
  expect(refusal(await api.put(at, { metadata: { name: "a%b" } } as never))).toEqual(refused);
  // A selector for a name that cannot be selects nothing.
  const { status, json } = await api.get(`${path}?fieldSelector=metadata.name%3Da%2525b`);
  expect([status, json.items]).toEqual([200, []]);
});

test("a certificate request may be called anything: only what it asks for is refused", async () => {
  const { json } = await api.post(REQUESTS, { metadata: { name: "A_B" }, spec: { usages: ["client auth"] } });
  expect(json.details.causes.map(({ field }: any) => field)).not.toContain("metadata.name");
});

test.each([
  ["abc!", 3],
  ["a", 0],
  ["MQ==x", 4],
])("%j is no base64", async (value, at) => {
  const answer = await api.post(`${CORE}/secrets`, { metadata: { name: "wrong" }, data: { KEY: value } });
  expect(refusal(answer)).toEqual([
    400,
    `Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte ${at}`,
  ]);
});

test("a service account may name a secret twice", async () => {
  const secrets = [{ name: "a" }, { name: "a" }];
  expect((await made(`${CORE}/serviceaccounts`, "twice", { secrets })).secrets).toEqual(secrets);
});

test("an immutable ConfigMap refuses an apply as it refuses any other change", async () => {
  await made(MAPS, "immutable", { immutable: true, data: { a: "1" } });
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "immutable" } };
  const apply = (fields: object) =>
    api.patch(`${MAPS}/immutable?fieldManager=x&force=true`, APPLY_PATCH, { ...applied, ...fields });
  const why = "Forbidden: field is immutable when `immutable` is set";
  expect(refusal(await apply({ data: { a: "2" } }))).toEqual([422, `ConfigMap "immutable" is invalid: data: ${why}`]);
  expect(refusal(await apply({ immutable: false, binaryData: { b: "MQ==" } }))).toEqual([
    422,
    `ConfigMap "immutable" is invalid: [immutable: ${why}, binaryData: ${why}]`,
  ]);
  expect((await apply({ data: { a: "1" } })).status).toBe(200);
});

test.each([
  ["configmaps", "ConfigMap", { data: { a: "1" } }, { data: { a: "2" } }],
  ["secrets", "Secret", { data: { a: "MQ==" } }, { data: { a: "Mg==" } }],
])("of immutable %s only the metadata changes, whichever way", async (plural, kind, fields, others) => {
  const path = `${CORE}/${plural}/fixed-${plural}`;
  const object = await made(`${CORE}/${plural}`, `fixed-${plural}`, { immutable: true, ...fields });
  const why = "Forbidden: field is immutable when `immutable` is set";
  const ways = [
    (change: object) => api.put(path, { ...object, ...change }),
    (change: object) => api.patch(path, MERGE_PATCH, { ...change }),
    (change: object) => api.patch(path, STRATEGIC, { ...change }),
    (change: object) =>
      api.patch(
        path,
        JSON_PATCH,
        Object.entries(change).map(([name, value]) => ({ op: "add", path: `/${name}`, value })),
      ),
    (change: object) =>
      api.patch(`${path}?fieldManager=x&force=true`, APPLY_PATCH, {
        apiVersion: "v1",
        kind,
        metadata: { name: `fixed-${plural}` },
        ...change,
      }),
  ];
  for (const change of ways) {
    const refused = (member: string) => [422, `${kind} "fixed-${plural}" is invalid: ${member}: ${why}`];
    expect(refusal(await change(others))).toEqual(refused("data"));
    expect(refusal(await change({ immutable: false }))).toEqual(refused("immutable"));
    const { status, json } = await change({ metadata: { ...object.metadata, labels: { a: "b" } } });
    // An apply may bring neither managed fields nor metadata of the server's.
    expect([status, json.data]).toEqual(status === 400 ? [400, undefined] : [200, fields.data]);
    object.metadata = (await api.get(path)).json.metadata;
  }
});

test("a name that is taken was generated, as far as a prefix beside it says", async () => {
  await made(MAPS, "taken");
  const { status, json } = await api.post(MAPS, { metadata: { name: "taken", generateName: "t-" } });
  expect([status, json.message, json.details.retryAfterSeconds]).toEqual([
    409,
    'configmaps "taken" already exists, the server was not able to generate a unique name for the object',
    1,
  ]);
});

test("a patch that takes the kind away leaves it what it is", async () => {
  await made(MAPS, "kindless", { data: { a: "1" } });
  for (const type of [MERGE_PATCH, STRATEGIC]) {
    const { status, json } = await api.patch(`${MAPS}/kindless`, type, '{"kind":null,"apiVersion":null}');
    expect([status, json.kind, json.apiVersion]).toEqual([200, "ConfigMap", "v1"]);
  }
});

test.each([
  [
    "POST",
    MAPS,
    '{"kind":null}',
    422,
    'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  ],
  [
    "POST",
    MAPS,
    "{}{}",
    400,
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '{' after top-level value ({}{})",
  ],
  ["DELETE", `${MAPS}/absent`, '{"kind":null}', 404, 'configmaps "absent" not found'],
  [
    "DELETE",
    `${MAPS}/absent`,
    "{}{}",
    400,
    "couldn't get version/kind; json parse error: invalid character '{' after top-level value",
  ],
])("%s %s %s", async (method, path, body, status, why) => {
  const answer = method === "POST" ? await api.post(path, body) : await api.delete(path, body);
  expect(refusal(answer)).toEqual([status, why]);
});

test("a PUT that creates may contain the version of a deleted object", async () => {
  for (const [path, name] of [
    [LEASES, "created"],
    [ROLES, "created"],
  ]) {
    const { status, json } = await api.put(`${path}/${name}`, { metadata: { name, resourceVersion: "5" } } as never);
    expect([status, json.metadata.resourceVersion === "5"]).toEqual([201, false]);
  }
});

test("preconditions hold for each object that a deletecollection deletes", async () => {
  const { metadata } = await made(MAPS, "guarded", { metadata: { name: "guarded", labels: { guarded: "yes" } } });
  const path = `${MAPS}?labelSelector=guarded%3Dyes`;
  expect(refusal(await api.delete(path, { preconditions: { uid: "other" } }))).toEqual([
    409,
    expect.stringContaining("the UID in the precondition (other) does not match the UID in record"),
  ]);
  expect((await api.get(`${MAPS}/guarded`)).status).toBe(200);
  expect((await api.delete(path, { preconditions: { uid: metadata.uid } })).status).toBe(200);
  expect((await api.get(`${MAPS}/guarded`)).status).toBe(404);
});

test("resourceVersion in the query of a deletion is a precondition", async () => {
  const { metadata } = await made(MAPS, "versioned");
  const found = `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${metadata.resourceVersion})`;
  expect(refusal(await api.delete(`${MAPS}/versioned?resourceVersion=1`))).toEqual([
    409,
    `Operation cannot be fulfilled on ConfigMap "versioned": ${found}. The object might have been modified`,
  ]);
  expect((await api.delete(`${MAPS}/versioned?resourceVersion=${metadata.resourceVersion}`)).status).toBe(200);
});

test("a scale is patched also where replicas were never set", async () => {
  await api.post(WIDGETS, widget("unscaled"));
  const scale = `${WIDGETS}/unscaled/scale`;
  expect((await api.get(scale)).status).toBe(500);
  expect(refusal(await api.patch(scale, MERGE_PATCH, {}))).toEqual([
    400,
    'the spec replicas field ".spec.replicas" cannot be empty',
  ]);
  const { status, json } = await api.patch(scale, MERGE_PATCH, { spec: { replicas: 3 } });
  expect([status, json.spec]).toEqual([200, { replicas: 3 }]);
});

test("metadata changed through a status is owned there; only built-in kinds keep it", async () => {
  const change = { metadata: { labels: { a: "b" } } };
  const ownedLabels = (json: any) =>
    json.metadata.managedFields.find(({ subresource }: any) => subresource === "status").fieldsV1["f:metadata"];
  await api.post(WIDGETS, widget("labelled"));
  const custom = await api.patch(`${WIDGETS}/labelled/status`, MERGE_PATCH, change);
  expect([custom.json.metadata.labels, ownedLabels(custom.json)]).toEqual([
    undefined,
    { "f:labels": { ".": {}, "f:a": {} } },
  ]);
  await made("/api/v1/namespaces", "labelled");
  const builtin = await api.patch("/api/v1/namespaces/labelled/status", MERGE_PATCH, change);
  expect([builtin.json.metadata.labels.a, ownedLabels(builtin.json)]).toEqual(["b", { "f:labels": { "f:a": {} } }]);
});

test("orphans own no reference to what they belonged to", async () => {
  const { metadata } = await made(MAPS, "parent");
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "parent", uid: metadata.uid };
  await made(MAPS, "orphan", { metadata: { name: "orphan", labels: { a: "b" }, ownerReferences: [owner] } });
  const orphan = async (): Promise<any> => (await api.get(`${MAPS}/orphan`)).json.metadata;
  expect(JSON.stringify((await orphan()).managedFields)).toContain("f:ownerReferences");
  await api.delete(`${MAPS}/parent`, { propagationPolicy: "Orphan" });
  await expect.poll(orphan).not.toHaveProperty("ownerReferences");
  expect(JSON.stringify((await orphan()).managedFields)).not.toContain("f:ownerReferences");
});

test("a number with a fraction is named as what it is, where an integer belongs", async () => {
  const { status, json } = await api.post(`${API}/namespaces/default/widgets`, widget("fraction", { size: 1.5 }));
  expect([status, json.message]).toEqual([
    422,
    expect.stringContaining('spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"'),
  ]);
});

test("a name in the field selector selects across namespaces, with permission for that name", async () => {
  await made(MAPS, "chosen", { data: { a: "1" } });
  await made("/api/v1/namespaces/other/configmaps", "chosen");
  await made("/api/v1/namespaces/other/configmaps", "not-chosen");
  const path = "/api/v1/configmaps?fieldSelector=metadata.name%3Dchosen";
  const rules = [{ verbs: ["list", "watch"], apiGroups: [""], resources: ["configmaps"], resourceNames: ["chosen"] }];
  await made(ROLES, "one-map", { rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "one-map" };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }];
  await made(BINDINGS, "alice-one-map", { roleRef, subjects });

  for (const as of ["admin", "alice"] as const) {
    const { status, json } = await api.get(path, { as });
    expect([as, status, json.items?.map(({ metadata }: any) => metadata.namespace)]).toEqual([
      as,
      200,
      ["default", "other"],
    ]);
    const watch = await api.watch(`${path}&watch=1&timeoutSeconds=1`, { as });
    expect([watch.status, (await watch.lines(2)).length]).toEqual([200, 2]);
    watch.close();
  }
  expect((await api.get("/api/v1/configmaps", { as: "alice" })).status).toBe(403);
  expect((await api.get("/api/v1/configmaps?fieldSelector=metadata.name%3Dnot-chosen", { as: "alice" })).status).toBe(
    403,
  );
  // Upstream reads no name from the selector of a deletecollection, and serves none across namespaces.
  expect((await api.delete(`${MAPS}?fieldSelector=metadata.name%3Dchosen`, undefined, { as: "alice" })).status).toBe(
    403,
  );
  expect((await api.delete(path)).status).toBe(405);
});
