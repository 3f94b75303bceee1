// Roles, bindings, tokens and certificates that a limited key creates inside a virtual cluster never exceed its permissions.

import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { type PlatformAnswer, type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const IN_CI = "/namespaces/ci";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const EVERYTHING = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
const READING_MAPS = [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }];

let platform: RunningPlatform;
let count = 0;
beforeAll(async () => {
  platform = await startPlatform();
  await inside("POST", "/api/v1/namespaces", { metadata: { name: "ci" } });
  for (const name of ["robot", "other"])
    await inside("POST", `/api/v1${IN_CI}/serviceaccounts`, { metadata: { name } });
});
afterAll(() => platform[Symbol.asyncDispose]());

const inside = (method: string, path: string, body?: unknown, key?: string): Promise<PlatformAnswer> =>
  platform.send({ method, path: `${DEMO}${path}`, body, key });
/** A key of the administrator, who may do everything inside. */
const keyWith = async (spec: object): Promise<string> => {
  const call = { method: "POST", path: "ownedaccesskeys", body: { metadata: {}, spec: { user: "admin", ...spec } } };
  return (await platform.send(call)).body.spec.key;
};
const role = (rules: readonly object[]) => ({ metadata: { name: `r${++count}` }, rules });
const binding = (kind: string, name: string) => ({
  metadata: { name: `b${++count}` },
  subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "ci" }],
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
});
const tokenSecret = (account = "robot") => ({
  metadata: { name: `s${++count}`, annotations: accountIs(account) },
  type: "kubernetes.io/service-account-token",
});

const named = <T extends { readonly metadata: object }>(name: string, object: T) => ({
  ...object,
  metadata: { ...object.metadata, name },
});
const accountIs = (account: string) => ({ "kubernetes.io/service-account.name": account });
const apply = (object: { readonly metadata: { readonly name: string } }, key?: string) =>
  platform.send({
    method: "PATCH",
    path: `${DEMO}${SECRETS}/${object.metadata.name}?fieldManager=test`,
    headers: { "content-type": "application/apply-patch+yaml" },
    body: { apiVersion: "v1", kind: "Secret", ...object },
    key,
  });

const ROLES = `${RBAC}${IN_CI}/roles`;
const BINDINGS = `${RBAC}${IN_CI}/rolebindings`;
const CLUSTER_ROLES = `${RBAC}/clusterroles`;
const CLUSTER_BINDINGS = `${RBAC}/clusterrolebindings`;
const TOKEN = `/api/v1${IN_CI}/serviceaccounts/robot/token`;
const SECRETS = `/api/v1${IN_CI}/secrets`;

describe.each<[string, object]>([
  [
    "all verbs on config maps, roles and bindings",
    { resources: [{ group: "", resources: ["configmaps"] }, { group: "rbac.authorization.k8s.io" }] },
  ],
  ["everything in one namespace", { namespaces: ["ci"] }],
])("a key whose rules allow %s (security book 2)", (_what, rule) => {
  let key = "";
  beforeAll(async () => {
    key = await keyWith({ rules: [rule] });
  });

  it("gives what it allows", async () => {
    expect((await inside("POST", ROLES, role(READING_MAPS), key)).status).toBe(201);
    const made = await inside("POST", ROLES, role(READING_MAPS));
    expect((await inside("POST", BINDINGS, binding("Role", made.body.metadata.name), key)).status).toBe(201);
  });

  it.each<[string, () => Promise<PlatformAnswer>]>([
    ["a role that opens more", () => inside("POST", ROLES, role(EVERYTHING), key)],
    ["a binding of the strongest role", () => inside("POST", BINDINGS, binding("ClusterRole", "cluster-admin"), key)],
    [
      "a role that is made to open more",
      async () => {
        const made = await inside("POST", ROLES, role(READING_MAPS));
        const body = { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }, ...EVERYTHING] };
        return await inside("PATCH", `${ROLES}/${made.body.metadata.name}`, body, key);
      },
    ],
    [
      "a binding of the strongest role with one more subject",
      async () => {
        const made = await inside("POST", BINDINGS, binding("ClusterRole", "cluster-admin"));
        const body = { subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "mallory" }] };
        return await inside("PATCH", `${BINDINGS}/${made.body.metadata.name}`, body, key);
      },
    ],
    ["a binding of a role that is yet to come", () => inside("POST", BINDINGS, binding("ClusterRole", "later"), key)],
  ])("does not give %s", async (_grant, attempt) => {
    const { status, body } = await attempt();
    expect([status, body.message]).toEqual([403, expect.stringContaining("not currently held")]);
  });

  it("gives nothing cluster-wide that it allows in a part of the cluster", async () => {
    for (const attempt of [
      inside("POST", CLUSTER_ROLES, role(EVERYTHING), key),
      inside("POST", CLUSTER_BINDINGS, binding("ClusterRole", "cluster-admin"), key),
      inside("POST", CLUSTER_ROLES, { ...role([]), aggregationRule: { clusterRoleSelectors: [] } }, key),
    ]) {
      expect((await attempt).status).toBe(403);
    }
  });
});

