// A virtual cluster that others run, reached over real TLS: the proxy as the caller, certificates, bindings and health.

import { X509Certificate } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { errorResponse } from "@postern/apiserver/endpoints/negotiation/error-response";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";
import { jsonResponse, textResponse } from "@postern/apiserver/transport/api-response";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildKubeconfig } from "../../../foundation/kubeconfig/kubeconfig.ts";
import { createAddressRules } from "../../../foundation/upstream/address-rules.ts";
import { bindRoles } from "./bind-roles.ts";
import { type ClusterConnections, createClusterConnections } from "./cluster-connections.ts";
import { createSecretSource } from "./cluster-source.ts";
import { createKubernetesBackend } from "./kubernetes-backend.ts";
import { type ServeClusterOptions, serveCluster } from "./testing/serve-cluster.ts";
import { createVclusterSource } from "./vcluster-source.ts";

const { signal } = new AbortController();
const { scheduler, clock } = systemRuntime;
const names = { name: "example", insideRoleGroup: (role: string) => `example:role:${role}` };
const editor = { name: "alice", groups: ["devs", "example:role:edit", "system:authenticated"] };
const viewer = { name: "bob", groups: ["example:role:view", "system:authenticated"] };

function openConnections(): ClusterConnections {
  const connections = createClusterConnections({ scheduler, addresses: createAddressRules(), userAgent: "example" });
  onTestFinished(() => connections[Symbol.dispose]());
  return connections;
}

const secretWith = (kubeConfig: string, entry = "config"): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "credentials", namespace: "p-default" },
  data: { [entry]: Buffer.from(kubeConfig).toString("base64") },
});

async function connectCluster(options: ServeClusterOptions = {}, signingTimeoutMs = 10_000) {
  const cluster = await serveCluster(options);
  const state = { secret: secretWith(cluster.kubeConfig) as KubeObject | undefined };
  const source = createSecretSource({
    connections: openConnections(),
    key: "uid",
    find: () => ({ object: state.secret }),
  });
  const backend = createKubernetesBackend({ source, names, clock, scheduler, signingTimeoutMs });
  return { cluster, state, source, backend };
}

type Backend = ReturnType<typeof createKubernetesBackend>;

async function ask(backend: Backend, call: TestRequest) {
  const context = createTestContext({
    ...call,
    headers:
      call.body === undefined ? {} : { "content-type": "application/json", "content-length": lengthOf(call.body) },
  });
  const { status, body } = await backend.proxy(context, call.user ?? editor);
  const chunks: Buffer[] = [];
  const write = (chunk: Uint8Array | string) => chunks.push(Buffer.from(chunk)) > 0;
  if (body.type === "bytes") write(body.bytes);
  else if (body.type === "stream") await body.run({ bufferedBytes: 0, write }, context.signal);
  const text = Buffer.concat(chunks).toString();
  return { status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

const lengthOf = (body: unknown): string => String(Buffer.byteLength(JSON.stringify(body)));

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "b" } });
const csrs = async (cluster: Awaited<ReturnType<typeof serveCluster>>) =>
  (await cluster.admin("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests")).items;

const configOf = (parts: Omit<Parameters<typeof buildKubeconfig>[0], "name">) =>
  buildKubeconfig({ name: "t", ...parts });

