import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { createSealedValues } from "../access-keys/sealed-value.ts";
import { createCertificateAuthority } from "../pki/certificate-authority.ts";
import { createCertificateRequest } from "../pki/certificate-request.ts";
import { signClientCertificate } from "../pki/client-certificate.ts";
import { TEST_VERSION } from "../resources/testing/tenancy.ts";
import { createEmbeddedBackend } from "./embedded-backend.ts";
import { createEmbeddedClusters } from "./embedded-clusters.ts";
import { virtualClusterComposition } from "./internal-records.ts";

const { signal } = new AbortController();
const names = { name: "example", insideRoleGroup: (role: string) => `example:role:${role}` };
const root = { name: "root", groups: ["example:role:cluster-admin"] };
const editor = { name: "ed", groups: ["example:role:edit"] };
const viewer = { name: "vi", groups: ["example:role:view"] };
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

async function createHost(storage = createMemoryStorage(), serverKey = 7) {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const errors: unknown[] = [];
  const clusters = createEmbeddedClusters({
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    sealedValues: createSealedValues([new Uint8Array(32).fill(serverKey)], systemRuntime.random),
    version: TEST_VERSION,
    onError: (error) => errors.push(error),
  });
  const backend = (uid: string) =>
    createEmbeddedBackend(
      { clusters, names, runtime: systemRuntime, version: TEST_VERSION, serverCertificateAuthority: undefined },
      uid,
    );
  return {
    storage,
    clusters,
    errors,
    backend,
    async setUp(uid: string) {
      await backend(uid).provision(signal);
      await backend(uid).bindRoles(["cluster-admin", "edit", "view"], signal);
      // Aggregated roles fill in a moment later.
      const { view, keys } = (await clusters.open(uid)).resource("rbac.authorization.k8s.io", "ClusterRole");
      const filled = () => ["edit", "view"].every((role) => rulesOf(view.get(keys.of("", role))?.decode()).length > 0);
      while (!filled()) await new Promise((resolve) => setImmediate(resolve));
    },
    async request(uid: string, call: TestRequest) {
      const context = createTestContext({
        ...call,
        headers: call.body === undefined ? {} : { "content-type": "application/json", ...call.headers },
      });
      const { status, body } = await backend(uid).proxy(
        { ...context, receivedAt: systemRuntime.clock.now() },
        call.user ?? root,
      );
      if (body.type !== "bytes") throw new Error("the answer is a stream");
      const text = Buffer.from(body.bytes).toString();
      return { status, body: text.startsWith("{") ? JSON.parse(text) : text };
    },
    async keysOf(prefix: string) {
      return (await storage.list(prefix)).entries.map(({ key }) => key);
    },
    async dump() {
      const { entries } = await storage.list("/");
      return entries.map(({ value }) => Buffer.from(value).toString("latin1")).join("\n");
    },
    async [Symbol.asyncDispose]() {
      clusters[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
    },
  };
}

const rulesOf = (role: any): readonly unknown[] => role?.rules ?? [];
const configMap = (name: string) => ({ metadata: { name }, data: { a: "b" } });
const MAPS = "/api/v1/namespaces/default/configmaps";

describe("an embedded virtual cluster", () => {
  it("serves what a bare cluster serves", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const namespaces = await host.request("one", { url: "/api/v1/namespaces" });
    expect(namespaces.body.items.map(({ metadata }: any) => metadata.name)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
    expect((await host.request("one", { url: "/version" })).body.gitVersion).toBe(TEST_VERSION.gitVersion);
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      expect(await host.request("one", { url: path })).toEqual({ status: 200, body: "ok" });
    }
    const groups = (await host.request("one", { url: "/apis" })).body.groups.map(({ name }: any) => name);
    expect(groups).toEqual(
      expect.arrayContaining([
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
      ]),
    );
    expect(groups.filter((group: string) => group.startsWith("management."))).toEqual([]);
  });

  it("creates, reads, changes and deletes, namespaces with their content as well", async () => {
    await using host = await createHost();
    await host.setUp("one");
    expect((await host.request("one", { method: "POST", url: MAPS, body: configMap("x") })).status).toBe(201);
    const patch = { headers: { "content-type": "application/merge-patch+json" }, body: { data: { a: "c" } } };
    const patched = await host.request("one", { method: "PATCH", url: `${MAPS}/x`, ...patch });
    expect(patched.body.data).toEqual({ a: "c" });
    expect((await host.request("one", { method: "DELETE", url: `${MAPS}/x` })).status).toBe(200);
    await expect(host.request("one", { url: `${MAPS}/x` })).rejects.toMatchObject({ code: 404 });
    expect(host.errors).toEqual([]);
  });

  it("gives each role inside what the ClusterRole of its name opens", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const post = (user: object) =>
      host.request("one", { method: "POST", url: MAPS, body: configMap("by-role"), user: user as typeof root });
    await expect(post(viewer)).rejects.toMatchObject({ code: 403 });
    await expect(post({ name: "nobody", groups: [] })).rejects.toMatchObject({ code: 403 });
    expect((await post(editor)).status).toBe(201);
    expect((await host.request("one", { url: MAPS, user: viewer })).status).toBe(200);
    await expect(host.request("one", { url: "/api/v1/secrets", user: viewer })).rejects.toMatchObject({ code: 403 });
    await expect(
      host.request("one", { url: "/apis/rbac.authorization.k8s.io/v1/clusterroles", user: editor }),
    ).rejects.toMatchObject({ code: 403 });
  });

  it("keeps a binding for each role, and removes those for roles that are no longer given", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const bindingsNow = async () => {
      const { body } = await host.request("one", { url: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings" });
      return body.items.map(({ metadata }: any) => metadata.name).filter((name: string) => name.startsWith("example:"));
    };
    await host.backend("one").bindRoles(["cluster-admin", "auditor"], signal);
    expect(await bindingsNow()).toEqual(["example:role:auditor", "example:role:cluster-admin"]);
  });

  it("is nothing to another: objects, rights and certificates of one mean nothing in the other", async () => {
    await using host = await createHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("mine") });
    expect((await host.request("two", { url: MAPS })).body.items).toEqual([]);

    const grant = {
      metadata: { name: "grant" },
      subjects: [{ kind: "User", name: "eve", apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { kind: "ClusterRole", name: "cluster-admin", apiGroup: "rbac.authorization.k8s.io" },
    };
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    await host.request("one", { method: "POST", url: bindings, body: grant });
    const eve = { name: "eve", groups: [] };
    expect((await host.request("one", { url: "/api/v1/secrets", user: eve })).status).toBe(200);
    await expect(host.request("two", { url: "/api/v1/secrets", user: eve })).rejects.toMatchObject({ code: 403 });
  });

  it("security book 29: lets nobody in as a part of the system", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const masters = { name: "mallory", groups: ["system:masters"] };
    await expect(host.request("one", { url: "/api/v1/secrets", user: masters })).rejects.toMatchObject({ code: 403 });
    const apiserver = { name: "system:apiserver", groups: ["system:masters"] };
    await expect(host.request("one", { url: "/api/v1/secrets", user: apiserver })).rejects.toMatchObject({ code: 403 });
  });

  it("security book 28: takes nobody's word for who the caller is", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const headers = { "impersonate-user": "root", "impersonate-group": "system:masters", "x-remote-user": "root" };
    const review = { method: "POST", url: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: {}, headers };
    const { body } = await host.request("one", { ...review, user: viewer });
    expect(body.status.userInfo).toMatchObject({
      username: "vi",
      groups: ["example:role:view", "system:authenticated"],
    });
  });
});

