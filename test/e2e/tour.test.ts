// The tour of the README, step by step, with the real kubectl, curl and openssl against a started server.

import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  kubectlWith,
  type Outcome,
  type PosternProcess,
  REPOSITORY,
  startPostern,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";
import { storesUnderTest } from "./testing/stores.ts";

const GROUP = "management.postern/v1";
const DEMO = `/kubernetes/management/apis/${GROUP}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;
const KEYS = `/kubernetes/management/apis/${GROUP}/ownedaccesskeys`;
const REFUSED = "platform access key not found. Please login again";

const { stores, missing } = storesUnderTest({ durable: true });
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let kubectl: (args: readonly string[], input?: string) => Promise<Outcome>;
/** Every secret that a step was shown, for the search at the end. */
const secrets = new Set<string>();

async function curl(path: string, key: string, ...args: string[]): Promise<{ status: number; body: any }> {
  const { stdout } = await tool("curl", [
    "--silent",
    "--show-error",
    "--cacert",
    server.caFile,
    "--header",
    `Authorization: Bearer ${key}`,
    "--write-out",
    "\n%{http_code}",
    ...args,
    `${server.url}${path}`,
  ]);
  const end = stdout.lastIndexOf("\n");
  return { status: Number(stdout.slice(end + 1)), body: JSON.parse(stdout.slice(0, end)) };
}

async function ok(outcome: Promise<Outcome>): Promise<string> {
  const { code, stdout, stderr } = await outcome;
  expect(code, stderr).toBe(0);
  return stdout;
}

async function createKey(name: string, spec: object): Promise<string> {
  const manifest = JSON.stringify({ apiVersion: GROUP, kind: "OwnedAccessKey", metadata: { name }, spec });
  const key = await ok(kubectl(["create", "-f", "-", "-o", "jsonpath={.spec.key}"], manifest));
  expect(key).toMatch(/^pst_[a-z2-7]{10}_[0-9A-Za-z]+$/);
  secrets.add(key);
  return key;
}

async function kubeConfig(key: string, spec: object, file: string): Promise<string> {
  const request = JSON.stringify({ spec });
  const { status, body } = await curl(
    DEMO,
    key,
    "--header",
    "Content-Type: application/json",
    "--data-binary",
    request,
  );
  expect(status, JSON.stringify(body)).toBe(201);
  const path = join(directory.path, file);
  await writeFile(path, body.status.kubeConfig, { mode: 0o600 });
  return path;
}

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("is toured on the others alone", () => {});
});

describe.each(stores)("the tour on $storeName", ({ newStore }) => {
  let store: readonly string[];

  beforeAll(async () => {
    directory = await temporaryDirectory();
    store = newStore();
    server = await startPostern(join(directory.path, "data"), [
      ...store,
      "--audit-log-path",
      join(directory.path, "audit.log"),
    ]);
    kubectl = kubectlWith(server.adminKubeconfig, join(directory.path, "cache"));
    secrets.clear();
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it("keeps the administrator's kubeconfig for its owner alone", async () => {
    expect((await stat(server.adminKubeconfig)).mode & 0o777).toBe(0o600);
  });

  it("lists and explains the resources", async () => {
    const listed = await ok(kubectl(["api-resources"]));
    for (const resource of ["ownedaccesskeys", "virtualclusterinstances", "projects", "users", "teams"]) {
      expect(listed).toContain(resource);
    }
    expect(await ok(kubectl(["explain", "ownedaccesskeys.spec.scope"]))).toContain("virtualClusters");
  });

  it("creates a key from the example and shows it this once", async () => {
    const example = join(REPOSITORY, "examples/ownedaccesskey.yaml");
    const key = await ok(kubectl(["create", "-f", example, "-o", "jsonpath={.spec.key}"]));
    expect(key).toMatch(/^pst_/);
    secrets.add(key);
    expect(await ok(kubectl(["get", "ownedaccesskeys"]))).toContain("my-key");
    expect(await ok(kubectl(["get", "--raw", KEYS.replace("/kubernetes/management", "")]))).not.toContain(key);
  });

  it("edits, patches and deletes a key", async () => {
    await createKey("temporary", { ttl: 3600 });
    const patch = '[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]';
    await ok(kubectl(["patch", "ownedaccesskey", "temporary", "--type=json", "-p", patch]));
    await ok(kubectl(["annotate", "ownedaccesskey", "temporary", "c=d"]));
    const edited = await tool("env", [
      "KUBE_EDITOR=sed -i s/3600/7200/",
      "kubectl",
      "--kubeconfig",
      server.adminKubeconfig,
      "edit",
      "ownedaccesskey",
      "temporary",
    ]);
    expect(edited.code, edited.stderr).toBe(0);
    const object = JSON.parse(await ok(kubectl(["get", "ownedaccesskey", "temporary", "-o", "json"])));
    expect(object.metadata.annotations).toEqual({ a: "b", c: "d" });
    expect(object.spec.ttl).toBe(7200);
    await ok(kubectl(["delete", "ownedaccesskey", "temporary"]));
    expect((await kubectl(["get", "ownedaccesskey", "temporary"])).stderr).toContain("NotFound");
  });

  it("answers the example request for a kubeconfig in YAML", async () => {
    const key = await createKey("yaml", {});
    const example = join(REPOSITORY, "examples/kubeconfig-request.yaml");
    const answer = await curl(
      DEMO,
      key,
      "-X",
      "POST",
      "-H",
      "Content-Type: application/yaml",
      "--data-binary",
      `@${example}`,
    );
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    expect(answer.body.kind).toBe("VirtualClusterInstanceKubeConfig");
    expect(answer.body.status.kubeConfig).toContain("kind: Config");
  });

  it("hands out kubeconfigs that work, with a token and with a certificate", async () => {
    const key = await createKey("tenant", { ttl: 3600 });
    const token = await kubeConfig(key, {}, "demo-token.yaml");
    const certificate = await kubeConfig(key, { clientCert: true, certificateTTL: 3600 }, "demo-cert.yaml");
    const [withToken, withCertificate] = [token, certificate].map((file) => kubectlWith(file, `${file}.cache`));
    await ok(withToken!(["create", "configmap", "hello", "--from-literal=a=b"]));
    const read = await ok(withCertificate!(["get", "configmap", "hello", "-o", "yaml"]));
    expect(read).toContain("a: b");
    secrets.add(/token: (\S+)/.exec(await readFile(token, "utf8"))?.[1] ?? "missing");
  });

  it("issues a certificate that openssl verifies, and that ends when it was asked to", async () => {
    const key = await createKey("certificates", {});
    const file = await kubeConfig(key, { clientCert: true, certificateTTL: 900 }, "short-cert.yaml");
    const config = JSON.parse(
      await ok(tool("kubectl", ["--kubeconfig", file, "config", "view", "--raw", "-o", "json"])),
    );
    const { user } = config.users[0];
    const leaf = join(directory.path, "leaf.pem");
    await writeFile(leaf, Buffer.from(user["client-certificate-data"], "base64"));
    const privateKey = Buffer.from(user["client-key-data"], "base64").toString();
    secrets.add(privateKey.split("\n")[1]!);

    const ca = join(directory.path, "demo-ca.pem");
    const root = await ok(
      kubectlWith(
        file,
        `${file}.cache`,
      )([
        "get",
        "configmap",
        "extension-apiserver-authentication",
        "-n",
        "kube-system",
        "-o",
        "jsonpath={.data.client-ca-file}",
      ]),
    );
    await writeFile(ca, root);
    expect(await ok(tool("openssl", ["verify", "-CAfile", ca, "-purpose", "sslclient", leaf]))).toContain("OK");
    const printed = await ok(
      tool("openssl", ["x509", "-in", leaf, "-noout", "-enddate", "-subject", "-serial", "-ext", "extendedKeyUsage"]),
    );
    expect(printed).toMatch(/^serial=[0-9A-F]{16,40}$/m);
    expect(printed).toMatch(/Extended Key Usage:[^\n]*\n\s+TLS Web Client Authentication\n/);
    const end = Date.parse(/notAfter=(.*)/.exec(printed)?.[1] ?? "");
    expect(Math.abs(end - (Date.now() + 900_000))).toBeLessThan(120_000);
    expect(printed).not.toContain("system:");
  });

  it("refuses a disabled, an expired and a deleted key on the next request (A-05)", async () => {
    const disabled = await createKey("disabled", {});
    expect((await curl(KEYS, disabled)).status).toBe(200);
    await ok(kubectl(["patch", "ownedaccesskey", "disabled", "--type=merge", "-p", '{"spec":{"disabled":true}}']));
    const deleted = await createKey("deleted", {});
    await ok(kubectl(["delete", "ownedaccesskey", "deleted"]));
    for (const key of [disabled, deleted]) {
      expect(await curl(KEYS, key)).toMatchObject({ status: 401, body: { reason: "Unauthorized", message: REFUSED } });
    }
    const expiring = await createKey("expiring", { ttl: 1 });
    await expect.poll(async () => (await curl(KEYS, expiring)).status).toBe(401);
  });

  it("holds a scoped key to its scope", async () => {
    const key = await createKey("scoped", {
      scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
    });
    const post = ["-X", "POST", "-H", "Content-Type: application/json", "--data-binary", "{}"];
    expect((await curl(DEMO, key, ...post)).status).toBe(201);
    expect((await curl(`/kubernetes/management/apis/${GROUP}/users/admin`, key)).status).toBe(403);
    expect((await curl(KEYS, key, ...post)).status).toBe(403);
    const inside = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
    expect((await curl(inside, key)).status).toBe(200);
  });

  it("finds everything again after a restart, and nothing secret was written anywhere", async () => {
    expect(await server.stop()).toBe(0);
    const files = [
      join(directory.path, "audit.log"),
      ...(await readdir(server.dataDir, { recursive: true })).map((name) => join(server.dataDir, name)),
    ];
    for (const file of files) {
      if (!(await stat(file)).isFile() || file === server.adminKubeconfig) continue;
      const content = await readFile(file, "latin1");
      for (const secret of secrets) expect(content.includes(secret), `${secret.slice(0, 16)}… in ${file}`).toBe(false);
    }
    for (const secret of secrets) expect(server.output().includes(secret)).toBe(false);

    server = await startPostern(server.dataDir, store);
    kubectl = kubectlWith(server.adminKubeconfig, join(directory.path, "cache-2"));
    expect(await ok(kubectl(["get", "ownedaccesskeys"]))).toContain("tenant");
    expect(await ok(kubectl(["get", "virtualclusterinstances", "-n", "p-default"]))).toContain("demo");
  });
});