describe("the proxy", () => {
  test("acts as the caller with the caller's rights inside", async () => {
    const { backend } = await connectCluster();
    const created = await ask(backend, { method: "POST", url: CONFIG_MAPS, body: configMap("one") });
    expect(created.status).toBe(201);
    expect((await ask(backend, { url: `${CONFIG_MAPS}/one`, user: viewer })).body.data).toEqual({ a: "b" });
    const refused = await ask(backend, { method: "POST", url: CONFIG_MAPS, body: configMap("two"), user: viewer });
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('User "bob" cannot create resource "configmaps"');
  });

  test("sends the cluster the caller's identity, and nothing of the platform's", async () => {
    const { backend } = await connectCluster();
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} };
    const { body } = await ask(backend, {
      method: "POST",
      url: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: review,
    });
    expect(body.status.userInfo.username).toBe("alice");
    expect(body.status.userInfo.groups.toSorted()).toEqual(["devs", "example:role:edit", "system:authenticated"]);
  });

  test("carries a watch, which ends with the caller's key", async () => {
    const { backend, cluster } = await connectCluster();
    const revoked = new AbortController();
    const context = createTestContext({ url: `${CONFIG_MAPS}?watch=1` }).with({ signal: revoked.signal });
    const { body } = await backend.proxy(context, viewer);
    if (body.type !== "stream") throw new Error("a watch is a stream");
    const events: string[] = [];
    const running = body.run(
      {
        bufferedBytes: 0,
        write(chunk) {
          events.push(String(chunk));
          revoked.abort(unauthorizedError());
          return true;
        },
      },
      revoked.signal,
    );
    // It may be over before the answer to the write is there.
    const refused = expect(running).rejects.toMatchObject({ code: 401 });
    await cluster.admin("POST", CONFIG_MAPS, configMap("seen"));
    await refused;
    expect(events.join("")).toContain('"ADDED"');
  });

  test("follows the Secret: a new credential counts at once", async () => {
    const { backend, state, cluster } = await connectCluster();
    const { url, certificateAuthorityPem } = cluster;
    state.secret = secretWith(configOf({ server: url, certificateAuthorityPem, credential: { token: "old" } }));
    await expect(ask(backend, { url: "/version" })).rejects.toMatchObject({ code: 502 });
    state.secret = secretWith(cluster.kubeConfig);
    expect((await ask(backend, { url: "/version" })).status).toBe(200);
    state.secret = undefined;
    await expect(ask(backend, { url: "/version" })).rejects.toMatchObject({ code: 503 });
  });
});

