// Identity of a user, their permissions, and the users that they may impersonate.

import { readFile } from "node:fs/promises";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { expect, test } from "vitest";
import { allow, clusterRole, clusterRoleBinding, RBAC } from "./testing/allow.ts";
import { API, APPLY_PATCH, GROUP, KEYS, key, MERGE_PATCH, useServer, WIDGETS } from "./testing/api.ts";

const api = useServer();
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION = "/apis/authentication.k8s.io/v1";
const bob = { as: "bob" } as const;

const review = (kind: string, spec: JsonObject, options: { as?: "admin" | "alice" | "bob" } = {}) =>
  api.post(`${AUTHORIZATION}/${kind.toLowerCase()}s`, { apiVersion: "authorization.k8s.io/v1", kind, spec }, options);
const localReview = (spec: JsonObject, metadata: JsonObject = { namespace: "default" }) =>
  api.post(`${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "LocalSubjectAccessReview",
    metadata,
    spec,
  });
const tokenReview = (spec: JsonObject) =>
  api.post(`${AUTHENTICATION}/tokenreviews`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec });
const whoAmI = async (headers: { readonly [name: string]: string } = {}, as: "admin" | "alice" | "bob" = "admin") =>
  (
    await api.post(
      `${AUTHENTICATION}/selfsubjectreviews`,
      { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      { as, headers },
    )
  ).json.status.userInfo;

test.each(["Basic YWRtaW46YWRtaW4=", "Token admin-token", "Bearer", "Bearer "])(
  "accepts %j as no credential (A-02)",
  async (authorization) => {
    const { json } = await api.get(KEYS, { as: "", headers: { Authorization: authorization } });
    expect(json).toMatchObject({ code: 403, message: expect.stringContaining('User "system:anonymous" cannot list') });
  },
);

test("adds the group of authenticated users (A-04)", async () => {
  expect(await whoAmI({}, "bob")).toEqual({
    username: "bob",
    uid: "bob-uid",
    groups: ["devs", "system:authenticated"],
  });
});

type ProtobufCase = { readonly base64: string; readonly json: JsonObject; readonly note: string };

test("reads reviews in protobuf, as kubectl sends them, and answers so (Z-01)", async () => {
  const file = new URL("../../packages/apimachinery/src/protobuf/testdata/protobuf-reviews.json", import.meta.url);
  const { cases }: { readonly cases: readonly ProtobufCase[] } = JSON.parse(await readFile(file, "utf8"));
  const reviews = cases.filter(({ json }) => String(json["apiVersion"]).startsWith("authorization.k8s.io/"));
  expect(reviews.length).toBeGreaterThan(5);
  for (const { base64, json, note } of reviews) {
    const metadata = json["metadata"] as JsonObject;
    const { status, headers, bytes } = await api.server.client.send({
      method: "POST",
      path: `${AUTHORIZATION}/${String(json["kind"]).toLowerCase()}s`,
      headers: {
        Authorization: "Bearer admin-token",
        "Content-Type": "application/vnd.kubernetes.protobuf",
        Accept: "application/vnd.kubernetes.protobuf, application/json",
      },
      body: Buffer.from(base64, "base64"),
    });
    // One of them has a name and labels, which a review may not have.
    const expected = metadata["name"] === undefined ? 201 : 422;
    expect({ note, status, type: headers["content-type"] }).toEqual({
      note,
      status: expected,
      type: "application/vnd.kubernetes.protobuf",
    });
    const answer = decodeProtobufObject(bytes, { apiVersion: "", kind: "" });
    if (expected === 422) expect(answer).toMatchObject({ kind: "Status", code: 422 });
    else if (json["kind"] === "SelfSubjectAccessReview") expect(answer["status"]).toMatchObject({ allowed: true });
  }
});

test("wants exactly one of the two kinds of attributes (Z-02)", async () => {
  const both = { resourceAttributes: { verb: "get" }, nonResourceAttributes: { path: "/", verb: "get" } };
  expect((await review("SelfSubjectAccessReview", {})).json).toMatchObject({
    code: 422,
    message:
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of ' +
      "nonResourceAttributes or resourceAttributes must be specified",
  });
  expect((await review("SelfSubjectAccessReview", both)).json.details.causes).toEqual([
    {
      reason: "FieldValueInvalid",
      field: "spec.nonResourceAttributes",
      message:
        'Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with ' + "resourceAttributes",
    },
  ]);
});

test("checks the requirements of a selector, and knows that there may be operators it does not know (Z-02)", async () => {
  const select = (labelSelector: JsonObject) =>
    review("SelfSubjectAccessReview", { resourceAttributes: { verb: "list", labelSelector } });
  expect((await select({ requirements: [{ key: "a", operator: "Like", values: ["x"] }] })).status).toBe(201);
  const path = "spec.resourceAttributes.labelSelector";
  const faults = async (labelSelector: JsonObject) =>
    (await select(labelSelector)).json.details.causes.map(({ field }: { field: string }) => field);
  expect(await faults({})).toEqual([`${path}.requirements`]);
  expect(await faults({ rawSelector: "a", requirements: [{ key: "b", operator: "Exists" }] })).toEqual([
    `${path}.rawSelector`,
  ]);
  expect(
    await faults({
      requirements: [
        { key: "b", operator: "In" },
        { key: "-", operator: "Exists" },
      ],
    }),
  ).toEqual([`${path}.requirements[0].values`, `${path}.requirements[1].key`]);
});

test("needs a namespace to list the rules of, and answers with resource and other rules (Z-03)", async () => {
  await allow(api, "bob", { apiGroups: [GROUP], resources: ["widgets"], verbs: ["get"], resourceNames: ["z03"] });
  expect((await review("SelfSubjectRulesReview", {}, bob)).json).toMatchObject({
    code: 400,
    message: "no namespace on request",
  });
  const { status, json } = await review("SelfSubjectRulesReview", { namespace: "default" }, bob);
  expect({ status, incomplete: json.status.incomplete }).toEqual({ status: 201, incomplete: false });
  expect(json.status.resourceRules).toContainEqual({
    verbs: ["get"],
    apiGroups: [GROUP],
    resources: ["widgets"],
    resourceNames: ["z03"],
  });
  expect(json.status.nonResourceRules.flatMap(({ nonResourceURLs }: any) => nonResourceURLs)).toContain("/healthz");
});

test("reviews others by user or groups (Z-03)", async () => {
  const resourceAttributes = { verb: "delete", group: GROUP, resource: "widgets", namespace: "default" };
  expect((await review("SubjectAccessReview", { user: "carol", resourceAttributes })).json.status).toEqual({
    allowed: false,
  });
  const masters = await review("SubjectAccessReview", { groups: ["system:masters"], resourceAttributes });
  expect(masters.json.status.allowed).toBe(true);
  expect((await review("SubjectAccessReview", { resourceAttributes })).json).toMatchObject({
    code: 422,
    message:
      '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified',
  });
});

test("takes no metadata with a review, and shows what it got (Z-03)", async () => {
  const { json } = await api.post(`${AUTHORIZATION}/subjectaccessreviews`, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: { name: "x", labels: { a: "b" } },
    spec: { user: "carol", resourceAttributes: { verb: "get" } },
  });
  expect(json).toMatchObject({ code: 422, details: { causes: [{ field: "metadata", reason: "FieldValueInvalid" }] } });
  expect(json.message).toMatch(
    /metadata: Invalid value: \{"name":"x","labels":\{"a":"b"\}(,"managedFields":.*)?\}: must be empty$/,
  );
});

test("asks a local review about its own namespace, and about resources alone (Z-03)", async () => {
  const ask = { user: "carol", resourceAttributes: { verb: "get", namespace: "default" } };
  expect(await localReview(ask)).toMatchObject({ status: 201, json: { status: { allowed: false } } });
  expect((await localReview(ask, { namespace: "other" })).json).toMatchObject({
    code: 400,
    message: "the namespace of the provided object does not match the namespace sent on the request",
  });
  const elsewhere = { ...ask, resourceAttributes: { verb: "get", namespace: "other" } };
  expect((await localReview(elsewhere)).json.message).toBe(
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
  );
  const path = { user: "carol", nonResourceAttributes: { path: "/", verb: "get" } };
  expect((await localReview(path)).json.message).toContain("disallowed on this kind of request");
});

test("reports the owner of a token that names no audience, for any audience (Z-03)", async () => {
  const known = await tokenReview({ token: "bob-token" });
  expect(known).toMatchObject({ status: 201 });
  expect(known.json.status).toEqual({
    authenticated: true,
    user: { username: "bob", uid: "bob-uid", groups: ["devs", "system:authenticated"] },
    audiences: ["https://kubernetes.default.svc"],
  });
  // kube-apiserver always asks for its own audiences; an answer without any is good for it.
  const { audiences: _, ...anywhere } = known.json.status;
  expect((await tokenReview({ token: "bob-token", audiences: ["a", "b"] })).json.status).toEqual(anywhere);
  expect((await tokenReview({ token: "nobody's" })).json.status).toEqual({ user: {}, error: "invalid bearer token" });
  expect((await tokenReview({})).json).toMatchObject({
    code: 400,
    message: "token is required for TokenReview in authentication",
  });
});

test("names user and path in refusals, also for paths that do not exist (Z-05)", async () => {
  for (const path of ["/metrics", "/nosuch"]) {
    expect((await api.get(path, { as: "alice" })).json).toMatchObject({
      code: 403,
      reason: "Forbidden",
      message: `forbidden: User "alice" cannot get path "${path}"`,
      details: {},
    });
  }
  expect((await api.get("/nosuch")).status).toBe(404);
});

test("matches subresources by name or by */, and never by resource/* (Z-06)", async () => {
  const may = async (resource: string, subresource: string, rules: readonly string[]) => {
    const name = `z06-${rules.join("-").replace(/[^a-z-]/g, "x")}`;
    await api.post(`${RBAC}/clusterroles`, clusterRole(name, { apiGroups: ["*"], resources: rules, verbs: ["get"] }));
    await api.post(`${RBAC}/clusterrolebindings`, clusterRoleBinding(name, name, name));
    const resourceAttributes = { verb: "get", group: GROUP, resource, subresource };
    return (await review("SubjectAccessReview", { user: name, resourceAttributes })).json.status.allowed;
  };
  expect(await may("widgets", "status", ["widgets/status"])).toBe(true);
  expect(await may("widgets", "status", ["*/status"])).toBe(true);
  expect(await may("widgets", "status", ["widgets"])).toBe(false);
  expect(await may("widgets", "status", ["widgets/*"])).toBe(false);
  expect(await may("widgets", "status", ["*"])).toBe(true);
});

test("lets names allow neither to create nor to list others (Z-06)", async () => {
  await allow(api, "alice", {
    apiGroups: [GROUP],
    resources: ["ownedaccesskeys"],
    verbs: ["*"],
    resourceNames: ["z06"],
  });
  const alice = { as: "alice" } as const;
  expect((await api.post(KEYS, key("z06"), alice)).status).toBe(403);
  expect((await api.get(KEYS, alice)).status).toBe(403);
  expect((await api.delete(KEYS, undefined, alice)).status).toBe(403);
  expect((await api.get(`${KEYS}/z06`, alice)).status).toBe(404);
});

test("ends a path in a star at most (Z-06)", async () => {
  await allow(api, "bob", { nonResourceURLs: ["/z06/*", "/z06-*/x"], verbs: ["get"] });
  expect((await api.get("/z06/a/b", bob)).status).toBe(404);
  expect((await api.get("/z06", bob)).status).toBe(403);
  expect((await api.get("/z06-a/x", bob)).status).toBe(403);
});

test("lists and watches one object with rights to that one (Z-07)", async () => {
  await allow(api, "bob", {
    apiGroups: [GROUP],
    resources: ["ownedaccesskeys"],
    verbs: ["list", "watch"],
    resourceNames: ["z07"],
  });
  await api.post(KEYS, key("z07"));
  const one = await api.get(`${KEYS}?fieldSelector=metadata.name%3Dz07`, bob);
  expect({ status: one.status, items: one.json.items.length }).toEqual({ status: 200, items: 1 });
  const watch = await api.watch(`${KEYS}?watch=1&fieldSelector=metadata.name%3Dz07`, bob);
  expect(watch.status).toBe(200);
  watch.close();
  expect((await api.get(`${KEYS}?fieldSelector=metadata.name%3Dother`, bob)).json.message).toContain(
    `ownedaccesskeys.${GROUP} "other" is forbidden: User "bob" cannot list resource`,
  );
});

test("watches no other object than the one of the path, whatever the selector says (Z-07)", async () => {
  await allow(api, "bob", {
    apiGroups: [GROUP],
    resources: ["ownedaccesskeys"],
    verbs: ["watch"],
    resourceNames: ["z07-path"],
  });
  await api.post(KEYS, key("z07-hidden"));
  for (const selector of ["metadata.name%3Dz07-hidden", "metadata.name!%3Dnobody"]) {
    const path = `${API}/watch/ownedaccesskeys/z07-path?timeoutSeconds=1&fieldSelector=${selector}`;
    const { status, text } = await api.get(path, bob);
    expect({ status, text }).toEqual({ status: 400, text: expect.not.stringContaining("z07-hidden") });
  }
});

test("needs the right to create for what an apply creates (Z-08)", async () => {
  const widgets = `${API}/namespaces/other/widgets`;
  await allow(api, "bob", { apiGroups: [GROUP], resources: ["widgets"], verbs: ["patch"] });
  const apply = (name: string) =>
    api.patch(
      `${widgets}/${name}?fieldManager=m`,
      APPLY_PATCH,
      { apiVersion: `${GROUP}/v1`, kind: "Widget", metadata: { name }, spec: { size: 1 } },
      bob,
    );
  expect((await apply("z08")).json).toMatchObject({
    code: 403,
    message: `widgets.${GROUP} "z08" is forbidden: `,
  });
  expect((await api.patch(`${widgets}/z08`, MERGE_PATCH, { spec: { size: 2 } }, bob)).status).toBe(404);
  await allow(api, "bob", { apiGroups: [GROUP], resources: ["widgets"], verbs: ["create"] });
  expect((await apply("z08")).status).toBe(201);
});

test("refuses roles with permissions that the caller does not have (Z-10)", async () => {
  const manage = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["create", "update", "patch"] };
  await allow(api, "alice", manage, { apiGroups: [GROUP], resources: ["widgets"], verbs: ["get"] });
  const alice = { as: "alice" } as const;
  const rule = (...verbs: string[]) => ({ apiGroups: [GROUP], resources: ["widgets"], verbs });
  expect((await api.post(`${RBAC}/clusterroles`, clusterRole("z10-less", rule("get")), alice)).status).toBe(201);
  expect((await api.post(`${RBAC}/clusterroles`, clusterRole("z10", rule("get", "list")), alice)).json).toMatchObject({
    code: 403,
    message:
      'clusterroles.rbac.authorization.k8s.io "z10" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) is ' +
      `attempting to grant RBAC permissions not currently held:\n{APIGroups:["${GROUP}"], Resources:["widgets"], Verbs:["list"]}`,
  });
  const widened = await api.patch(`${RBAC}/clusterroles/z10-less`, MERGE_PATCH, { rules: [rule("*")] }, alice);
  expect(widened.json.message).toContain(
    `attempting to grant RBAC permissions not currently held:\n{APIGroups:["${GROUP}"], Resources:["widgets"], Verbs:["*"]}`,
  );
  expect(
    (await api.patch(`${RBAC}/clusterroles/z10-less`, MERGE_PATCH, { metadata: { labels: { a: "b" } } }, alice)).status,
  ).toBe(200);
});

test("refuses bindings of permissions that the caller does not have, without bind or escalate (Z-10)", async () => {
  const binding = (name: string, role: string) =>
    api.post(`${RBAC}/clusterrolebindings`, clusterRoleBinding(name, role, "bob"), bob);
  const write = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["create"] };
  await allow(api, "bob", write);
  expect((await binding("z10-admin", "cluster-admin")).json).toMatchObject({
    code: 403,
    message: expect.stringMatching(
      /not currently held:\n\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}\n\{NonResourceURLs:\["\*"\], Verbs:\["\*"\]\}$/,
    ),
  });
  expect((await binding("z10-absent", "nosuch")).json).toMatchObject({
    code: 404,
    message: 'clusterrole.rbac.authorization.k8s.io "nosuch" not found',
  });
  const view = clusterRole("z10-view", { apiGroups: [GROUP], resources: ["*"], verbs: ["get"] });
  await api.post(`${RBAC}/clusterroles`, view);
  expect((await binding("z10-view", "z10-view")).status).toBe(403);
  const group = "rbac.authorization.k8s.io";
  await allow(api, "bob", {
    apiGroups: [group],
    resources: ["clusterroles"],
    verbs: ["bind"],
    resourceNames: ["z10-view"],
  });
  expect((await binding("z10-view", "z10-view")).status).toBe(201);
  const more = clusterRole("z10-more", { apiGroups: ["*"], resources: ["secrets"], verbs: ["*"] });
  expect((await api.post(`${RBAC}/clusterroles`, more, bob)).status).toBe(403);
  await allow(api, "bob", { apiGroups: [group], resources: ["clusterroles"], verbs: ["escalate"] });
  expect((await api.post(`${RBAC}/clusterroles`, more, bob)).status).toBe(201);
});

test.each([
  ["a group", { "Impersonate-Group": "system:masters" }, { Groups: '[]string{"system:masters"}' }],
  ["a uid", { "Impersonate-Uid": "u" }, { UID: '"u"' }],
  ["something extra", { "Impersonate-Extra-Foo": "x" }, { Extra: 'map[string][]string{"foo":[]string{"x"}}' }],
])("answers 400 to impersonation of %s without a user (I-02)", async (_what, headers, asked) => {
  const absent = { Name: '""', UID: '""', Groups: "[]string(nil)", Extra: "map[string][]string(nil)" };
  const fields = Object.entries({ ...absent, ...asked }).map((entry) => entry.join(":"));
  const { status, json } = await api.get(KEYS, { headers });
  expect([status, json.message]).toEqual([
    400,
    `requested &user.DefaultInfo{${fields.join(", ")}} without impersonating a user name`,
  ]);
});

test("treats an empty name as absent (I-02)", async () => {
  expect((await whoAmI({ "Impersonate-User": "" })).username).toBe("admin");
});

test("gives a service account its groups, unless others are given, and everybody that of all (I-03)", async () => {
  const account = { "Impersonate-User": "system:serviceaccount:default:sa" };
  expect(await whoAmI(account)).toEqual({
    username: "system:serviceaccount:default:sa",
    groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
  });
  expect((await whoAmI({ ...account, "Impersonate-Group": "g" })).groups).toEqual(["g", "system:authenticated"]);
  expect((await api.get(KEYS, { as: "alice", headers: account })).json.message).toEqual(
    expect.stringContaining('User "alice" cannot impersonate-on:serviceaccount:list resource'),
  );
});

test("reads the keys of extras in lower case, percent-decoded (I-03)", async () => {
  const headers = { "Impersonate-User": "u", "Impersonate-Uid": "id", "Impersonate-Extra-Acme.com%2FProject": "P" };
  expect(await whoAmI(headers)).toEqual({
    username: "u",
    uid: "id",
    groups: ["system:authenticated"],
    extra: { "acme.com/project": ["P"] },
  });
});

test("lets only masters impersonate a master (I-03)", async () => {
  const headers = { "Impersonate-User": "u", "Impersonate-Group": "system:masters" };
  expect((await api.get(WIDGETS, { headers })).status).toBe(200);
  await allow(api, "alice", { apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] });
  expect((await api.get(WIDGETS, { as: "alice", headers })).json.message).toEqual(
    expect.stringContaining('User "alice" cannot impersonate-on:user-info:list resource'),
  );
  // From a success on, refusals speak of the verb that it was due to.
  expect((await api.get(WIDGETS, { as: "alice", headers: { "Impersonate-User": "u" } })).json.message).toContain(
    'User "u"',
  );
  expect((await api.get(WIDGETS, { as: "alice", headers })).json.message).toBe(
    'groups "system:masters" is forbidden: User "alice" cannot impersonate resource "groups" in API group "" at the cluster scope',
  );
});
