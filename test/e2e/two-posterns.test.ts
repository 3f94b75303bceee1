// One Postern hands out keys to clusters that another serves: an external virtual cluster, and a connected cluster.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import {
  kubectlWith,
  type Outcome,
  type PosternProcess,
  startPostern,
  startTool,
  succeed,
  temporaryDirectory,
} from "./testing/postern-process.ts";

type Kubectl = (args: readonly string[], input?: string) => Promise<Outcome>;

const FAR_CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const NEAR_CLUSTER = "/kubernetes/project/default/virtualcluster/remote";
const INSTANCES = "/kubernetes/management/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances";
const KEYS = "/kubernetes/management/apis/management.postern/v1/ownedaccesskeys";
const WAIT = { timeout: 60_000, interval: 250 };

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: PosternProcess;
let far: PosternProcess;
let administrator: Kubectl;
let inFar: Kubectl;
let http: HttpClient;
let key = "";

beforeAll(async () => {
  directory = await temporaryDirectory();
  const file = (name: string) => join(directory.path, name);
  const flags = ["--proxy-allowed-addresses", "127.0.0.0/8", "--kube-config-proxy-fallback"];
  [near, far] = await Promise.all([startPostern(file("near"), flags), startPostern(file("far"))]);
  administrator = kubectlWith(near.adminKubeconfig, file("cache"));
  http = await httpClient(near);
  key = await adminKey(near);
  const toFar = file("far.kubeconfig");
  await writeFile(toFar, farKubeconfig(await adminKey(far), await readFile(far.caFile)), { mode: 0o600 });
  inFar = kubectlWith(toFar, file("cache"));
  const secret = ["create", "secret", "generic", "vc-remote", "-n", "p-default", `--from-file=config=${toFar}`];
  await succeed(administrator(secret));
  await apply({
    kind: "VirtualClusterInstance",
    metadata: { name: "remote", namespace: "p-default" },
    spec: { external: true },
  });
  const kubeConfigRef = { secretNamespace: "p-default", secretName: "vc-remote" };
  await apply({ kind: "Cluster", metadata: { name: "host" }, spec: { kubeConfigRef } });
});

afterAll(async () => {
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const apply = (object: object): Promise<string> =>
  succeed(administrator(["create", "-f", "-"], JSON.stringify({ apiVersion: "management.postern/v1", ...object })));

const farKubeconfig = (token: string, authority: Buffer): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "far",
        cluster: { server: `${far.url}${FAR_CLUSTER}`, "certificate-authority-data": authority.toString("base64") },
      },
    ],
    users: [{ name: "far", user: { token } }],
    contexts: [{ name: "far", context: { cluster: "far", user: "far" } }],
    "current-context": "far",
  });

const field = (resource: string, path: string): Promise<string> =>
  succeed(administrator(["get", ...resource.split(" "), "-o", `jsonpath={${path}}`]));

async function kubeConfig(name: string, spec: object): Promise<Kubectl> {
  const { status, text, body } = await http(`${INSTANCES}/remote/kubeconfig`, { key, body: { spec } });
  expect(status, text).toBe(201);
  const path = join(directory.path, `${name}.kubeconfig`);
  await writeFile(path, body.status.kubeConfig, { mode: 0o600 });
  return kubectlWith(path, join(directory.path, "cache"));
}

const whoAmI = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"];