describe("certificate signing requests", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const csr = (spec: object = {}, subject: object = {}) => ({
    metadata: { generateName: "csr-" },
    spec: {
      request: Buffer.from(
        createCertificateRequest(privateKey, { commonName: "dev", organizations: ["devs"], ...subject }),
      ).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
      ...spec,
    },
  });
  type Host = Awaited<ReturnType<typeof createHost>>;

  async function approveAndWait(host: Host, body: object, uid = "one") {
    const { body: created } = await host.request(uid, { method: "POST", url: CSRS, body });
    const { name } = created.metadata;
    const approval = {
      ...created,
      status: { conditions: [{ type: "Approved", status: "True", reason: "ByHand", message: "" }] },
    };
    await host.request(uid, { method: "PUT", url: `${CSRS}/${name}/approval`, body: approval });
    for (;;) {
      const { body: now } = await host.request(uid, { url: `${CSRS}/${name}` });
      const isFailed = now.status.conditions.some(({ type }: any) => type === "Failed");
      if (now.status.certificate !== undefined || isFailed) return now;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const certificateOf = (request: any) => new X509Certificate(Buffer.from(request.status.certificate, "base64"));

  it("security book 55: signs what was approved: name and groups from the request, everything else from us", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const signed = await approveAndWait(host, csr({ expirationSeconds: 3600 }));
    const certificate = certificateOf(signed);
    expect(certificate.subject).toBe("O=devs\nCN=dev");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(certificate.ca).toBe(false);
    expect(Math.abs(Date.parse(certificate.validTo) - Date.now() - 3_600_000)).toBeLessThan(15_000);
    const { request } = createTestContext({ url: "/api" });
    const presented = { ...request, peerCertificate: () => certificate };
    const authentication = await host.backend("one").authenticateCertificate(presented);
    expect(authentication?.user).toEqual({ name: "dev", groups: ["devs"] });
    expect(authentication?.credential?.id).toMatch(/^certificate:[0-9a-f]{64}$/);
    expect(await host.backend("one").authenticateCertificate(request)).toBeUndefined();
  });

  it("security book 13: a locked user's certificate gives no identity until the user is unlocked", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const certificate = certificateOf(await approveAndWait(host, csr()));
    const { request } = createTestContext({ url: "/api" });
    const presented = { ...request, peerCertificate: () => certificate };
    const locked = new Set(["dev"]);
    const backend = createEmbeddedBackend(
      {
        clusters: host.clusters,
        names,
        runtime: systemRuntime,
        version: TEST_VERSION,
        serverCertificateAuthority: undefined,
        isLocked: (name) => locked.has(name),
      },
      "one",
    );
    expect(await backend.authenticateCertificate(presented)).toBeUndefined();
    locked.clear();
    expect(await backend.authenticateCertificate(presented)).toMatchObject({ user: { name: "dev" } });
  });

  it("refuses a life under ten minutes with 422, and the group of the masters with 403", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const post = (body: object) => host.request("one", { method: "POST", url: CSRS, body });
    await expect(post(csr({ expirationSeconds: 599 }))).rejects.toMatchObject({ code: 422 });
    await expect(post(csr({}, { organizations: ["system:masters"] }))).rejects.toMatchObject({ code: 403 });
  });

  it.each([
    ["a usage that is not for clients", csr({ usages: ["client auth", "server auth"] }), "server auth"],
    ["no usage for clients", csr({ usages: ["digital signature"] }), "client auth"],
    ["no common name", csr({}, { commonName: "" }), "common name"],
  ])("fails what was approved with %s, and says why", async (_what, body, why) => {
    await using host = await createHost();
    await host.setUp("one");
    const failed = await approveAndWait(host, body);
    expect(failed.status.certificate).toBeUndefined();
    const condition = failed.status.conditions.find(({ type }: any) => type === "Failed");
    expect(condition).toMatchObject({ status: "True", reason: "SignerValidationFailure" });
    expect(condition.message).toContain(why);
  });

  it("security book 55: does not sign a weak key", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const { openssl, createWorkspace } = await import("../pki/testing/openssl.ts");
    using workspace = createWorkspace();
    const file = workspace.path("weak.csr");
    openssl(
      "req",
      "-new",
      "-newkey",
      "rsa:1024",
      "-nodes",
      "-keyout",
      workspace.path("k"),
      "-subj",
      "/CN=x",
      "-out",
      file,
    );
    const { readFileSync } = await import("node:fs");
    const body = csr({ request: readFileSync(file).toString("base64") });
    const failed = await approveAndWait(host, body);
    expect(failed.status.conditions.find(({ type }: any) => type === "Failed").message).toContain("RSA key");
  });

  it("leaves other signers alone", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const { body } = await host.request("one", {
      method: "POST",
      url: CSRS,
      body: csr({ signerName: "example.com/other" }),
    });
    const { signer } = await host.clusters.open("one");
    expect((await signer.sign(body.metadata.name, signal)).status?.certificate).toBeUndefined();
  });

  it.each([
    ["another authority", { authority: "other" }],
    ["a certificate that is over", { notAfter: -1 }],
  ])("security book 22: %s gives no identity", async (_what, { authority, notAfter }: any) => {
    await using host = await createHost();
    await host.setUp("one");
    const own = (await host.clusters.open("one")).authority;
    const clock = { now: () => Date.now() - 10_000_000 };
    const { random } = systemRuntime;
    const ours = authority === undefined ? own : createCertificateAuthority({ commonName: "vc-one-ca", clock, random });
    const { pem } = signClientCertificate({
      authority: ours,
      publicKey: createPublicKey(privateKey),
      commonName: "eve",
      organizations: [],
      notAfter: notAfter === undefined ? Date.now() + 1e6 : Date.now() - 1_000_000,
      clock,
      random,
    });
    const { request } = createTestContext({ url: "/api" });
    const presented = { ...request, peerCertificate: () => new X509Certificate(pem) };
    expect(await host.backend("one").authenticateCertificate(presented)).toBeUndefined();
  });
});

