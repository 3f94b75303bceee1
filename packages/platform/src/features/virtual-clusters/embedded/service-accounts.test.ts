import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS = "/api/v1/namespaces/default/secrets";
const PODS = "/api/v1/namespaces/default/pods";
const NODES = "/api/v1/nodes";
const REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ISSUER = "https://kubernetes.default.svc.cluster.local";

const post = (host: EmbeddedHost, url: string, body: object, uid = "one") =>
  host.request(uid, { method: "POST", url, body });
const createToken = async (host: EmbeddedHost, spec: object = {}, account = "default", uid = "one") =>
  (await post(host, `${ACCOUNTS}/${account}/token`, { spec }, uid)).body;
const authenticate = (host: EmbeddedHost, token: string, uid = "one") => {
  const { request } = createTestContext({ url: "/api", headers: { authorization: `Bearer ${token}` } });
  return host.backend(uid).authenticateServiceAccount?.(request);
};
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

async function createHost() {
  const host = await createEmbeddedHost();
  await host.setUp("one");
  return host;
}

describe("ServiceAccounts of an embedded virtual cluster", () => {
  it("are there in every namespace, and come back", async () => {
    await using host = await createHost();
    await post(host, "/api/v1/namespaces", { metadata: { name: "shop" } });
    await host.settled("one");
    const { body } = await host.request("one", { url: "/api/v1/serviceaccounts" });
    const places = body.items.map(({ metadata }: any) => `${metadata.namespace}/${metadata.name}`);
    expect(places).toEqual([
      "default/default",
      "kube-node-lease/default",
      "kube-public/default",
      "kube-system/default",
      "shop/default",
    ]);
    await host.request("one", { method: "DELETE", url: `${ACCOUNTS}/default` });
    await host.settled("one");
    expect((await host.request("one", { url: `${ACCOUNTS}/default` })).status).toBe(200);
  });

  it("are deleted with their namespace, which is not filled again while terminating", async () => {
    await using host = await createHost();
    await post(host, "/api/v1/namespaces", { metadata: { name: "shop" } });
    await host.settled("one");
    await host.request("one", { method: "DELETE", url: "/api/v1/namespaces/shop" });
    await host.settled("one");
    await expect(host.request("one", { url: "/api/v1/namespaces/shop" })).rejects.toMatchObject({ code: 404 });
    expect(await host.keysOf("/registry/vc-one/core/serviceaccounts/shop/")).toEqual([]);
    expect(await host.keysOf("/registry/vc-one/core/configmaps/shop/")).toEqual([]);
    expect(host.errors).toEqual([]);
  });

  it("find the server's CA in every namespace, restored after changes", async () => {
    await using host = await createHost();
    const url = "/api/v1/namespaces/kube-public/configmaps/kube-root-ca.crt";
    expect((await host.request("one", { url })).body.data).toEqual({ "ca.crt": "the authority\n" });
    const headers = { "content-type": "application/merge-patch+json" };
    await host.request("one", { method: "PATCH", url, headers, body: { data: { "ca.crt": "forged" } } });
    await host.settled("one");
    expect((await host.request("one", { url })).body.data).toEqual({ "ca.crt": "the authority\n" });
    await host.request("one", { method: "DELETE", url });
    await host.settled("one");
    expect((await host.request("one", { url })).status).toBe(200);
  });
});

