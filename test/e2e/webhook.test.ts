// Requests of an API server to Postern, by the kubeconfigs and flags that are shipped for it: authentication of tokens, and authorization.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { loadConnection } from "@postern/client/load-kubeconfig";
import { createNodeTransport } from "@postern/client/transport/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import recorded from "./testdata/kube-apiserver-webhook-requests.json" with { type: "json" };
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { REPOSITORY } from "./testing/postern-process.ts";

const SHIPPED = join(REPOSITORY, "deploy/webhook");
const FOLDER = "/etc/kubernetes/postern";
const MANAGEMENT = "/kubernetes/management/apis/management.postern/v1";

let server: OwnServer;
let http: HttpClient;
let admin = "";
let webhookKey = "";

beforeAll(async () => {
  server = await startOwnServer();
  http = await httpClient(server);
  admin = await adminKey(server);
  await create("users", { kind: "User", metadata: { name: "alice" }, spec: { subject: "alice@example.com" } });
  await create("teams", { kind: "Team", metadata: { name: "devs" }, spec: { users: ["alice"] } });
  // As the guide says.
  const scope = { roles: [{ role: "vcluster", projects: ["default"], virtualClusters: ["demo"] }] };
  const spec = { subject: "postern:vcluster:p-default:demo", scope };
  webhookKey = (await create("ownedaccesskeys", { kind: "OwnedAccessKey", metadata: { name: "webhook" }, spec })).spec
    .key;
  await writeFile(join(server.directory, "access-key"), `${webhookKey}\n`, { mode: 0o600 });
  await writeFile(join(server.directory, "ca.crt"), await readFile(server.caFile));
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function create(path: string, object: object): Promise<any> {
  const body = { apiVersion: "management.postern/v1", ...object };
  const answer = await http(`${MANAGEMENT}/${path}`, { key: admin, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

const keyFor = async (user: string, spec: object = {}): Promise<any> =>
  await create("ownedaccesskeys", {
    kind: "OwnedAccessKey",
    metadata: { generateName: `${user}-` },
    spec: { user, ...spec },
  });

/** Sends a review as an API server does: to the URL of a shipped kubeconfig, with the files that it names. */
async function ask(name: string, review: object): Promise<any> {
  const text = await readFile(join(SHIPPED, `${name}.kubeconfig`), "utf8");
  const path = join(server.directory, `${name}.kubeconfig`);
  await writeFile(
    path,
    text.replaceAll("https://postern.example.com:8443", server.url).replaceAll(FOLDER, server.directory),
  );
  const { transport: options, token } = await loadConnection({ path, environment: {} });
  const { pathname, origin } = new URL(options.server);
  const transport = createNodeTransport({ ...options, server: origin });
  try {
    const answer = await transport.send({
      method: "POST",
      path: pathname,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, */*",
      },
      body: JSON.stringify(review),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    expect(answer.status, JSON.stringify(body)).toBe(201);
    return body.status;
  } finally {
    await transport[Symbol.asyncDispose]();
  }
}

const whose = (token: string, audiences: readonly string[] = ["https://kubernetes.default.svc.cluster.local"]) =>
  ask("postern-authentication", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, audiences },
  });

type Recorded = { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: any };
const isTokenReview = ({ body }: Recorded): boolean => body.kind === "TokenReview";
/** The length is that of the token that was recorded. */
const headersOf = ({ "Content-Length": _, ...headers }: Recorded["headers"]) => headers;

const mayGetProjects = (user: string, groups: readonly string[]) =>
  ask("postern-authorization", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups, resourceAttributes: { verb: "delete", group: "management.postern", resource: "projects" } },
  });

describe("an API server with the shipped webhook files", () => {
  it("gets the user of a key, with the groups for RBAC", async () => {
    const { spec } = await keyFor("alice");
    const { authenticated, user } = await whose(spec.key);
    expect([authenticated, user.username]).toEqual([true, "alice@example.com"]);
    expect(user.groups).toEqual(expect.arrayContaining(["postern:user:alice", "postern:team:devs"]));
  });

  it("gives a user the groups of its roles in the virtual cluster that asks, as the proxy does", async () => {
    const inside = "/kubernetes/project/default/virtualcluster/demo/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { key } = (await keyFor("admin")).spec;
    const review = await http(inside, { key, body });
    expect(review.status, review.text).toBe(201);
    const { groups } = review.body.status.userInfo;
    expect(groups).toContain("postern:role:cluster-admin");
    expect((await whose(key)).user.groups).toEqual(expect.arrayContaining(groups));
    // Alice has no role there, and a group by that name is none.
    const { spec } = await keyFor("alice", { groups: ["postern:role:cluster-admin", "guests"] });
    const { user } = await whose(spec.key);
    expect(user.groups).toContain("guests");
    expect(user.groups).not.toContain("postern:role:cluster-admin");
  });

  it("authenticates no invalid key", async () => {
    const { spec, metadata } = await keyFor("alice");
    expect((await whose(spec.key)).authenticated).toBe(true);
    const disabled = await http(`${MANAGEMENT}/ownedaccesskeys/${metadata.name}`, {
      key: admin,
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { spec: { disabled: true } },
    });
    expect(disabled.status, disabled.text).toBe(200);
    for (const token of [spec.key, `${spec.key}x`, "unknown"]) {
      const status = await whose(token);
      expect(status.authenticated ?? false).toBe(false);
      expect(status.user ?? {}).toEqual({});
    }
  });

  it("accepts a scoped key if its scope covers this cluster and its owner may use it (security book 1)", async () => {
    const isKnown = async (user: string, spec: object): Promise<boolean> =>
      (await whose((await keyFor(user, spec)).spec.key)).authenticated ?? false;
    const only = (virtualCluster: string) => ({ scope: { virtualClusters: [{ project: "default", virtualCluster }] } });
    expect(await isKnown("admin", only("demo"))).toBe(true);
    expect(await isKnown("admin", { scope: { projects: [{ project: "default" }] } })).toBe(true);
    expect(await isKnown("admin", only("other"))).toBe(false);
    expect(await isKnown("admin", { scope: {} })).toBe(false);
    // Keys narrowed by rules are unknown to the cluster.
    expect(await isKnown("admin", { rules: [{ verbs: ["get"] }] })).toBe(false);
    expect(await isKnown("alice", only("demo"))).toBe(false);
    // A caller that represents no cluster can authenticate unrestricted keys only.
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: {} };
    for (const [spec, expected] of [
      [only("demo"), false],
      [{}, true],
    ] as const) {
      const { key: token } = (await keyFor("admin", spec)).spec;
      const path = "/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews";
      const { body } = await http(path, { key: admin, body: { ...review, spec: { token } } });
      expect(body.status.authenticated ?? false).toBe(expected);
    }
  });

  it("authorizes by permissions in the management API", async () => {
    expect(await mayGetProjects("admin", ["postern:admins"])).toMatchObject({ allowed: true });
    expect(await mayGetProjects("alice@example.com", ["system:authenticated"])).toMatchObject({ allowed: false });
  });

  it("asks for its own audiences, as kube-apiserver always does, and gets an answer without any", async () => {
    const { spec } = await keyFor("alice");
    for (const { path, headers, body } of recorded.requests.filter(isTokenReview)) {
      const review = { ...body, spec: { ...body.spec, token: spec.key } };
      const answer = await http(`/kubernetes/management${path}`, {
        key: webhookKey,
        body: review,
        headers: headersOf(headers),
      });
      expect(answer.status, answer.text).toBe(201);
      expect(answer.body).toMatchObject({ kind: "TokenReview", apiVersion: "authentication.k8s.io/v1" });
      expect(answer.body.status).toMatchObject({ authenticated: true, user: { username: "alice@example.com" } });
      expect(answer.body.status).not.toHaveProperty("audiences");
      const unknown = await http(`/kubernetes/management${path}`, {
        key: webhookKey,
        body,
        headers: headersOf(headers),
      });
      expect(unknown.body.status.authenticated ?? false).toBe(false);
    }
    expect((await whose(spec.key, ["vault", "https://kubernetes.default.svc"])).authenticated).toBe(true);
  });

  it("asks about access in every form that kube-apiserver uses", async () => {
    const reviews = recorded.requests.filter((request) => !isTokenReview(request));
    expect(reviews.length).toBeGreaterThan(4);
    for (const { path, headers, body } of reviews) {
      const answer = await http(`/kubernetes/management${path}`, {
        key: webhookKey,
        body,
        headers: headersOf(headers),
      });
      expect(answer.status, answer.text).toBe(201);
      expect(answer.headers["warning"]).toBeUndefined();
      expect(answer.body.spec).toEqual(body.spec);
      // Probes are open to everybody who is known.
      const isProbe = body.spec.nonResourceAttributes !== undefined;
      expect(answer.body.status).toMatchObject({ allowed: isProbe });
      const groups = ["postern:admins"];
      const asAdmin = { ...body, spec: { ...body.spec, user: "admin", groups } };
      const allowed = await http(`/kubernetes/management${path}`, {
        key: webhookKey,
        body: asAdmin,
        headers: headersOf(headers),
      });
      expect(allowed.body.status).toMatchObject({ allowed: true });
    }
  });

  it("uses a key that allows nothing else", async () => {
    for (const path of [`${MANAGEMENT}/ownedaccesskeys`, "/kubernetes/management/api/v1/secrets", "/metrics"]) {
      expect((await http(path, { key: webhookKey })).status, path).toBe(403);
    }
  });
});

const read = (text: string): any => decodeYaml(text).value;

describe("the shipped settings of API servers", () => {
  const flagsOf: { readonly [file: string]: (content: any) => readonly string[] } = {
    "kubeadm.yaml": ({ apiServer }) =>
      apiServer.extraArgs.map(({ name, value }: { name: string; value: string }) => `${name}=${value}`),
    "k3s-config.yaml": (content) => content["kube-apiserver-arg"],
    "vcluster-values.yaml": ({ controlPlane }) =>
      controlPlane.distro.k8s.apiServer.extraArgs.map((flag: string) => flag.replace(/^--/, "")),
  };

  it.each(Object.keys(flagsOf))("%s names the shipped kubeconfigs, and versions that we serve", async (file) => {
    const flags = flagsOf[file]?.(read(await readFile(join(SHIPPED, file), "utf8"))) ?? [];
    const values = new Map(flags.map((flag) => flag.split("=", 2) as [string, string]));
    for (const use of ["authentication-token", "authorization"]) {
      const path = values.get(`${use}-webhook-config-file`) ?? "";
      expect(path.startsWith(`${FOLDER}/`)).toBe(true);
      const kubeConfig = read(await readFile(join(SHIPPED, path.slice(FOLDER.length + 1)), "utf8"));
      expect(kubeConfig.clusters[0].cluster["certificate-authority"]).toBe(`${FOLDER}/ca.crt`);
      expect(kubeConfig.users[0].user.tokenFile).toBe(`${FOLDER}/access-key`);
      expect(values.get(`${use}-webhook-version`)).toBe("v1");
    }
    expect(values.get("authorization-mode")).toMatch(/RBAC,Webhook$/);
  });
});