describe("a key whose rules allow all but some verbs (security book 2)", () => {
  let key = "";
  beforeAll(async () => {
    key = await keyWith({ rules: [{ verbs: ["get", "list", "create", "update", "patch", "approve", "use"] }] });
    await inside("POST", SECRETS, named("held", tokenSecret("other")));
  });

  it.each<[way: string, asOpen: number, attempt: (key?: string) => Promise<PlatformAnswer>]>([
    ["a request for it", 201, (key) => inside("POST", TOKEN, { spec: {} }, key)],
    ["a Secret", 201, (key) => inside("POST", SECRETS, tokenSecret(), key)],
    ["a Secret that is applied", 201, (key) => apply(named("applied", tokenSecret()), key)],
    [
      "another's Secret",
      200,
      (key) => inside("PATCH", `${SECRETS}/held`, { metadata: { annotations: accountIs("robot") } }, key),
    ],
  ])("gets no token of a ServiceAccount by %s", async (_way, asOpen, attempt) => {
    expect((await attempt(key)).status).toBe(403);
    expect((await attempt()).status).toBe(asOpen);
  });

  it("writes Secrets that ask for nothing", async () => {
    expect((await inside("POST", SECRETS, { metadata: { name: "plain" } }, key)).status).toBe(201);
    await inside("POST", SECRETS, named("labelled", tokenSecret()));
    const labels = { metadata: { labels: { a: "b" } } };
    expect((await inside("PATCH", `${SECRETS}/labelled`, labels, key)).status).toBe(200);
  });

  it("lets no certificate be signed", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = createCertificateRequest(privateKey, {
      commonName: "me",
      organizations: ["postern:role:cluster-admin"],
    });
    const request = Buffer.from(pem).toString("base64");
    const made = await inside("POST", CSRS, {
      metadata: { name: "mine" },
      spec: { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] },
    });
    expect(made.status).toBe(201);
    const { metadata, spec } = made.body;
    const conditions = [{ type: "Approved", status: "True", reason: "r", message: "m" }];
    const approved = { metadata, spec, status: { conditions } };
    expect((await inside("PUT", `${CSRS}/mine/approval`, approved, key)).status).toBe(403);
    expect((await inside("PATCH", `${CSRS}/mine/approval`, { status: { conditions } }, key)).status).toBe(403);
    expect((await inside("GET", `${CSRS}/mine/approval`, undefined, key)).status).toBe(200);
    expect((await inside("PUT", `${CSRS}/mine/approval`, approved)).status).toBe(200);
  });
});

describe("a key for all of a virtual cluster", () => {
  it.each([
    ["its scope", { scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] } }],
    ["its rules", { rules: [{ virtualClusters: [{ name: "demo" }] }] }],
  ])("by %s gives whatever its owner may give", async (_by, spec) => {
    const key = await keyWith(spec);
    for (const attempt of [
      inside("POST", CLUSTER_ROLES, role(EVERYTHING), key),
      inside("POST", CLUSTER_BINDINGS, binding("ClusterRole", "cluster-admin"), key),
      inside("POST", BINDINGS, binding("ClusterRole", "later"), key),
      inside("POST", TOKEN, { spec: {} }, key),
      inside("POST", SECRETS, tokenSecret(), key),
    ]) {
      expect((await attempt).status).toBe(201);
    }
  });
});