describe("the life of embedded virtual clusters", () => {
  it("begins with provisioning, and is found again by the next process, which starts it only when it is used", async () => {
    const storage = createMemoryStorage();
    let authority = "";
    {
      await using host = await createHost(storage);
      await expect(host.request("one", { url: "/api" })).rejects.toMatchObject({ code: 503 });
      expect(await host.backend("one").health(signal)).toMatchObject({ ready: false, reason: "NotProvisioned" });
      await host.setUp("one");
      authority = (await host.clusters.open("one")).authority.certificatePem;
      await host.request("one", { method: "POST", url: MAPS, body: configMap("kept") });
    }
    await using host = await createHost(storage);
    expect(await host.backend("one").health(signal)).toMatchObject({ ready: true });
    await host.backend("one").bindRoles(["cluster-admin", "edit", "view"], signal);
    expect(host.clusters.running).toBe(0);
    expect((await host.request("one", { url: `${MAPS}/kept` })).status).toBe(200);
    expect(host.clusters.running).toBe(1);
    expect((await host.clusters.open("one")).authority.certificatePem).toBe(authority);
  });

  it("starts a cluster once, however many ask for it at the same time", async () => {
    await using host = await createHost();
    await host.setUp("one");
    await host.clusters.stop("one");
    const opened = await Promise.all(Array.from({ length: 20 }, () => host.clusters.open("one")));
    expect(new Set(opened).size).toBe(1);
  });

  it("keeps the private key of an authority sealed under the server key", async () => {
    const storage = createMemoryStorage();
    await using host = await createHost(storage);
    await host.setUp("one");
    const { privateKeyPem } = (await host.clusters.open("one")).authority;
    const everything = await host.dump();
    for (const line of privateKeyPem.split("\n").filter((text) => text !== "")) {
      expect(everything).not.toContain(line);
    }
    await using stranger = await createHost(storage, 8);
    await expect(stranger.clusters.open("one")).rejects.toThrow("cannot be opened");
  });

  it("does not open a record that was put in the place of another", async () => {
    await using host = await createHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.clusters.stop("two");
    const of = (uid: string) => `/registry/${virtualClusterComposition(uid)}/internal/certificate-authority`;
    const [one, two] = [await host.storage.get(of("one")), await host.storage.get(of("two"))];
    await host.storage.update(of("two"), one!.value, two!.revision);
    await expect(host.clusters.open("two")).rejects.toThrow("cannot be opened");
  });

  it("security book 11: ends with nothing left, so that nobody after it inherits anything", async () => {
    await using host = await createHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("mine") });
    const { authority } = await host.clusters.open("one");
    const others = await host.keysOf("/registry/vc-two/");
    await host.clusters.remove("one", signal);
    expect(await host.keysOf("/registry/vc-one/")).toEqual([]);
    expect(await host.keysOf("/registry/vc-two/")).toEqual(others);
    await expect(host.request("one", { url: "/api" })).rejects.toMatchObject({ code: 503 });
    await host.setUp("one");
    expect((await host.clusters.open("one")).authority.certificatePem).not.toBe(authority.certificatePem);
    expect((await host.request("one", { url: MAPS })).body.items).toEqual([]);
  });

  it("takes no write of a request that was under way when it was removed", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const requests = Array.from({ length: 50 }, (_, index) =>
      host.request("one", { method: "POST", url: MAPS, body: configMap(`late-${index}`) }).catch(() => undefined),
    );
    await host.clusters.remove("one", signal);
    await Promise.all(requests);
    expect(await host.keysOf("/registry/vc-one/")).toEqual([]);
  });

  it("cuts the watches of a cluster that stops", async () => {
    await using host = await createHost();
    await host.setUp("one");
    const context = createTestContext({ url: `${MAPS}?watch=1` });
    const { body } = await host.backend("one").proxy(context, root);
    if (body.type !== "stream") throw new Error("a watch is a stream");
    const over = body.run({ write: () => true, bufferedBytes: 0 }, context.signal);
    await host.clusters.stop("one");
    await over;
  });
});
