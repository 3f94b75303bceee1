// Tenants' use of kubectl inside an embedded virtual cluster, by its kubeconfigs, with real kubectls.

import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { casesOf } from "../../tools/test-cost/by-night.ts";
import { kubectlSession, kubectlsOnStores } from "./testing/kubectl-clients.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, startTool, succeed, tool } from "./testing/postern-process.ts";

const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";

const { pairs } = await kubectlsOnStores();
let server: OwnServer;
let withToken: string;
let withCertificate: string;

async function kubeConfig(name: string, spec: object): Promise<string> {
  const admin = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
  const { status } = JSON.parse(await succeed(admin(["create", "--raw", DEMO, "-f", "-"], JSON.stringify({ spec }))));
  const path = join(server.directory, name);
  await writeFile(path, status.kubeConfig, { mode: 0o600 });
  return path;
}

describe.each(pairs)("kubectl 1.$minor ($tag) inside a virtual cluster on $storeName", (pair) => {
  const { program, minor, tag, newStore } = pair;
  beforeAll(async () => {
    server = await startOwnServer(newStore());
    withToken = await kubeConfig("token.yaml", {});
    withCertificate = await kubeConfig("certificate.yaml", { clientCert: true, certificateTTL: 3600 });
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  const namespace = `team-${tag}`;
  const by = (config: () => string) => kubectlSession(config, () => join(server.directory, "cache"), program);
  const kubectl = by(() => withToken);
  const byCertificate = by(() => withCertificate);
  const { run } = kubectl;
  const configMap = (value: string): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied", namespace },
      data: { k: value },
    });

  it("finds the resources of a cluster", async () => {
    const resources = (await run("api-resources -o name")).split("\n");
    for (const resource of [
      "namespaces",
      "configmaps",
      "secrets",
      "serviceaccounts",
      "events",
      "roles.rbac.authorization.k8s.io",
      "leases.coordination.k8s.io",
      "certificatesigningrequests.certificates.k8s.io",
    ]) {
      expect(resources).toContain(resource);
    }
    expect(resources.join()).not.toContain("postern");
    expect(await run("get namespaces -o name")).toBe(
      "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n",
    );
  });

  it("works on configmaps in a namespace of its own", async () => {
    expect(await run(`create namespace ${namespace}`)).toContain("created");
    await run(`create configmap c -n ${namespace} --from-literal=a=b`);
    const patch = (type: string, body: string) =>
      succeed(kubectl(["patch", "configmap", "c", "-n", namespace, `--type=${type}`, "-p", body]));
    await patch("strategic", '{"data":{"s":"1"}}');
    await patch("merge", '{"data":{"m":"2"}}');
    await patch("json", '[{"op":"remove","path":"/data/a"}]');
    expect(JSON.parse(await run(`get cm c -n ${namespace} -o json`)).data).toEqual({ s: "1", m: "2" });
    expect(await run(`describe cm c -n ${namespace}`)).toMatch(/^s:\n----\n1$/m);
    expect(await run(`get cm -n ${namespace} -o wide`)).toMatch(/^c +2 +/m);
  });

  it("applies on either side, with dry runs and diffs", async () => {
    expect(await run("apply -f -", configMap("1"))).toBe("configmap/applied created\n");
    expect(await kubectl(["diff", "-f", "-"], configMap("2"))).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/- {2}k: "?1"?\n\+ {2}k: "?2"?/),
    });
    expect(await run("apply --dry-run=server -f -", configMap("2"))).toContain("configured (server dry run)");
    expect(await run("apply -f -", configMap("2"))).toBe("configmap/applied configured\n");
    expect(await run("apply --server-side -f -", configMap("2"))).toBe("configmap/applied serverside-applied\n");
    const other = await kubectl(["apply", "--server-side", "--field-manager=other", "-f", "-"], configMap("3"));
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining(".data.k") });
    await run("apply --server-side --field-manager=other --force-conflicts -f -", configMap("3"));
    expect(await run(`get cm applied -n ${namespace} -o jsonpath={.data.k}`)).toBe("3");
    expect(await run("replace -f -", configMap("4"))).toContain("replaced");
  });

  it("keeps secrets apart from their descriptions", async () => {
    await run(`create secret generic s -n ${namespace} --from-literal=password=hunter2`);
    expect(await run(`get secret s -n ${namespace} -o jsonpath={.data.password}`)).toBe("aHVudGVyMg==");
    expect(await run(`describe secret s -n ${namespace}`)).toMatch(/password: +7 bytes/);
    expect(await kubectl(["create", "secret", "generic", "s", "-n", namespace])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("already exists"),
    });
  });

  it("watches, and waits", async () => {
    using watch = startTool(program, [
      "--kubeconfig",
      withToken,
      "get",
      "cm",
      "-n",
      namespace,
      "-w",
      "--output-watch-events",
    ]);
    await expect.poll(watch.output).toMatch(/ADDED +applied/);
    await run(`label cm applied -n ${namespace} a=b`);
    await expect.poll(watch.output).toMatch(/MODIFIED +applied/);
    await run(`delete cm applied -n ${namespace} --wait`);
    await expect.poll(watch.output).toMatch(/DELETED +applied/);
  });

  it("grants permissions; the issuer of the credential, platform or cluster, decides about impersonation", async () => {
    await run(`create role reader -n ${namespace} --verb=get,list --resource=configmaps`);
    await run(`create rolebinding readers -n ${namespace} --role=reader --user=jane --group=devs`);
    expect(await run(`describe rolebinding readers -n ${namespace}`)).toMatch(/User +jane[\s\S]*Group +devs/);
    expect(await run(`auth can-i list configmaps -n ${namespace}`)).toBe("yes\n");
    expect(await run(`auth can-i --list -n ${namespace}`)).toMatch(/^\*\.\* .*\[\*\]$/m);
    const asJane = (verb: string, resource: string) => [verb, resource, "-n", namespace, "--as=jane"];
    expect(await succeed(byCertificate(asJane("get", "configmaps")))).toContain("kube-root-ca.crt");
    for (const refused of [kubectl(asJane("get", "configmaps")), byCertificate(asJane("get", "secrets"))]) {
      expect(await refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Forbidden") });
    }
  });

  it.skipIf(minor < 27)("runs auth whoami with token and certificate", async () => {
    for (const client of [kubectl, byCertificate]) {
      const who = await succeed(client(["auth", "whoami"]));
      expect(who).toMatch(/Username +admin/);
      expect(who).toContain("postern:role:cluster-admin");
      expect(who).not.toContain("system:masters");
    }
  });

  it("requests, approves and gets a certificate that authenticates its user (A-03)", async () => {
    const [key, csr] = [join(server.directory, `${tag}.key`), join(server.directory, `${tag}.csr`)];
    await succeed(
      tool("openssl", [
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        key,
        "-subj",
        "/CN=jane",
        "-out",
        csr,
      ]),
    );
    const request = await readFile(csr, "base64");
    const name = `jane-${tag}`;
    const spec = {
      request,
      signerName: "kubernetes.io/kube-apiserver-client",
      expirationSeconds: 3600,
      usages: ["client auth"],
    };
    await run(
      "create -f -",
      JSON.stringify({
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec,
      }),
    );
    expect(await run("get csr")).toMatch(new RegExp(`^${name} .*admin.*Pending$`, "m"));
    expect(await run(`certificate approve ${name}`)).toContain("approved");
    await run(`wait csr/${name} --for=condition=Approved --timeout=60s`);
    const certificate = () => run(`get csr ${name} -o jsonpath={.status.certificate}`);
    await expect.poll(certificate).not.toBe("");
    expect(await run("get csr")).toMatch(new RegExp(`^${name} .*Approved,Issued$`, "m"));
    const pem = Buffer.from(await certificate(), "base64");
    expect(new X509Certificate(pem).subject).toBe("CN=jane");

    const file = join(server.directory, `jane-${tag}.yaml`);
    const config = (await readFile(withCertificate, "utf8"))
      .replace(/client-certificate-data: .*/, `client-certificate-data: ${pem.toString("base64")}`)
      .replace(/client-key-data: .*/, `client-key-data: ${await readFile(key, "base64")}`);
    await writeFile(file, config, { mode: 0o600 });
    const jane = (...args: string[]) => by(() => file)(args);
    expect(await succeed(jane("get", "configmaps", "-n", namespace, "-o", "name"))).toContain("configmap/c\n");
    expect(await jane("auth", "can-i", "list", "secrets", "-n", namespace)).toMatchObject({ code: 1, stdout: "no\n" });
    expect((await jane("auth", "can-i", "--list", "-n", namespace)).stdout).toMatch(
      /^configmaps +\[\] +\[\] +\[get list\]/m,
    );
    expect(await jane("get", "secrets", "-n", namespace)).toMatchObject({
      code: 1,
      stderr: `Error from server (Forbidden): secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "${namespace}"\n`,
    });
    await run(`delete csr ${name}`);
  });

  it("denies a certificate", async () => {
    const request = await readFile(join(server.directory, `${tag}.csr`), "base64");
    const name = `denied-${tag}`;
    const spec = { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
    await run(
      "create -f -",
      JSON.stringify({
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec,
      }),
    );
    await run(`certificate deny ${name}`);
    expect(await run("get csr")).toMatch(new RegExp(`^${name} .*Denied$`, "m"));
    expect(await run(`get csr ${name} -o jsonpath={.status.certificate}`)).toBe("");
  });

  it.each(casesOf(["background", "foreground", "orphan"], (each) => each === "orphan"))(
    "deletes with --cascade=%s",
    async (cascade) => {
      const create = (name: string, owners: readonly object[]) =>
        run(
          "create -f -",
          JSON.stringify({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name, namespace, ownerReferences: owners },
          }),
        );
      await create(`owner-${cascade}`, []);
      const uid = await run(`get cm owner-${cascade} -n ${namespace} -o jsonpath={.metadata.uid}`);
      await create(`child-${cascade}`, [
        { apiVersion: "v1", kind: "ConfigMap", name: `owner-${cascade}`, uid, blockOwnerDeletion: true },
      ]);
      await run(`delete cm owner-${cascade} -n ${namespace} --cascade=${cascade} --timeout=60s`);
      const child = () =>
        kubectl(["get", "cm", `child-${cascade}`, "-n", namespace, "-o", "jsonpath={.metadata.ownerReferences}"]);
      const expected =
        cascade === "orphan" ? { code: 0, stdout: "" } : { code: 1, stderr: expect.stringContaining("NotFound") };
      await expect.poll(child).toMatchObject(expected);
    },
  );

  it("deletes a namespace with everything in it", async () => {
    expect(await run(`delete namespace ${namespace} --timeout=60s`)).toContain("deleted");
    expect(await run(`get cm,secrets,roles -n ${namespace} -o name`)).toBe("");
  });
});