describe("the error for a key whose scope does not include the virtual cluster", () => {
  const WHY = 'the scope of the access key does not include virtual cluster "demo" of project "default"';
  const MAPS = "/api/v1/namespaces/ci/configmaps";
  it.each<[method: string, path: string, asked: string]>([
    ["POST", MAPS, 'configmaps is forbidden: User "admin" cannot create resource "configmaps" in API group ""'],
    ["GET", MAPS, 'configmaps is forbidden: User "admin" cannot list resource "configmaps" in API group ""'],
    ["DELETE", `${MAPS}/a`, 'configmaps "a" is forbidden: User "admin" cannot delete resource "configmaps" in'],
    [
      "POST",
      "/api/v1/namespaces/ci/pods/a/exec",
      'pods "a" is forbidden: User "admin" cannot create resource "pods/exec"',
    ],
    [
      "GET",
      "/apis/apps/v1/deployments",
      'deployments.apps is forbidden: User "admin" cannot list resource "deployments"',
    ],
    ["GET", "/version", 'forbidden: User "admin" cannot get path "/version"'],
    ["GET", "/api", 'forbidden: User "admin" cannot get path "/api"'],
  ])("names what %s %s asks for, and the cluster", async (method, path, asked) => {
    for (const scope of [{}, { projects: [{ project: "other" }] }, { roles: [{ role: "platform-cli" }] }]) {
      const key = await keyWith({ scope });
      const { status, body } = await inside(
        method,
        path,
        method === "POST" ? named("a", { metadata: {} }) : undefined,
        key,
      );
      expect([status, body.message.slice(0, asked.length)]).toEqual([403, asked]);
      expect(body.message.endsWith(`: ${WHY}`)).toBe(true);
    }
  });
});

describe("a key whose rules allow a part gets its own rules in reviews (security book 2)", () => {
  const REVIEWS = { group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] };
  const mayI = async (attributes: object, key?: string) => {
    const body = { spec: { resourceAttributes: attributes } };
    const answer = await inside("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, key);
    expect(answer.status).toBe(201);
    return answer.body.status;
  };
  const rulesIn = async (namespace: string, key?: string) => {
    const body = { spec: { namespace } };
    return (await inside("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body, key)).body.status;
  };
  let key = "";
  beforeAll(async () => {
    key = await keyWith({
      rules: [
        { verbs: ["create"], resources: [REVIEWS] },
        { verbs: ["get", "list"], resources: [{ group: "", resources: ["configmaps"] }] },
        {
          namespaces: ["ci"],
          resources: [{ group: "", resources: ["secrets", "serviceaccounts/token"], resourceNames: ["one"] }],
        },
        { verbs: ["get"], nonResourceURLs: ["/version"] },
        { virtualClusters: [{ name: "another" }] },
      ],
    });
  });

  it("about a request", async () => {
    const maps = { resource: "configmaps", namespace: "ci" };
    expect(await mayI({ verb: "get", ...maps }, key)).toMatchObject({ allowed: true });
    expect(await mayI({ verb: "delete", ...maps }, key)).toMatchObject({
      allowed: false,
      denied: true,
      reason: "the rules of the access key do not allow this request",
    });
    expect(await mayI({ verb: "delete", ...maps })).toMatchObject({ allowed: true });
    expect(await mayI({ verb: "*", group: "*", resource: "*" }, key)).toMatchObject({ allowed: false });
    const secret = { verb: "get", resource: "secrets", namespace: "ci" };
    expect(await mayI({ ...secret, name: "one" }, key)).toMatchObject({ allowed: true });
    expect(await mayI({ ...secret, name: "two" }, key)).toMatchObject({ allowed: false });
    expect(await mayI({ ...secret, name: "one", namespace: "default" }, key)).toMatchObject({ allowed: false });
    const token = { verb: "create", resource: "serviceaccounts", subresource: "token", namespace: "ci", name: "one" };
    expect(await mayI(token, key)).toMatchObject({ allowed: false });
  });

  it("about everything", async () => {
    const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    expect((await rulesIn("ci")).resourceRules).toContainEqual(all);
    const maps = { verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] };
    const own = { verbs: ["create"], apiGroups: [REVIEWS.group], resources: REVIEWS.resources };
    const secrets = { verbs: ["*"], apiGroups: [""], resources: ["secrets"], resourceNames: ["one"] };
    const inCi = await rulesIn("ci", key);
    expect(inCi.incomplete).toBe(true);
    expect(inCi.resourceRules).toEqual(expect.arrayContaining([own, maps, secrets]));
    expect(inCi.resourceRules).not.toContainEqual(all);
    expect(JSON.stringify(inCi)).not.toContain("token");
    expect(inCi.nonResourceRules).toContainEqual({ verbs: ["get"], nonResourceURLs: ["/version"] });
    const elsewhere = await rulesIn("default", key);
    expect(elsewhere.resourceRules).toEqual(expect.arrayContaining([own, maps]));
    expect(elsewhere.resourceRules).not.toContainEqual(secrets);
  });
});