describe("tokens of ServiceAccounts", () => {
  it("contain audience, expiration and ServiceAccount", async () => {
    await using host = await createHost();
    const { metadata } = (await host.request("one", { url: `${ACCOUNTS}/default` })).body;
    const answer = await createToken(host, { audiences: ["vault"], expirationSeconds: 600 });
    expect(answer).toMatchObject({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name: "default", namespace: "default" },
      spec: { audiences: ["vault"], expirationSeconds: 600 },
    });
    const claims = claimsOf(answer.status.token);
    expect(claims).toMatchObject({
      aud: ["vault"],
      iss: ISSUER,
      sub: "system:serviceaccount:default:default",
      "kubernetes.io": { namespace: "default", serviceaccount: { name: "default", uid: metadata.uid } },
    });
    expect(claims.exp - claims.iat).toBe(600);
    expect(Date.parse(answer.status.expirationTimestamp)).toBe(claims.exp * 1000);
    expect(claimsOf((await createToken(host)).status.token)).toMatchObject({ aud: [ISSUER] });
  });

  it.each([
    [{ expirationSeconds: 599 }, 422, "may not specify a duration less than 10 minutes"],
    [{ expirationSeconds: -1 }, 422, "may not specify a duration less than 10 minutes"],
    [{ expirationSeconds: 0 }, 422, "may not specify a duration less than 10 minutes"],
    [{ expirationSeconds: 2 ** 32 + 1 }, 422, "may not specify a duration larger than 2^32 seconds"],
    [{ boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "none" } }, 404, 'secrets "none" not found'],
    [{ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" } }, 404, 'pods "p" not found'],
    [{ boundObjectRef: { apiVersion: "v1", kind: "Event", name: "e" } }, 400, "cannot bind token to object of type"],
  ])("are not made for %j", async (spec, code, message) => {
    await using host = await createHost();
    await expect(createToken(host, spec)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    await expect(createToken(host, {}, "nobody")).rejects.toMatchObject({ code: 404 });
  });

  it("are given to clients that spell out what they do not ask for", async () => {
    await using host = await createHost();
    const body = {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { creationTimestamp: null },
      spec: { audiences: null, expirationSeconds: null, boundObjectRef: null },
      status: { token: "", expirationTimestamp: null },
    };
    const { body: answer } = await host.request("one", { method: "POST", url: `${ACCOUNTS}/default/token`, body });
    expect(answer.spec).toMatchObject({ audiences: [ISSUER], expirationSeconds: 3600 });
    expect(answer.status.token).toBeTypeOf("string");
  });

  it("make their bearer the ServiceAccount, whose rights RBAC gives", async () => {
    await using host = await createHost();
    const { token } = (await createToken(host)).status;
    const authentication = await authenticate(host, token);
    expect(authentication?.user).toMatchObject({
      name: "system:serviceaccount:default:default",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default"],
    });
    const call = { url: SECRETS, ...authentication };
    await expect(host.requestAs("one", call)).rejects.toMatchObject({ code: 403 });
    await post(host, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
      metadata: { name: "robots" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    });
    expect((await host.requestAs("one", call)).status).toBe(200);
    await expect(host.requestAs("one", { ...call, url: "/api/v1/secrets" })).rejects.toMatchObject({ code: 403 });
  });

  it("give a ServiceAccount's identity only with its token (security book 29)", async () => {
    await using host = await createHost();
    const user = { name: "system:serviceaccount:kube-system:default", groups: ["system:serviceaccounts"] };
    await expect(host.request("one", { url: SECRETS, user })).rejects.toMatchObject({ code: 403 });
    await host.setUp("two");
    const authentication = await authenticate(host, (await createToken(host)).status.token);
    // A token of one cluster is not valid in another one.
    await expect(host.requestAs("two", { url: SECRETS, ...authentication })).rejects.toMatchObject({ code: 403 });
  });

  it("are nothing to another cluster, and nothing to another audience (security book 6)", async () => {
    await using host = await createHost();
    await host.setUp("two");
    const { token } = (await createToken(host)).status;
    expect(await authenticate(host, token, "two")).toBeUndefined();
    const forVault = (await createToken(host, { audiences: ["vault"] })).status.token;
    await expect(authenticate(host, forVault)).rejects.toMatchObject({ code: 401 });
  });

  it("end with the ServiceAccount, also if a new one has its name, and close connections (security book 11)", async () => {
    await using host = await createHost();
    await post(host, ACCOUNTS, { metadata: { name: "robot" } });
    await post(host, ACCOUNTS, { metadata: { name: "robot2" } });
    const { token } = (await createToken(host, {}, "robot")).status;
    let cuts = 0;
    const authentication = await authenticate(host, token);
    const handle = authentication?.credential?.onRevoked?.(() => cuts++);
    await host.request("one", { method: "DELETE", url: `${ACCOUNTS}/robot2` });
    expect(cuts).toBe(0);
    await host.request("one", { method: "DELETE", url: `${ACCOUNTS}/robot` });
    await host.settled("one");
    expect(cuts).toBe(1);
    handle?.[Symbol.dispose]();
    await post(host, ACCOUNTS, { metadata: { name: "robot" } });
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
  });

  it("end with the Secret that they are bound to", async () => {
    await using host = await createHost();
    const { uid } = (await post(host, SECRETS, { metadata: { name: "session" } })).body.metadata;
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "session", uid };
    const { token } = (await createToken(host, { boundObjectRef })).status;
    expect(await authenticate(host, token)).toBeDefined();
    await host.request("one", { method: "DELETE", url: `${SECRETS}/session` });
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
    await post(host, SECRETS, { metadata: { name: "session" } });
    await expect(createToken(host, { boundObjectRef })).rejects.toMatchObject({ code: 409 });
  });

  it("end with the Node that they are bound to, and name it", async () => {
    await using host = await createHost();
    host.keepWorkloads("one");
    const { uid } = (await post(host, NODES, { metadata: { name: "worker" } })).body.metadata;
    const boundObjectRef = { apiVersion: "v1", kind: "Node", name: "worker", uid };
    const { token } = (await createToken(host, { boundObjectRef })).status;
    let cuts = 0;
    const authentication = await authenticate(host, token);
    expect(authentication?.user.extra).toMatchObject({
      "authentication.kubernetes.io/node-name": ["worker"],
      "authentication.kubernetes.io/node-uid": [uid],
    });
    using _ = authentication?.credential?.onRevoked?.(() => cuts++);
    await host.request("one", { method: "DELETE", url: `${NODES}/worker` });
    expect(cuts).toBe(1);
    await post(host, NODES, { metadata: { name: "worker" } });
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
  });

  it("end with the pod that they are bound to, a minute after its grace period at the latest", async () => {
    await using host = await createHost();
    host.keepWorkloads("one");
    const { uid } = (await post(host, NODES, { metadata: { name: "worker" } })).body.metadata;
    const pod = { containers: [{ name: "c", image: "i" }], nodeName: "worker" };
    const created = await post(host, PODS, { metadata: { name: "p", finalizers: ["example.com/held"] }, spec: pod });
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "p" };
    const { token } = (await createToken(host, { boundObjectRef })).status;
    expect((await authenticate(host, token))?.user.extra).toMatchObject({
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": [created.body.metadata.uid],
      "authentication.kubernetes.io/node-name": ["worker"],
      "authentication.kubernetes.io/node-uid": [uid],
    });
    // The end of the Node does not end it.
    await host.request("one", { method: "DELETE", url: `${NODES}/worker` });
    await host.request("one", { method: "DELETE", url: `${PODS}/p` });
    // Four seconds are left of its grace period of 30 seconds and the minute after it.
    host.moveTime(86_000);
    let cuts = 0;
    const authentication = await authenticate(host, token);
    using _ = authentication?.credential?.onRevoked?.(() => cuts++);
    expect(cuts).toBe(0);
    // Its finalizer keeps the pod, which changes no more.
    await expect.poll(() => cuts, { timeout: 15_000 }).toBe(1);
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
  });

  it("end when they say (security book 14)", async () => {
    await using host = await createHost();
    const { token } = (await createToken(host, { expirationSeconds: 600 })).status;
    // The clock goes on meanwhile.
    host.moveTime(500_000);
    expect(await authenticate(host, token)).toBeDefined();
    host.moveTime(101_000);
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
  });

  it("are known to TokenReview, for the audiences that both name", async () => {
    await using host = await createHost();
    const { token } = (await createToken(host, { audiences: ["vault", "ci"] })).status;
    const review = async (spec: object) =>
      (await post(host, REVIEWS, { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec })).body.status;
    expect(await review({ token, audiences: ["other", "vault"] })).toMatchObject({
      authenticated: true,
      audiences: ["vault"],
      user: { username: "system:serviceaccount:default:default" },
    });
    expect(await review({ token, audiences: ["other"] })).toEqual({ user: {}, error: "invalid bearer token" });
    expect(await review({ token })).toEqual({ user: {}, error: "invalid bearer token" });
    const own = (await createToken(host)).status.token;
    expect(await review({ token: own })).toMatchObject({ authenticated: true, audiences: [ISSUER] });
  });

  it("are nowhere in the store, and neither is the key that signs them (security book 38)", async () => {
    await using host = await createHost();
    const { token } = (await createToken(host)).status;
    const dump = await host.dump();
    expect(dump).not.toContain(token.split(".")[2]);
    expect(dump).not.toContain("BEGIN PRIVATE KEY");
  });

  it("stay valid when the cluster is stopped and started again", async () => {
    await using host = await createHost();
    const { token } = (await createToken(host)).status;
    await host.clusters.stop("one");
    expect(await authenticate(host, token)).toBeDefined();
  });
});