describe("client certificates", () => {
  const request = { commonName: "alice", organizations: ["devs", "example:role:edit"], expirationSeconds: 3600 };

  test("are signed by the cluster for a key made here, and the request is removed", async () => {
    const { backend, cluster } = await connectCluster();
    const before = Date.now();
    const { certificatePem, privateKeyPem, notAfter } = await backend.issueClientCertificate(request, signal);
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.subject.split("\n").toSorted()).toEqual(["CN=alice", "O=devs", "O=example:role:edit"]);
    expect(certificate.keyUsage).toContain("1.3.6.1.5.5.7.3.2");
    expect(privateKeyPem).toContain("PRIVATE KEY");
    expect(notAfter).toBeGreaterThan(before + 3_590_000);
    expect(notAfter).toBeLessThan(Date.now() + 3_610_000);
    expect(await csrs(cluster)).toEqual([]);
  });

  test("last as long as the signer likes where no end is asked for", async () => {
    const { backend } = await connectCluster();
    const { notAfter } = await backend.issueClientCertificate({ ...request, expirationSeconds: undefined }, signal);
    expect(notAfter).toBeGreaterThan(Date.now() + 300 * 86_400_000);
  });

  test("that outlive what they must not are 502, since the signer did not do what it was asked to", async () => {
    const { backend, cluster } = await connectCluster();
    const whole = { ...request, expirationSeconds: undefined };
    await expect(
      backend.issueClientCertificate({ ...whole, latestEnd: Date.now() + 3_600_000 }, signal),
    ).rejects.toMatchObject({
      code: 502,
      message: expect.stringContaining("it outlives the access key"),
      details: { causes: [{ reason: "CertificateFailed" }] },
    });
    expect(await csrs(cluster)).toEqual([]);
    // A clock that is a little ahead does no harm.
    const latestEnd = Date.now() + 3_500_000;
    expect((await backend.issueClientCertificate({ ...request, latestEnd }, signal)).notAfter).toBeGreaterThan(
      latestEnd,
    );
  });

  test.each([
    [{ commonName: "system:admin" }, 403],
    [{ organizations: ["system:masters"] }, 403],
    [{ commonName: "" }, 403],
    [{ commonName: "a\nb" }, 403],
    [{ expirationSeconds: 599 }, 400],
  ])("are not asked for with %j", async (change, code) => {
    const { backend, cluster } = await connectCluster();
    await expect(backend.issueClientCertificate({ ...request, ...change }, signal)).rejects.toMatchObject({ code });
    expect(cluster.requests).toEqual([]);
  });

  /** Puts a condition on every request as soon as it is there. */
  const decide =
    (cluster: Awaited<ReturnType<typeof serveCluster>>, subresource: string, condition: object) => async () => {
      const [csr] = await csrs(cluster);
      const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${csr.metadata.name}/${subresource}`;
      const conditions = [...(csr.status?.conditions ?? []), { status: "True", ...condition }];
      const result = await cluster.admin("PUT", path, { ...csr, status: { ...csr.status, conditions } });
      expect(result.kind).toBe("CertificateSigningRequest");
    };

  test("that the cluster denies are 403, and the request is removed", async () => {
    let deny = async () => {};
    const { backend, cluster } = await connectCluster({
      async intercept(incoming) {
        if (incoming.method === "PUT") await deny();
        return undefined;
      },
    });
    deny = decide(cluster, "approval", { type: "Denied", reason: "Policy", message: "no certificates for people" });
    await expect(backend.issueClientCertificate(request, signal)).rejects.toMatchObject({
      code: 403,
      message: "the cluster denied the certificate: Policy: no certificates for people",
      details: { causes: [{ reason: "CertificateDenied" }] },
    });
    expect(await csrs(cluster)).toEqual([]);
  });

  /** Answers of a cluster without a signer, or with one that fails, after the approval. */
  const afterApproval = (status: object): ServeClusterOptions => ({
    async intercept(incoming) {
      if (incoming.method !== "GET" || !incoming.path.includes("certificatesigningrequests/")) return undefined;
      const name = incoming.path.split("/").at(-1);
      const object = {
        kind: "CertificateSigningRequest",
        apiVersion: "certificates.k8s.io/v1",
        metadata: { name },
        status,
      };
      return jsonResponse(200, JSON.stringify(object));
    },
  });

  test("that the signer fails to sign are 502", async () => {
    const failed = { type: "Failed", status: "True", reason: "SigningError", message: "out of serial numbers" };
    const { backend, cluster } = await connectCluster(afterApproval({ conditions: [failed] }));
    await expect(backend.issueClientCertificate(request, signal)).rejects.toMatchObject({
      code: 502,
      details: { causes: [{ reason: "CertificateFailed" }] },
    });
    expect(await csrs(cluster)).toEqual([]);
  });

  test("that are not signed are answered with 504 after a while", async () => {
    const { backend, cluster } = await connectCluster(afterApproval({}), 60);
    await expect(backend.issueClientCertificate(request, signal)).rejects.toMatchObject({
      code: 504,
      details: { causes: [{ reason: "CertificateTimedOut" }] },
    });
    expect(await csrs(cluster)).toEqual([]);
  });

  test("for another key than was asked for are refused", async () => {
    const other = await connectCluster();
    const { certificatePem } = await other.backend.issueClientCertificate(request, signal);
    const certificate = Buffer.from(certificatePem).toString("base64");
    const { backend } = await connectCluster(afterApproval({ certificate }));
    await expect(backend.issueClientCertificate(request, signal)).rejects.toMatchObject({ code: 502 });
  });

  test("that the platform's credential may not ask for are 502, without its name", async () => {
    const user = { name: "weak-credential", groups: ["system:authenticated"] };
    const { backend } = await connectCluster({ user });
    const failure = backend.issueClientCertificate(request, signal);
    await expect(failure).rejects.toMatchObject({ code: 502, details: { causes: [{ reason: "RequestRefused" }] } });
    await expect(failure).rejects.not.toThrow(/weak-credential/);
  });

  test("leave no request behind when the caller disconnects", async () => {
    const left = new AbortController();
    const { backend, cluster } = await connectCluster({
      async intercept(incoming) {
        if (incoming.method === "PUT") left.abort(new Error("gone"));
        return undefined;
      },
    });
    await expect(backend.issueClientCertificate(request, left.signal)).rejects.toThrow("gone");
    expect(await csrs(cluster)).toEqual([]);
  });
});

describe("bindings", () => {
  const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const namesOf = async (cluster: Awaited<ReturnType<typeof serveCluster>>) =>
    (await cluster.admin("GET", `${BINDINGS}?labelSelector=app.kubernetes.io/managed-by=example`)).items.map(
      ({ metadata }: KubeObject) => metadata.name,
    );

  test("are made, kept and removed with the roles that are wanted", async () => {
    const { backend, cluster } = await connectCluster();
    await backend.bindRoles(["cluster-admin", "view", "tenant"], signal);
    expect(await namesOf(cluster)).toEqual(["example:role:cluster-admin", "example:role:tenant", "example:role:view"]);
    const writes = () => cluster.requests.filter(({ method }) => method !== "GET").length;
    const before = writes();
    await backend.bindRoles(["cluster-admin", "view", "tenant"], signal);
    expect(writes()).toBe(before);
    await backend.bindRoles(["cluster-admin"], signal);
    expect(await namesOf(cluster)).toEqual(["example:role:cluster-admin"]);
  });

  test("leave those of others alone that have the same label, such as one of an agent", async () => {
    const { backend, cluster } = await connectCluster();
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const metadata = { name: "example-agent", labels: { "app.kubernetes.io/managed-by": "example" } };
    await cluster.admin("POST", BINDINGS, { metadata, roleRef, subjects: [] });
    await backend.bindRoles(["cluster-admin"], signal);
    expect(await namesOf(cluster)).toEqual(["example-agent", "example:role:cluster-admin"]);
  });

  test("are not read for ever from a cluster that always has more (security book 50)", async () => {
    let pages = 0;
    const item = { metadata: { name: "more", labels: { "app.kubernetes.io/managed-by": "example" } } };
    const page = { kind: "ClusterRoleBindingList", metadata: { continue: "more" }, items: [item] };
    const { backend } = await connectCluster({
      intercept({ path }) {
        if (path !== BINDINGS) return undefined;
        pages += 1;
        return jsonResponse(200, JSON.stringify(pages < 100 ? page : { ...page, metadata: {} }));
      },
    });
    await expect(backend.bindRoles(["view"], signal)).rejects.toMatchObject({
      code: 502,
      details: { causes: [{ reason: "AnswerTooLarge" }] },
    });
    expect(pages).toBeLessThan(10);
  });

  test("are not waited for while a cluster sends them byte by byte (security book 50)", async () => {
    const { source } = await connectCluster({
      intercept: ({ path }) =>
        path === BINDINGS
          ? {
              status: 200,
              headers: { "content-type": "application/json" },
              body: {
                type: "stream",
                run: async (sink, signal) => {
                  await sink.write(Buffer.from("{"));
                  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
                },
              },
            }
          : undefined,
    });
    const { client } = await source.connect({ signal });
    await expect(bindRoles(client, ["view"], { names, scheduler, timeoutMs: 100 }, signal)).rejects.toMatchObject({
      code: 503,
      details: { causes: [{ reason: "ConnectTimeout" }] },
    });
  });

  test("that were changed are corrected", async () => {
    const { backend, cluster } = await connectCluster();
    await backend.bindRoles(["cluster-admin", "view"], signal);
    const path = `${BINDINGS}/example:role:view`;
    const binding = await cluster.admin("GET", path);
    await cluster.admin("PUT", path, { ...binding, subjects: [] });
    await backend.bindRoles(["cluster-admin", "view"], signal);
    expect((await cluster.admin("GET", path)).subjects).toMatchObject([{ kind: "Group", name: "example:role:view" }]);
  });
});

describe("health", () => {
  test("is the cluster's version when it is ready", async () => {
    const { backend } = await connectCluster();
    expect(await backend.health(signal)).toMatchObject({ ready: true, version: expect.stringMatching(/^v\d/) });
  });

  test.each([
    ["is no JSON", "v1.36.2"],
    ["is no version", '{"gitVersion":"<b>"}'],
    ["is longer than any (security book 50)", `{"gitVersion":"v1.36.2","more":[${"{},".repeat(6_000)}{}]}`],
  ])("does not show a version that %s", async (_, version) => {
    const { backend } = await connectCluster({
      intercept: ({ path }) => (path === "/version" ? textResponse(200, version) : undefined),
    });
    expect(await backend.health(signal)).toEqual({ ready: true, version: "unknown" });
  });

  test("reports why a cluster is not ready", async () => {
    const { backend } = await connectCluster({
      intercept: ({ path }) => (path === "/readyz" ? textResponse(500, "[-]etcd failed") : undefined),
    });
    expect(await backend.health(signal)).toMatchObject({ ready: false, reason: "NotReady" });
  });

  test("reports that a cluster is down, and does not wait for it", async () => {
    const { backend, state } = await connectCluster();
    state.secret = secretWith(configOf({ server: "https://127.0.0.1:1", credential: { token: "a" } }));
    expect(await backend.health(signal)).toMatchObject({ ready: false, reason: "ConnectionRefused" });
  });

  test("reports a refused or missing credential", async () => {
    const { backend, state } = await connectCluster({
      intercept: (request) => errorResponse(request, unauthorizedError()),
    });
    expect(await backend.health(signal)).toMatchObject({ ready: false, reason: "CredentialRefused" });
    state.secret = undefined;
    expect(await backend.health(signal)).toMatchObject({ ready: false, reason: "KubeConfigNotFound" });
  });
});

describe("a vcluster in a connected cluster", () => {
  async function connectVcluster(server?: string) {
    const inner = await serveCluster();
    const outer = await connectCluster();
    const kubeConfig = server === undefined ? inner.kubeConfig : inner.kubeConfig.replace(inner.url, server);
    const secret = { ...secretWith(kubeConfig), metadata: { name: "vc-web", namespace: "default" } };
    const now = { value: clock.now() };
    const source = createVclusterSource({
      connections: openConnections(),
      key: "uid",
      ownNamespace: "p-default",
      host: outer.source,
      namespace: "default",
      name: "web",
      loopbackServer: inner.url,
      isOwn: ({ metadata }) => metadata.labels?.["owner"] !== "another",
      isSpace: () => false,
      clock: { now: () => now.value, elapsed: () => now.value },
    });
    const backend = createKubernetesBackend({ source, names, clock, scheduler });
    const put = (labels = {}) =>
      outer.cluster.admin("POST", "/api/v1/namespaces/default/secrets", {
        ...secret,
        metadata: { ...secret.metadata, labels },
      });
    return { inner, outer, backend, source, put, now };
  }

  test.each([undefined, "https://localhost:8443", "https://127.0.0.1:10443", "https://[::ffff:127.0.0.1]:8443"])(
    "is reached by its Secret there: %s",
    async (server) => {
      const { backend, put, outer } = await connectVcluster(server);
      await put();
      expect((await ask(backend, { url: CONFIG_MAPS })).status).toBe(200);
      expect((await ask(backend, { url: CONFIG_MAPS })).status).toBe(200);
      // The Secret and its namespace, once.
      expect(outer.cluster.requests).toHaveLength(2);
      expect(backend.serverCertificateAuthority).toContain("CERTIFICATE");
    },
  );

  test("is 503 while it is not there, and found when it is", async () => {
    const { backend, put } = await connectVcluster();
    await expect(ask(backend, { url: "/version" })).rejects.toMatchObject({
      code: 503,
      details: { causes: [{ reason: "VirtualClusterNotFound" }] },
    });
    await put();
    expect((await ask(backend, { url: "/version" })).status).toBe(200);
  });

  test("of another instance is not reached", async () => {
    const { backend, put, inner } = await connectVcluster();
    await put({ owner: "another" });
    await expect(ask(backend, { url: "/version" })).rejects.toMatchObject({
      code: 502,
      details: { causes: [{ reason: "NotOfThisInstance" }] },
    });
    expect(inner.requests).toEqual([]);
  });

  test("is not waited for longer than the caller waits", async () => {
    const { outer, backend } = await connectVcluster();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const kubeConfig = configOf({ server: `https://127.0.0.1:${port}`, credential: { token: "a" } });
    outer.state.secret = secretWith(kubeConfig);
    const left = new AbortController();
    const health = backend.health(left.signal);
    left.abort(new Error("gone"));
    await expect(health).rejects.toThrow("gone");
  });

  test("stays reachable while the cluster that it lives in is down", async () => {
    const { backend, outer, put, now } = await connectVcluster();
    await put();
    expect((await ask(backend, { url: "/version" })).status).toBe(200);
    now.value += 3_600_000;
    outer.state.secret = undefined;
    expect((await ask(backend, { url: "/version" })).status).toBe(200);
  });
});