describe("an external virtual cluster", () => {
  it("becomes ready, with the version that it answers with", async () => {
    await expect.poll(() => field("virtualclusterinstances remote -n p-default", ".status.phase"), WAIT).toBe("Ready");
    const version = JSON.parse(await succeed(inFar(["get", "--raw", "/version"])));
    expect(await field("virtualclusterinstances remote -n p-default", ".status.kubernetesVersion")).toBe(
      version.gitVersion,
    );
  });

  it("takes a token of the platform with a kubeconfig that leads through the platform, until its key is deleted", async () => {
    await expect.poll(() => field("virtualclusterinstances remote -n p-default", ".status.phase"), WAIT).toBe("Ready");
    const tenant = await kubeConfig("through", { server: `${near.url}${NEAR_CLUSTER}` });
    expect(await succeed(tenant(["get", "namespace", "default", "-o", "name"]))).toBe("namespace/default\n");
    const token = /^\s*token: (\S+)$/m.exec(await readFile(join(directory.path, "through.kubeconfig"), "utf8"))?.[1];
    const self = await http("/kubernetes/management/apis/management.postern/v1/selves", {
      key: token ?? "",
      body: { apiVersion: "management.postern/v1", kind: "Self", metadata: {}, spec: {} },
    });
    await succeed(administrator(["delete", "ownedaccesskeys", self.body.status.accessKey]));
    expect(await tenant(["get", "namespace", "default"])).toMatchObject({ code: 1 });
  });

  it("takes callers in by their own name, with the rights that the platform gives them there", async () => {
    const tenant = await kubeConfig("token", {});
    await expect.poll(async () => (await tenant(["create", "configmap", "here"])).stderr, WAIT).toBe("");
    expect(await succeed(inFar(["get", "configmap", "here", "-o", "name"]))).toBe("configmap/here\n");
    expect(await succeed(tenant(whoAmI))).toMatch(/^admin .*postern:role:cluster-admin/);
    const manifest = JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied" },
      data: { a: "b" },
    });
    expect(await succeed(tenant(["apply", "--server-side", "-f", "-"], manifest))).toBe(
      "configmap/applied serverside-applied\n",
    );
    expect(await succeed(tenant(["apply", "--server-side", "--dry-run=server", "-f", "-"], manifest))).toContain(
      "dry run",
    );
    expect(await succeed(inFar(["get", "configmap", "applied", "-o", "jsonpath={.data.a}"]))).toBe("b");
  });

  it("takes definitions and what they define, which the other Postern serves from its embedded cluster", async () => {
    const tenant = await kubeConfig("definitions", {});
    const definition = definitionManifest(
      { group: "example.com", kind: "Shelf", plural: "shelves" },
      definitionVersion("v1", {
        type: "object",
        properties: { spec: { type: "object", properties: { size: { type: "integer", minimum: 1, default: 3 } } } },
      }),
    );
    await succeed(tenant(["apply", "--server-side", "-f", "-"], JSON.stringify(definition)));
    await succeed(tenant(["wait", "crd/shelves.example.com", "--for=condition=Established", "--timeout=50s"]));
    const shelf = (size?: number) =>
      JSON.stringify({ apiVersion: "example.com/v1", kind: "Shelf", metadata: { name: "wide" }, spec: { size } });
    await expect.poll(async () => (await tenant(["apply", "-f", "-"], shelf())).stderr, WAIT).toBe("");
    expect(await succeed(inFar(["get", "shelf", "wide", "-o", "jsonpath={.spec.size}"]))).toBe("3");
    expect((await tenant(["apply", "-f", "-"], shelf(0))).stderr).toContain(
      "spec.size in body should be greater than or equal to 1",
    );
    expect(await succeed(tenant(["explain", "shelf.spec.size"]))).toContain("FIELD: size <integer>");
    await succeed(tenant(["delete", "crd", "shelves.example.com"]));
    expect((await inFar(["get", "shelves"])).stderr).toMatch(
      /could not find the requested resource|doesn't have a resource type/,
    );
  });

  it("issues client certificates of its own CA, which are valid at its own address only", async () => {
    const nowhere = await http(`${INSTANCES}/remote/kubeconfig`, { key, body: { spec: { clientCert: true } } });
    expect(nowhere).toMatchObject({ status: 400, body: { message: expect.stringContaining("spec.server") } });
    const tenant = await kubeConfig("certificate", { clientCert: true, server: `${far.url}${FAR_CLUSTER}` });
    expect(await succeed(inFar(["get", "certificatesigningrequests", "-o", "name"]))).toBe("");
    expect(await succeed(tenant(whoAmI))).toMatch(/^admin .*postern:role:cluster-admin/);
    const through = await tenant([
      "--server",
      `${near.url}${NEAR_CLUSTER}`,
      "--certificate-authority",
      near.caFile,
      "get",
      "cm",
    ]);
    expect(through).toMatchObject({ code: 1, stderr: expect.stringContaining("You must be logged in") });
  });

  it("accepts a client certificate for as long as it says, whatever becomes of its key here, and refuses it at once where it is verified", async () => {
    const administratorOf = async (server: PosternProcess) => ({
      http: await httpClient(server),
      key: await adminKey(server),
    });
    const [here, there] = [await administratorOf(near), await administratorOf(far)];
    const LEDGER = "/kubernetes/management/apis/management.postern/v1/users/admin/credentials";
    const ledgerOf = async ({ http: send, key: own }: typeof here): Promise<any[]> =>
      (await send(LEDGER, { key: own })).body.status.credentials;
    const revoke = ({ http: send, key: own }: typeof here, id: string) =>
      send(LEDGER, { key: own, body: { spec: { revoke: [id] } } });
    const before = new Set([...(await ledgerOf(here)), ...(await ledgerOf(there))].map(({ id }) => id));

    const leaked = { kind: "OwnedAccessKey", metadata: { name: "leaked" }, spec: { user: "admin" } };
    const { body: made } = await here.http(KEYS, { key, body: leaked });
    const spec = { clientCert: true, server: `${far.url}${FAR_CLUSTER}` };
    const issued = await http(`${INSTANCES}/remote/kubeconfig`, { key: made.spec.key, body: { spec } });
    expect(issued.status, issued.text).toBe(201);
    const path = join(directory.path, "leaked.kubeconfig");
    await writeFile(path, issued.body.status.kubeConfig, { mode: 0o600 });
    const thief = kubectlWith(path, join(directory.path, "cache"));
    expect(await succeed(thief(whoAmI))).toMatch(/^admin /);

    const certificateIn = async (ledger: Promise<any[]>): Promise<any> =>
      (await ledger).find(({ id, subject }) => !before.has(id) && subject !== undefined);
    const listed = await certificateIn(ledgerOf(here));
    expect(listed.enforcedBy).toBe("Cluster");
    const refused = await revoke(here, listed.id);
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining("cluster")]);
    await succeed(administrator(["delete", "ownedaccesskeys", "leaked"]));
    expect(await certificateIn(ledgerOf(here))).toMatchObject({ id: listed.id, enforcedBy: "Cluster" });
    // The list is right: the cluster still accepts it.
    expect(await succeed(thief(whoAmI))).toMatch(/^admin /);

    const verified = await certificateIn(ledgerOf(there));
    expect(verified.enforcedBy).toBeUndefined();
    expect((await revoke(there, verified.id)).status).toBe(201);
    expect((await thief(["get", "namespaces"])).code).toBe(1);
    expect(await certificateIn(ledgerOf(there))).toBeUndefined();
    // The other platform does not know that, and lists it until its end.
    expect(await certificateIn(ledgerOf(here))).toMatchObject({ id: listed.id });
  });

  it("streams watches through both, and ends them with their key", async () => {
    const { body } = await http(`${KEYS}`, {
      key,
      body: {
        apiVersion: "management.postern/v1",
        kind: "OwnedAccessKey",
        spec: { user: "admin" },
        metadata: { name: "passing" },
      },
    });
    const args = ["--server", `${near.url}${NEAR_CLUSTER}`];
    const login = ["--certificate-authority", near.caFile, "--token", body.spec.key];
    using watching = startTool("kubectl", [...args, ...login, "get", "configmaps", "--watch", "-o", "name"]);
    await expect.poll(() => watching.output(), WAIT).toContain("configmap/kube-root-ca.crt");
    await succeed(inFar(["create", "configmap", "seen"]));
    await expect.poll(() => watching.output(), WAIT).toContain("configmap/seen");
    await succeed(administrator(["delete", "ownedaccesskeys", "passing"]));
    const refused = await http(`${NEAR_CLUSTER}/api/v1/namespaces`, {
      key: body.spec.key,
    });
    expect(refused.status).toBe(401);
  });

  it("reports an unreachable cluster without its address", async () => {
    await apply({
      kind: "VirtualClusterInstance",
      metadata: { name: "nowhere", namespace: "p-default" },
      spec: { external: true },
    });
    const answer = await http("/kubernetes/project/default/virtualcluster/nowhere/api", { key });
    expect(answer.status, answer.text).toBe(503);
    expect(answer.body.message).toContain("cannot be reached");
    expect(answer.text).not.toContain("127.0.0.1");
  });
});

describe("a connected cluster", () => {
  it("is initialized once it is reached", async () => {
    await expect.poll(() => field("clusters host", ".status.phase"), WAIT).toBe("Initialized");
  });

  it("sees callers with their identity on the platform, and no more", async () => {
    const path = "/kubernetes/cluster/host/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { body } = await http(path, { key, body: review });
    expect(body.status.userInfo.username).toBe("admin");
    expect(body.status.userInfo.groups.filter((group: string) => group.startsWith("system:"))).toEqual([
      "system:authenticated",
    ]);
  });
});
