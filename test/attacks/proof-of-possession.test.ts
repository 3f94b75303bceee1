// A key with spec.confirmation, and everything that is made with it, is of no use without the private key of its client certificate.

import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createSelfSignedCertificate } from "@postern/platform/foundation/pki/self-signed-certificate";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { ENTRY, kubectlWith, NODE, succeed, tool } from "../e2e/testing/postern-process.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const INSTANCE = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const MERGE = { "content-type": "application/merge-patch+json" };
const WHO_AM_I = {
  path: `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
};

type Certificate = "own" | "other" | "expired" | undefined;

describe("an access key that is bound to a client certificate", () => {
  let server: OwnServer;
  let ask: HttpClient;
  let admin: string;
  let bound: string;

  const path = (name: string): string => join(server.directory, name);
  const openssl = (...args: readonly string[]): Promise<string> => succeed(tool("openssl", args));
  const fingerprintOf = async (name: string): Promise<string> =>
    (await openssl("x509", "-in", path(`${name}.pem`), "-noout", "-fingerprint", "-sha256")).trim().split("=")[1] ?? "";
  const makeCertificate = (name: string, kind: readonly string[], ...more: readonly string[]) =>
    openssl(
      ...["req", "-x509", "-nodes", "-subj", "/CN=somebody/O=system:masters", "-newkey", ...kind, ...more],
      ...["-keyout", path(`${name}.key`), "-out", path(`${name}.pem`)],
    );
  /** The status and body of a request by curl, which presents a certificate of ours or none. */
  const curl = async (
    at: string,
    key: string,
    certificate: Certificate,
    { body, method, headers = {} }: { body?: object; method?: string; headers?: Readonly<Record<string, string>> } = {},
  ) => {
    const { stdout } = await tool("curl", [
      ...["--silent", "--cacert", server.caFile, "--write-out", "\n%{http_code}"],
      ...["--header", `authorization: Bearer ${key}`],
      ...Object.entries({ "content-type": "application/json", ...headers }).flatMap(([name, value]) => [
        "--header",
        `${name}: ${value}`,
      ]),
      ...(method === undefined ? [] : ["--request", method]),
      ...(body === undefined ? [] : ["--data", JSON.stringify(body)]),
      ...(certificate === undefined ? [] : ["--cert", path(`${certificate}.pem`), "--key", path(`${certificate}.key`)]),
      `${server.url}${at}`,
    ]);
    const end = stdout.lastIndexOf("\n");
    return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end) || "{}") };
  };
  const statuses = async (at: string, key: string, how: object = {}): Promise<readonly number[]> => {
    const found: number[] = [];
    for (const certificate of ["own", undefined, "other"] as const)
      found.push((await curl(at, key, certificate, how)).status);
    return found;
  };
  const create = (name: string, spec: object, key = admin) => ask(KEYS, { key, body: { metadata: { name }, spec } });
  const createBound = (name: string, spec: object) => curl(KEYS, bound, "own", { body: { metadata: { name }, spec } });
  const userIn = (body: any) => (decodeYaml(body.status.kubeConfig).value as any).users[0].user;

  beforeAll(async () => {
    server = await startOwnServer((directory) => [
      ...[
        "--audit-log-path",
        join(directory, "audit.log"),
        "--audit-log-mode",
        "blocking",
        "--failed-logins-per-minute",
        "0",
      ],
    ]);
    admin = await adminKey(server);
    ask = await httpClient(server);
    await vi.waitUntil(async () => (await ask(INSTANCE, { key: admin })).body.status?.phase === "Ready", 30_000);
    const ec = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    await makeCertificate("own", ec);
    await makeCertificate("other", ec);
    await makeCertificate("rsa", ["rsa:2048"]);
    const confirmation = { certificateSHA256: await fingerprintOf("own") };
    bound = (await create("bound", { user: "admin", confirmation })).body.spec.key;
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("is refused without it in the words of any other refusal; audit log, metric and an Event say why", async () => {
    expect(await statuses(`${API}/projects`, bound)).toEqual([200, 401, 401]);
    expect(await statuses(`${CLUSTER}/api/v1/namespaces`, bound)).toEqual([200, 401, 401]);
    const unknown = await curl(`${API}/projects`, "no such key", undefined);
    for (const certificate of [undefined, "other"] as const) {
      const id = `without-${certificate}`;
      const refused = await curl(`${API}/projects`, bound, certificate, { headers: { "audit-id": id } });
      expect(refused).toEqual(unknown);
      const event = (await readFile(path("audit.log"), "utf8")).split("\n").find((line) => line.includes(`"${id}"`));
      const found = certificate === undefined ? "no client certificate" : "another client certificate";
      expect(JSON.parse(event ?? "").annotations).toMatchObject({
        "authentication.kubernetes.io/refusal": `spec.confirmation: the connection has ${found}`,
        "access-key/name": "bound",
      });
    }
    expect((await ask("/metrics", { key: admin })).text).toMatch(
      /postern_access_key_refusals_total\{reason="ProofMissing"\} [1-9]/,
    );
    const about = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=bound";
    await expect
      .poll(async () =>
        (await ask(about, { key: admin })).body.items.map(({ type, reason }: any) => `${type} ${reason}`),
      )
      .toEqual(["Warning UsedWithoutProof"]);
  });

  it.each<readonly [name: string, form: (hash: string) => string]>([
    ["as openssl prints it", (hash) => hash],
    ["in lower case without colons", (hash) => hash.replaceAll(":", "").toLowerCase()],
    ["as x5t#S256 of RFC 8705", (hash) => Buffer.from(hash.replaceAll(":", ""), "hex").toString("base64url")],
  ])("takes the hash %s, of a certificate with any key", async (_name, form) => {
    const confirmation = { certificateSHA256: form(await fingerprintOf("rsa")) };
    const { body, text } = await create(`form-${Math.random().toString(36).slice(2)}`, { user: "admin", confirmation });
    expect(body.spec?.key, text).toBeDefined();
    const rsa = "rsa" as Certificate;
    expect((await curl(`${API}/projects`, body.spec.key, rsa)).status).toBe(200);
    expect((await curl(`${API}/projects`, body.spec.key, "own")).status).toBe(401);
  });

  it("takes no certificate of a header, and no connection that was good for another key", async () => {
    const pem = (await readFile(path("own.pem"), "utf8")).replaceAll("\n", "");
    const forms = { "client-cert": `:${pem}:`, "x-forwarded-client-cert": `Cert="${pem}"`, "ssl-client-cert": pem };
    for (const [name, value] of Object.entries(forms))
      expect((await curl(`${API}/projects`, bound, undefined, { headers: { [name]: value } })).status).toBe(401);
    // Both over one connection of curl's, which has the certificate of the other key.
    const confirmation = { certificateSHA256: await fingerprintOf("other") };
    const { key } = (await create("second", { user: "admin", confirmation })).body.spec;
    const common = ["--silent", "--cacert", server.caFile, "--output", "/dev/null", "--write-out", "%{http_code} "];
    const certificate = ["--cert", path("other.pem"), "--key", path("other.key")];
    const call = (token: string) => [...common, ...certificate, "--header", `authorization: Bearer ${token}`];
    const url = `${server.url}${API}/projects`;
    const { stdout } = await tool("curl", [
      ...call(key),
      url,
      "--next",
      ...call(bound),
      url,
      "--next",
      ...call(key),
      url,
    ]);
    expect(stdout.trim()).toBe("200 401 200");
  });

  it("works with kubectl, which presents both, and not with the value alone", async () => {
    const config = (user: object) =>
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "demo" },
        clusters: [
          { name: "demo", cluster: { server: `${server.url}${CLUSTER}`, "certificate-authority": server.caFile } },
        ],
        users: [{ name: "demo", user }],
        contexts: [{ name: "demo", context: { cluster: "demo", user: "demo" } }],
      });
    const proof = { "client-certificate": path("own.pem"), "client-key": path("own.key") };
    await writeFile(path("both.yaml"), config({ token: bound, ...proof }), { mode: 0o600 });
    await writeFile(path("alone.yaml"), config({ token: bound }), { mode: 0o600 });
    const [both, alone] = ["both.yaml", "alone.yaml"].map((name) => kubectlWith(path(name), path(`cache-${name}`)));
    expect(await succeed(both!(["get", "namespaces"]))).toContain("kube-system");
    expect(await alone!(["get", "namespaces"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("must be logged in"),
    });
  });

  it("is refused in token reviews and introspection, which show no connection, and in sign-ins", async () => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: bound } };
    const { body } = await ask("/apis/authentication.k8s.io/v1/tokenreviews", { key: admin, body: review });
    expect(body.status.authenticated ?? false).toBe(false);
    const self = { apiVersion: "management.postern/v1", kind: "Self", spec: { accessKey: bound } };
    expect((await ask(`${API}/selves`, { key: admin, body: self })).status).toBe(401);
    expect((await curl(`${API}/selves`, bound, "own", { body: self })).status).toBe(201);
    const count = async () => (await ask(KEYS, { key: admin })).body.items.length;
    const before = await count();
    const headers = { "sec-fetch-site": "same-origin" };
    for (const certificate of [undefined, "own"] as const)
      expect((await curl("/login/session", "x", certificate, { body: { key: bound }, headers })).status).toBe(401);
    expect(await count()).toBe(before);
  });

  it("makes keys that are bound, to the same certificate or to another one, and none that are not", async () => {
    const child = await createBound("child", {});
    expect(child.body.spec.confirmation).toEqual({
      certificateSHA256: (await fingerprintOf("own")).replaceAll(":", "").toLowerCase(),
    });
    expect(await statuses(`${API}/projects`, child.body.spec.key)).toEqual([200, 401, 401]);
    const handed = await createBound("handed", { confirmation: { certificateSHA256: await fingerprintOf("other") } });
    expect(await statuses(`${API}/projects`, handed.body.spec.key)).toEqual([401, 401, 200]);
    expect((await curl(KEYS, bound, undefined, { body: { metadata: { name: "stolen" }, spec: {} } })).status).toBe(401);
  });

  it("cannot free itself, or take over a key that is not bound", async () => {
    await create("free", { user: "admin" });
    const patch = (name: string, spec: object) =>
      curl(`${KEYS}/${name}`, bound, "own", { method: "PATCH", headers: MERGE, body: { spec } });
    for (const [name, spec] of [
      ["bound", { confirmation: null }],
      ["free", { displayName: "x" }],
      ["free", { confirmation: { certificateSHA256: await fingerprintOf("own") } }],
    ] as const)
      expect([name, (await patch(name, spec)).status]).toEqual([name, 403]);
    const rotation = { spec: { nonce: "nonce-of-the-rotation" } };
    expect((await curl(`${KEYS}/free/rotate`, bound, "own", { body: rotation })).status).toBe(403);
    const rule = {
      metadata: { name: "ci" },
      spec: {
        issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' },
        audiences: ["us"],
        claims: [{ claim: "sub", values: ["x"] }],
        user: "admin",
      },
    };
    expect((await curl(`${API}/clustertrustrules`, bound, "own", { body: rule })).status).toBe(403);
  });

  it("gives tokens of kubeconfigs and of ServiceAccounts the same bond; a certificate of a kubeconfig is one itself", async () => {
    const kubeconfig = async (spec: object) =>
      userIn((await curl(`${INSTANCE}/kubeconfig`, bound, "own", { body: { spec } })).body);
    const { token } = await kubeconfig({});
    expect(await statuses(`${CLUSTER}/api/v1/namespaces`, token)).toEqual([200, 401, 401]);
    const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const account = await curl(`${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`, bound, "own", {
      body: asked,
    });
    expect(await statuses(WHO_AM_I.path, account.body.status.token, { body: WHO_AM_I.body })).toEqual([201, 401, 401]);
    const user = await kubeconfig({ clientCert: true });
    for (const [member, file] of [
      ["client-certificate-data", "expired.pem"],
      ["client-key-data", "expired.key"],
    ] as const)
      await writeFile(path(file), Buffer.from(user[member], "base64"), { mode: 0o600 });
    const { stdout } = await tool("curl", [
      ...["--silent", "--cacert", server.caFile, "--cert", path("expired.pem"), "--key", path("expired.key")],
      ...["--output", "/dev/null", "--write-out", "%{http_code}", `${server.url}${CLUSTER}/api/v1/namespaces`],
    ]);
    expect(stdout).toBe("200");
  });

  it("provisions by SCIM with its certificate and for its receivers alone, at one use a request", async () => {
    const certificate = { certificateSHA256: await fingerprintOf("own") };
    const scim = { user: "admin", confirmation: certificate, scope: { roles: [{ role: "scim" }] }, maxUses: 2 };
    const at = "/scim/v2/Users";
    const made = async (name: string, audience: string): Promise<string> =>
      (await create(name, { ...scim, audiences: [audience] })).body.spec.key;
    const elsewhere = await made("scim-elsewhere", "postern:vcluster:p-default:demo");
    expect(await statuses(at, elsewhere)).toEqual([401, 401, 401]);
    const key = await made("scim-here", "postern:platform");
    expect(await statuses(at, key)).toEqual([200, 401, 401]);
    const user = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: "provisioned" };
    const headers = { "content-type": "application/scim+json" };
    expect((await curl(at, key, "own", { body: user, headers })).status).toBe(201);
    expect((await curl(at, key, "own")).status).toBe(401);
  });

  it("takes a certificate that has expired: the key has an end of its own", async () => {
    const clock = { ...systemRuntime.clock, now: () => Date.parse("2001-01-01T00:00:00Z") };
    const made = createSelfSignedCertificate("old", { clock, random: systemRuntime.random });
    await writeFile(path("old.pem"), made.certificatePem);
    await writeFile(path("old.key"), made.privateKeyPem, { mode: 0o600 });
    expect((await openssl("x509", "-in", path("old.pem"), "-noout", "-enddate")).trim()).toMatch(/ 2010 GMT$/);
    const confirmation = { certificateSHA256: await fingerprintOf("old") };
    const { key } = (await create("old", { user: "admin", confirmation })).body.spec;
    expect((await curl(`${API}/projects`, key, "old" as Certificate)).status).toBe(200);
  });

  it("ends open watches of a client whose certificate it is bound to no more", async () => {
    const confirmation = { certificateSHA256: await fingerprintOf("own") };
    const { key } = (await create("moving", { user: "admin", confirmation })).body.spec;
    const watch = tool("curl", [
      ...["--silent", "--no-buffer", "--cacert", server.caFile, "--cert", path("own.pem"), "--key", path("own.key")],
      ...["--header", `authorization: Bearer ${key}`, `${server.url}${API}/projects?watch=true`],
    ]);
    await expect.poll(async () => (await curl(`${API}/projects`, key, "own")).status).toBe(200);
    const moved = { spec: { confirmation: { certificateSHA256: await fingerprintOf("other") } } };
    await ask(`${KEYS}/moving`, { key: admin, method: "PATCH", headers: MERGE, body: moved });
    expect((await watch).stdout).toContain("ADDED");
    expect(await statuses(`${API}/projects`, key)).toEqual([401, 401, 200]);
  });

  it.each(["", "abc", "z".repeat(64), "A".repeat(42), "A".repeat(44), `${"00:".repeat(31)}0`, "*"])(
    "is bound to a SHA-256 alone: %s",
    async (certificateSHA256) => {
      const { status, body } = await create("invalid", { confirmation: { certificateSHA256 } });
      const field = "spec.confirmation.certificateSHA256";
      expect([status, body.details?.causes?.[0]?.field]).toEqual([422, field]);
    },
  );

  it("is made by postern with a private key that stays there, and used by it and by kubectl through it", async () => {
    const run = (args: readonly string[], ...environment: readonly string[]) =>
      environment.length === 0
        ? tool(NODE, [ENTRY, ...args])
        : tool("env", [`HOME=${path("home")}`, ...environment, NODE, ENTRY, ...args]);
    const create = ["key", "create", "cli", "--proof", path("cli"), "--kubeconfig", server.adminKubeconfig];
    const made = await run(create);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect((await stat(path("cli.key"))).mode & 0o777).toBe(0o600);
    expect((await run(create)).stderr).toContain("exists");
    const there = [`POSTERN_URL=${server.url}`, `POSTERN_CA=${server.caFile}`, `POSTERN_TOKEN=${made.stdout.trim()}`];
    const proof = [`POSTERN_CLIENT_CERTIFICATE=${path("cli.crt")}`, `POSTERN_CLIENT_KEY=${path("cli.key")}`];
    expect((await run(["whoami", "-o", "json"], ...there)).code).not.toBe(0);
    expect((await run(["whoami", "-o", "json"], ...there, ...proof)).code).toBe(0);
    const cluster = { server: server.url, "certificate-authority": server.caFile };
    const user = { token: made.stdout.trim(), "client-certificate": path("cli.crt"), "client-key": path("cli.key") };
    await writeFile(
      path("platform.yaml"),
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "platform" },
        clusters: [{ name: "platform", cluster }],
        users: [{ name: "platform", user }],
        contexts: [{ name: "platform", context: { cluster: "platform", user: "platform" } }],
      }),
      { mode: 0o600 },
    );
    const config = await run(["kubeconfig", "demo", "--kubeconfig", path("platform.yaml")]);
    expect(config.stderr).toContain("--client-certificate");
    await writeFile(path("cli.yaml"), config.stdout, { mode: 0o600 });
    const kubectl = kubectlWith(path("cli.yaml"), path("cache-cli"));
    expect((await kubectl(["get", "namespaces"])).code).toBe(1);
    const files = ["--client-certificate", path("cli.crt"), "--client-key", path("cli.key")];
    expect(await succeed(kubectl([...files, "get", "namespaces"]))).toContain("kube-system");
    const plugin = await run(["kubeconfig", "demo", "--exec", "--kubeconfig", path("platform.yaml")]);
    expect(plugin.stdout).not.toContain("PRIVATE");
    await writeFile(path("exec.yaml"), plugin.stdout, { mode: 0o600 });
    const throughPlugin = ["kubectl", "--kubeconfig", path("exec.yaml"), "--cache-dir", path("cache-exec")];
    for (const _ of ["asks", "cached"])
      expect(
        await succeed(tool("env", [`XDG_CACHE_HOME=${path("home/.cache")}`, ...throughPlugin, "get", "namespaces"])),
      ).toContain("kube-system");
  });
});
