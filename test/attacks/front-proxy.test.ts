// Another kube-apiserver forwards requests for its users. Only its certificate makes its headers count, and they never make one of the platform's own.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  startPostern,
  startTool,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { createFrontProxyFiles, type FrontProxyFiles } from "./testing/front-proxy-files.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const INSTANCES = `${API}/namespaces/p-default/virtualclusterinstances`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const CONTROLLER = "system:serviceaccount:kube-system:namespace-controller";

type Certificate = "front-proxy" | "kubelet" | "forged" | "later" | undefined;
type Call = { readonly method?: string; readonly body?: object; readonly key?: string; readonly type?: string };

describe("the management API behind another kube-apiserver", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let ask: HttpClient;
  let admin: string;

  let files: FrontProxyFiles;

  const path = (name: string): string => join(directory.path, name);
  const curlArgs = (
    at: string,
    headers: readonly string[],
    certificate: Certificate,
    { method, body, key, type = "application/json" }: Call = {},
  ): readonly string[] => [
    ...["--silent", "--cacert", server.caFile, "--header", `content-type: ${type}`],
    ...[...headers, ...(key === undefined ? [] : [`authorization: Bearer ${key}`])].flatMap((one) => ["--header", one]),
    ...(method === undefined ? [] : ["--request", method]),
    ...(body === undefined ? [] : ["--data", JSON.stringify(body)]),
    ...(certificate === undefined ? [] : ["--cert", path(`${certificate}.pem`), "--key", path(`${certificate}.key`)]),
    `${server.url}${at}`,
  ];
  const curl = async (at: string, headers: readonly string[], certificate: Certificate, call: Call = {}) => {
    const { stdout } = await tool("curl", [
      "--write-out",
      "\n%{http_code}",
      ...curlArgs(at, headers, certificate, call),
    ]);
    const end = stdout.lastIndexOf("\n");
    return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end) || "{}") };
  };
  const named = (user: string, ...groups: readonly string[]): readonly string[] => [
    `X-Remote-User: ${user}`,
    ...groups.map((group) => `X-Remote-Group: ${group}`),
  ];
  const forwarded = (at: string, headers: readonly string[], call?: Call) => curl(at, headers, "front-proxy", call);
  const whoBy = async (certificate: Certificate, headers: readonly string[], call: Call = {}) => {
    const { status, body } = await curl(WHO_AM_I, headers, certificate, { body: REVIEW, ...call });
    return body.status?.userInfo ?? status;
  };
  const whoIs = (headers: readonly string[]) => whoBy("front-proxy", headers);
  const bind = (name: string, role: string, subject: object, namespace?: string) =>
    ask(namespace === undefined ? `${RBAC}/clusterrolebindings` : `${RBAC}/namespaces/${namespace}/rolebindings`, {
      key: admin,
      body: {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", ...subject }],
      },
    });

  beforeAll(async () => {
    directory = await temporaryDirectory();
    files = await createFrontProxyFiles(directory.path);
    for (const name of ["authority", "other", "next"]) await files.makeAuthority(name);
    await files.makeCertificate("front-proxy", "front-proxy-client", "authority");
    await files.makeCertificate("kubelet", "system:node:one", "authority");
    await files.makeCertificate("forged", "front-proxy-client", "other");
    await files.makeCertificate("later", "front-proxy-client", "next");
    await writeFile(path("trusted.pem"), await readFile(path("authority.pem")));
    server = await startPostern(path("data"), [
      ...["--audit-log-path", path("audit.log"), "--audit-log-mode", "blocking", "--failed-logins-per-minute", "0"],
      ...["--requestheader-client-ca-file", path("trusted.pem")],
    ]);
    admin = await adminKey(server);
    ask = await httpClient(server);
    await vi.waitUntil(
      async () => (await ask(`${INSTANCES}/demo`, { key: admin })).body.status?.phase === "Ready",
      30_000,
    );
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it.each<readonly [name: string, user: string, groups: readonly string[]]>([
    ["the group of masters", "eve", ["system:masters"]],
    ["the platform's administrators", "eve", ["postern:admins"]],
    ["a user of the platform", "admin", ["postern:user:admin", "postern:team:ops"]],
    ["the key of a virtual cluster", "postern:vcluster:p-default:demo", []],
    ["an agent", "postern:cluster:embedded", []],
    ["an approved access request", "eve", ["postern:access-request:1"]],
    ["a name with its prefix already", "host:admin", ["host:system:masters"]],
  ])("makes no identity of the platform's own of %s", async (_name, user, groups) => {
    const found = await whoIs(named(user, ...groups));
    expect(found.username).toBe(`host:${user}`);
    expect(found.groups).toEqual([...groups.map((group) => `host:${group}`), "system:authenticated"]);
    expect((await forwarded(`${API}/users`, named(user, ...groups))).body.items ?? []).toEqual([]);
    expect((await forwarded(`${API}/users/admin`, named(user, ...groups))).status).toBe(403);
    expect((await forwarded(`${RBAC}/clusterroles`, named(user, ...groups))).status).toBe(403);
  });

  it("keeps groups apart that the header of one names with a comma, and decodes no name twice", async () => {
    const found = await whoIs([...named("zoë%2f", "a, b", "größe", ""), "X-Remote-Extra-Scopes%2fof: x"]);
    expect(found).toEqual({
      username: "host:zoë%2f",
      groups: ["host:a, b", "host:größe", "system:authenticated"],
      extra: { "host:scopes/of": ["x"] },
    });
  });

  it("leaves a request that was anonymous there anonymous", async () => {
    const anonymous = { username: "system:anonymous", groups: ["system:unauthenticated"] };
    expect((await forwarded(`${API}/projects`, named("system:anonymous", "system:unauthenticated"))).status).toBe(403);
    expect((await forwarded("/version", named("eve", "system:unauthenticated"))).status).toBe(200);
    await bind("anonymous", "postern:authenticated", { kind: "Group", name: "system:unauthenticated" });
    expect(await whoIs(named("system:anonymous"))).toMatchObject(anonymous);
    expect(await whoIs(named("eve", "system:unauthenticated", "system:masters"))).toMatchObject(anonymous);
    await ask(`${RBAC}/clusterrolebindings/anonymous`, { key: admin, method: "DELETE" });
  });

  it("ignores the headers without the certificate, and with one of another CA", async () => {
    const headers = named("admin", "system:masters");
    for (const certificate of [undefined, "forged"] as const) {
      expect((await curl(`${API}/projects`, headers, certificate)).status).toBe(403);
      expect(await whoBy(certificate, headers, { key: admin })).toMatchObject({ username: "admin" });
    }
  });

  it("refuses a certificate of the CA with another name; a key decides if there is one", async () => {
    expect(await whoBy("kubelet", named("admin"))).toBe(401);
    expect(await whoBy("kubelet", named("eve"), { key: admin })).toMatchObject({ username: "admin" });
    expect((await curl(`${API}/projects`, [], "kubelet", { key: admin })).status).toBe(200);
  });

  it("takes a certificate without a header for nothing, and no headers that can be read in two ways", async () => {
    expect((await forwarded(`${API}/projects`, [])).status).toBe(403);
    expect((await forwarded(`${API}/projects`, [], { key: admin })).status).toBe(200);
    expect((await forwarded(`${API}/projects`, [...named("eve"), ...named("admin")])).status).toBe(400);
    expect((await forwarded(`${API}/projects`, ["X_Remote_User: admin", "X-Remote-Group: a"])).status).toBe(403);
  });

  it("is an identity at the management API alone", async () => {
    const headers = named("admin", "system:masters");
    expect((await forwarded(`${CLUSTER}/api/v1/namespaces`, headers)).status).toBe(401);
    expect((await forwarded("/scim/v2/Users", headers)).status).toBe(401);
    expect((await forwarded("/backup", headers)).status).toBe(403);
    const token = { body: { grant_type: "urn:ietf:params:oauth:grant-type:token-exchange" } };
    expect((await forwarded("/oauth/token", headers, token)).status).toBe(400);
  });

  it("takes no request that went there through the proxy, whose key may be limited", async () => {
    const via = ["Via: 1.1 kubernetes-proxy", "VIA: 1.1 other, 1.1 kubernetes-proxy"];
    for (const header of via) {
      const { status, body } = await forwarded(`${API}/projects`, [...named("eve"), header]);
      expect([status, body.message]).toEqual([403, expect.stringContaining("do not lead back")]);
    }
    expect((await forwarded(`${API}/projects`, [...named("eve"), "Via: 1.1 other"])).status).toBe(200);
  });

  it("audits who asked there, and by which proxy", async () => {
    await forwarded(`${API}/projects`, [...named("carol", "devs"), "Audit-ID: by-carol"]);
    await curl(`${API}/projects`, [...named("carol"), "Audit-ID: as-kubelet"], "kubelet");
    const lines = (await readFile(path("audit.log"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const about = (id: string) => lines.find(({ auditID }) => auditID === id);
    expect(about("by-carol")).toMatchObject({
      user: { username: "host:carol", groups: ["host:devs", "system:authenticated"] },
      annotations: {
        "authentication.kubernetes.io/credential-id": "front-proxy:host:carol",
        "front-proxy/name": "front-proxy-client",
        "front-proxy/user": "carol",
      },
    });
    expect(about("as-kubelet").annotations["authentication.kubernetes.io/refusal"]).toContain("system:node:one");
  });

  it("impersonates with a permission alone, and the audit log has both users", async () => {
    const as = (...names: string[]) => [...named("dave"), "Impersonate-User: admin", ...names];
    expect((await forwarded(`${API}/projects`, as())).status).toBe(403);
    expect((await forwarded(`${API}/projects`, as("Impersonate-Group: system:masters"))).status).toBe(403);
    await ask(`${RBAC}/clusterroles`, {
      key: admin,
      body: {
        metadata: { name: "impersonate-alice" },
        rules: [{ apiGroups: [""], resources: ["users"], resourceNames: ["alice"], verbs: ["impersonate"] }],
      },
    });
    await bind("dave", "impersonate-alice", { kind: "User", name: "host:dave" });
    const headers = [...named("dave"), "Impersonate-User: alice", "Audit-ID: dave-as-alice"];
    expect((await forwarded(WHO_AM_I, headers, { body: REVIEW })).body.status.userInfo.username).toBe("alice");
    const line = (await readFile(path("audit.log"), "utf8")).split("\n").find((text) => text.includes("dave-as-alice"));
    expect(JSON.parse(line ?? "")).toMatchObject({
      user: { username: "host:dave" },
      impersonatedUser: { username: "alice" },
    });
  });

  it("gives a user of the other cluster no keys, and kubeconfigs that end soon", async () => {
    const eve = named("eve", "devs");
    const key = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "eves" } };
    const refused = await forwarded(KEYS, eve, { body: key });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining("no access keys of their own"),
    ]);
    expect((await forwarded(`${INSTANCES}/demo/kubeconfig`, eve, { body: {} })).status).toBe(403);
    await bind("devs", "postern:project-user", { kind: "Group", name: "host:devs" }, "p-default");
    for (const spec of [{}, { clientCert: true }]) {
      const { status, body } = await forwarded(`${INSTANCES}/demo/kubeconfig`, eve, { body: { spec } });
      expect(status, JSON.stringify(body)).toBe(201);
      const seconds = (Date.parse(body.status.expirationTimestamp) - Date.now()) / 1000;
      expect(seconds).toBeGreaterThan(3_000);
      expect(seconds).toBeLessThanOrEqual(3_601);
      await writeFile(path("eve.kubeconfig"), body.status.kubeConfig);
      const kubectl = kubectlWith(path("eve.kubeconfig"), path("cache"));
      expect(await succeed(kubectl(["auth", "whoami"]))).toMatch(/Username +host:eve\n[\s\S]*host:devs/);
    }
  });

  it("is a User whose subject it is, with keys that end soon and no new value of one that works longer", async () => {
    await ask(`${API}/users`, { key: admin, body: { metadata: { name: "frank" }, spec: { subject: "host:frank" } } });
    const long = { metadata: { name: "long" }, spec: { user: "frank", ttl: 1_000_000 } };
    expect((await ask(KEYS, { key: admin, body: long })).status).toBe(201);
    const frank = named("frank");
    expect((await whoIs(frank)).groups).toEqual([
      "system:authenticated",
      "postern:authenticated",
      "postern:user:frank",
    ]);
    expect((await forwarded(`${API}/users/frank`, frank)).status).toBe(200);
    const own = (spec: object) => ({
      body: { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "short" }, spec },
    });
    expect((await forwarded(KEYS, frank, own({ ttl: 3_601 }))).status).toBe(403);
    const made = await forwarded(KEYS, frank, own({}));
    expect(made.body.spec).toMatchObject({ user: "frank", ttl: 3_600 });
    const longer = { method: "PATCH", body: { spec: { ttl: 7_200 } }, type: "application/merge-patch+json" };
    expect((await forwarded(`${KEYS}/short`, frank, longer)).status).toBe(403);
    expect((await curl(`${KEYS}/short`, [], undefined, { ...longer, key: made.body.spec.key })).status).toBe(403);
    // A key that it makes ends with it.
    const child = await curl(KEYS, [], undefined, {
      body: { ...own({}).body, metadata: { name: "child" } },
      key: made.body.spec.key,
    });
    expect(Date.parse(child.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.now() + 3_600_000);
    const rotation = { body: { spec: { nonce: "0123456789abcdef" } } };
    expect((await forwarded(`${KEYS}/long/rotate`, frank, rotation)).status).toBe(403);
    expect((await forwarded(`${KEYS}/short/rotate`, frank, rotation)).status).toBe(201);
    const chosen = { ...longer, body: { spec: { key: "chosen-by-the-other-cluster-0123456789" } } };
    expect((await forwarded(`${KEYS}/long`, frank, chosen)).status).toBe(403);
    await bind("frank", "postern:project-admin", { kind: "User", name: "host:frank" }, "p-default");
    const claims = [{ claim: "sub", values: ["job"] }];
    const spec = { user: "frank", issuer: { url: "https://issuer.example.com" }, audiences: ["a"], claims };
    const rule = { apiVersion: "management.postern/v1", kind: "TrustRule", metadata: { name: "lasting" }, spec };
    const written = await forwarded(`${API}/namespaces/p-default/trustrules`, frank, { body: rule });
    expect([written.status, written.body.message]).toEqual([
      403,
      expect.stringContaining("a trust rule issues keys for as long"),
    ]);
  });

  it("has names that neither an identity provider nor a directory gives to its own users", async () => {
    const claimMappings = { username: { claim: "name" }, groups: { claim: "groups" } };
    // Nothing answers there: claims are mapped all the same.
    const spec = { issuer: { url: "https://127.0.0.1:1" }, clientId: "x", claimMappings, createUsers: true };
    await ask(`${API}/identityproviders`, { key: admin, body: { metadata: { name: "claims" }, spec } });
    const mapped = async (claims: object) => {
      const { body } = await ask(`${API}/identityproviders/claims/test`, { key: admin, body: { spec: { claims } } });
      return [body.status.identity?.groups, body.status.checks.at(-1).message];
    };
    expect(await mapped({ sub: "1", name: "host:ops" })).toEqual([undefined, "your username is reserved"]);
    expect(await mapped({ sub: "1", name: "Host:ops" })).toEqual([undefined, "your username is reserved"]);
    expect(await mapped({ sub: "1", name: "ops", groups: ["host:devs", "devs"] })).toEqual([
      ["devs"],
      "the user would be created",
    ]);
    await ask(`${API}/users`, { key: admin, body: { metadata: { name: "people" }, spec: { kind: "Bot" } } });
    await bind("people", "postern:directory", { kind: "User", name: "people" });
    const directoryKey = { spec: { user: "people", scope: { roles: [{ role: "scim" }] } } };
    const { key } = (await ask(KEYS, { key: admin, body: { metadata: { name: "people" }, ...directoryKey } })).body
      .spec;
    const provision = async (userName: string) => (await ask("/scim/v2/Users", { key, body: { userName } })).status;
    expect(await provision("host:ops")).toBe(403);
    expect(await provision("ops@example.com")).toBe(201);
  });

  it("ends what a User has open when it is locked, and refuses it", async () => {
    await ask(`${API}/users`, { key: admin, body: { metadata: { name: "gina" }, spec: { subject: "host:gina" } } });
    await bind("gina", "postern:project-viewer", { kind: "User", name: "host:gina" }, "p-default");
    using watch = startTool("curl", [
      "--no-buffer",
      ...curlArgs(`${INSTANCES}?watch=true`, named("gina"), "front-proxy"),
    ]);
    await vi.waitUntil(() => watch.output().includes('"demo"'), 10_000);
    const locked = { spec: { disabled: true } };
    await ask(`${API}/users/gina`, {
      key: admin,
      method: "PATCH",
      body: locked,
      headers: { "content-type": "application/merge-patch+json" },
    });
    await vi.waitUntil(() => watch.isOver(), 10_000);
    expect(await whoIs(named("gina"))).toBe(401);
  });

  it("refuses a User whose networks the proxy is not in", async () => {
    const user = { metadata: { name: "hana" }, spec: { subject: "host:hana", allowedSourceRanges: ["192.0.2.0/24"] } };
    await ask(`${API}/users`, { key: admin, body: user });
    expect(await whoIs(named("hana"))).toBe(401);
    await ask(`${API}/users/hana`, {
      key: admin,
      method: "PATCH",
      body: { spec: { allowedSourceRanges: ["127.0.0.0/8", "::1"] } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    expect(await whoIs(named("hana"))).not.toBe(401);
  });

  it("lets the other cluster delete its namespaces, and no project's", async () => {
    const remove = (namespace: string, user: string, method = "DELETE") =>
      forwarded(`${API}/namespaces/${namespace}/virtualclusterinstances`, named(user), { method });
    expect(await remove("of-the-host", CONTROLLER)).toMatchObject({ status: 404, body: { reason: "NotFound" } });
    expect((await remove("of-the-host", "system:kube-controller-manager")).status).toBe(404);
    expect((await remove("p-default", CONTROLLER)).status).toBe(403);
    expect((await remove("of-the-host", "eve")).status).toBe(403);
    const impersonated = [...named(CONTROLLER), "Impersonate-User: admin"];
    expect((await forwarded(`${API}/namespaces/p-default/virtualclusterinstances`, impersonated)).status).toBe(403);
    expect((await ask(`${INSTANCES}/demo`, { key: admin })).status).toBe(200);
  });

  it("has the discovery and OpenAPI documents that an aggregator reads", async () => {
    const aggregator = named("system:kube-aggregator", "system:masters");
    for (const at of [API, "/apis/storage.postern/v1", "/openapi/v2", "/openapi/v3", "/readyz"]) {
      const { stdout } = await tool("curl", [
        ...["--output", "/dev/null", "--write-out", "%{http_code}", ...curlArgs(at, aggregator, "front-proxy")],
      ]);
      expect([at, stdout]).toEqual([at, "200"]);
    }
  });

  it("trusts a changed CA without a restart, and what the earlier one signed no more", async () => {
    await bind("henry", "postern:project-viewer", { kind: "User", name: "host:henry" }, "p-default");
    using watch = startTool("curl", [
      ...["--no-buffer", ...curlArgs(`${INSTANCES}?watch=true`, named("henry"), "front-proxy")],
    ]);
    await vi.waitUntil(() => watch.output().includes('"demo"'), 10_000);
    expect((await curl(`${API}/projects`, named("henry"), "later")).status).toBe(403);
    await writeFile(path("trusted.pem"), await readFile(path("next.pem")));
    await expect
      .poll(() => whoBy("later", named("henry")), { timeout: 10_000 })
      .toMatchObject({ username: "host:henry" });
    expect((await curl(WHO_AM_I, named("henry"), "front-proxy", { body: REVIEW })).status).toBe(403);
    await vi.waitUntil(() => watch.isOver(), 10_000);
    await writeFile(path("trusted.pem"), "half a certif");
    await vi.waitUntil(() => server.output().includes("the earlier CA is trusted on"), 10_000);
    expect(await whoBy("later", named("henry"))).toMatchObject({ username: "host:henry" });
  });

  it("does not start without a CA in the file", async () => {
    await using fresh = await temporaryDirectory();
    for (const file of [join(fresh.path, "absent.pem"), path("usage"), path("front-proxy.pem")])
      await expect(startPostern(join(fresh.path, "data"), ["--requestheader-client-ca-file", file])).rejects.toThrow(
        `--requestheader-client-ca-file ${file} cannot be used`,
      );
  });
});
