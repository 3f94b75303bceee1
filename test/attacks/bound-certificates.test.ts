// Client certificates that lead through the platform to a connected or external cluster. Only the platform accepts them, each as its access key, and refuses
// them with it.

import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createCertificateAuthority } from "@postern/platform/foundation/pki/certificate-authority";
import { makeKeyPair } from "@postern/platform/foundation/pki/p256-key-pair";
import { signClientCertificate } from "@postern/platform/foundation/pki/sign-client-certificate";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { kubectlWith, postern, succeed, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";
import { clusterPath, INSTANCES, KEYS, keepKubeconfig, type Server, startTwo } from "../e2e/testing/two-posterns.ts";
import { type Attack, attackerOf, MERGE } from "./testing/attacking.ts";

const REMOTE = clusterPath("remote");
const NAMESPACES = `${REMOTE}/api/v1/namespaces`;
const PROJECT = "/kubernetes/management/apis/management.postern/v1/projects/default";

type Certificate = NonNullable<Attack["certificate"]>;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let send: Awaited<ReturnType<typeof attackerOf>>["send"];

beforeAll(async () => {
  directory = await temporaryDirectory();
  ({ near, far } = await startTwo(directory.path));
  ({ send } = await attackerOf(near.process));
  const authority = await readFile(far.process.caFile);
  const server = `${far.process.url}${clusterPath("demo")}`;
  await keepKubeconfig(
    near,
    "vc-remote",
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "far", cluster: { server, "certificate-authority-data": authority.toString("base64") } }],
      users: [{ name: "far", user: { token: far.key } }],
      contexts: [{ name: "far", context: { cluster: "far", user: "far" } }],
      "current-context": "far",
    }),
  );
  await near.create(INSTANCES, {
    kind: "VirtualClusterInstance",
    metadata: { name: "remote" },
    spec: { external: true, template: { accessPoint: { ingress: { enabled: true } } } },
  });
  await vi.waitFor(async () => expect((await send({ path: NAMESPACES })).status).toBe(200), {
    timeout: 30_000,
    interval: 100,
  });
});
afterAll(async () => {
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const ask = (spec: object, as?: string) =>
  send({
    path: `${INSTANCES}/remote/kubeconfig`,
    ...(as === undefined ? {} : { as }),
    body: { spec: { clientCert: true, certificateTTL: 1800, ...spec } },
  });
async function kubeconfig(spec: object = {}, as?: string): Promise<any> {
  const answer = await ask({ endpoint: "Platform", ...spec }, as);
  if (answer.status !== 201) throw new Error(answer.text);
  return parse(answer.body.status.kubeConfig);
}
const certificateIn = ({ users }: any, at = 0): Certificate => ({
  cert: Buffer.from(users[at].user["client-certificate-data"], "base64").toString(),
  key: Buffer.from(users[at].user["client-key-data"], "base64").toString(),
});
/** The access key of a certificate. */
const keyOf = ({ cert }: Certificate): string => {
  const text = execFileSync("openssl", ["x509", "-noout", "-ext", "subjectAltName"], { input: cert, encoding: "utf8" });
  return /urn:access-key:([a-z0-9.-]+)/.exec(text)?.[1] ?? "";
};
const statusWith = async (certificate: Certificate, path: string, more: Partial<Attack> = {}): Promise<number> =>
  (await send({ path, certificate, ...more })).status;

describe("a certificate through the platform", () => {
  test("opens the one cluster at the platform as its owner, and nothing else", async () => {
    const config = await kubeconfig();
    expect(config.clusters[0].cluster.server).toBe(`${near.process.url}${REMOTE}`);
    const certificate = certificateIn(config);
    expect(await statusWith(certificate, NAMESPACES)).toBe(200);
    const review = await send({
      path: `${REMOTE}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      certificate,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    expect(review.body.status.userInfo.username).toBe("admin");
    expect(await statusWith(certificate, `${clusterPath("demo")}/api/v1/namespaces`)).toBe(401);
    // Browsers send a certificate by themselves: the management API takes none.
    expect(await statusWith(certificate, PROJECT)).not.toBe(200);
    const elsewhere = await attackerOf(far.process);
    const direct = await elsewhere.send({ path: `${clusterPath("demo")}/api/v1/namespaces`, certificate });
    expect(direct.status).toBe(401);
  });

  test("is refused at once with its access key, also where a watch is open", async () => {
    const certificate = certificateIn(await kubeconfig());
    const ended = () => "ended";
    const watch = send({ path: `${NAMESPACES}?watch=1&timeoutSeconds=600`, certificate }).then(ended, ended);
    expect(await statusWith(certificate, NAMESPACES)).toBe(200);
    await near.send(`${KEYS}/${keyOf(certificate)}`, undefined, "DELETE");
    expect(await statusWith(certificate, NAMESPACES)).toBe(401);
    expect(await watch).toBe("ended");
  });

  test("is refused with the access key that requested it, and has no more than that one", async () => {
    const spec = { ttl: 3600, scope: { virtualClusters: [{ project: "default", virtualCluster: "remote" }] } };
    const parent = await near.create(KEYS, { kind: "OwnedAccessKey", metadata: { name: "asks" }, spec });
    const certificate = certificateIn(await kubeconfig({}, parent.spec.key));
    expect(await statusWith(certificate, NAMESPACES)).toBe(200);
    await near.send(`${KEYS}/asks`, { spec: { disabled: true } }, "PATCH");
    expect(await statusWith(certificate, NAMESPACES)).toBe(401);
  });

  test("a certificate of another signer that names the same key is refused", async () => {
    const certificate = certificateIn(await kubeconfig());
    const { clock, random } = systemRuntime;
    const { privateKeyPem, publicKeyInfo } = makeKeyPair();
    const name = Buffer.from(`urn:access-key:${keyOf(certificate)}`);
    const { pem } = signClientCertificate({
      authority: createCertificateAuthority({ commonName: "forged", clock, random }),
      publicKeyInfo,
      commonName: "admin",
      organizations: [],
      alternativeNames: [Buffer.concat([Buffer.of(0x86, name.length), name])],
      notAfter: clock.now() + 600_000,
      ...{ clock, random },
    });
    expect(keyOf({ cert: pem, key: "" })).toBe(keyOf(certificate));
    expect(await statusWith({ cert: pem, key: privateKeyPem }, NAMESPACES)).toBe(401);
  });

  test("the value of its key is refused without the certificate, also after a rotation", async () => {
    const certificate = certificateIn(await kubeconfig());
    const { status } = await near.send(`${KEYS}/${keyOf(certificate)}/rotate`, { spec: { nonce: "1" } });
    expect((await send({ path: NAMESPACES, as: status.key })).status).toBe(401);
    expect(await statusWith(certificate, NAMESPACES)).toBe(200);
  });

  test("role: view reads, and sees no Secret", async () => {
    const certificate = certificateIn(await kubeconfig({ role: "view" }));
    expect(await statusWith(certificate, NAMESPACES)).toBe(200);
    expect(await statusWith(certificate, `${NAMESPACES}/default/secrets`)).toBe(403);
    expect(await statusWith(certificate, NAMESPACES, { body: { metadata: { name: "x" } } })).toBe(403);
  });

  test("a token that it asks the cluster for ends with its key, and it passes as no other user", async () => {
    const certificate = certificateIn(await kubeconfig());
    const token = await send({
      path: `${NAMESPACES}/default/serviceaccounts/default/token`,
      certificate,
      body: { spec: { expirationSeconds: 86_400 } },
    });
    expect(token.status, token.text).toBe(201);
    expect(Date.parse(token.body.status.expirationTimestamp) - Date.now()).toBeLessThanOrEqual(1_800_000);
    const parent = await near.create(KEYS, {
      kind: "OwnedAccessKey",
      metadata: { name: "narrow" },
      spec: { scope: { virtualClusters: [{ project: "default", virtualCluster: "remote" }] } },
    });
    const narrow = certificateIn(await kubeconfig({}, parent.spec.key));
    const headers = { "impersonate-user": "eve" };
    expect(await statusWith(narrow, NAMESPACES, { headers })).toBe(403);
  });

  test("uses and networks of its key bound it as well", async () => {
    const limited = async (spec: object): Promise<Certificate> => {
      const certificate = certificateIn(await kubeconfig());
      const path = `${KEYS}/${keyOf(certificate)}`;
      const changed = await send({ path, method: "PATCH", headers: MERGE, body: { spec } });
      expect(changed.status, changed.text).toBe(200);
      return certificate;
    };
    const counted = await limited({ maxUses: 2 });
    const codes: number[] = [];
    for (let times = 0; times < 3; times++) codes.push(await statusWith(counted, NAMESPACES));
    expect(codes).toEqual([200, 200, 401]);
    const bound = await limited({ allowedSourceRanges: ["127.0.0.2/32"] });
    expect(await statusWith(bound, NAMESPACES)).toBe(401);
    expect(await statusWith(bound, NAMESPACES, { from: "127.0.0.2" })).toBe(200);
  });

  test("postern asks for one, in the file and as a credential plugin", async () => {
    const from = ["--kubeconfig", near.process.adminKubeconfig];
    for (const [name, flags] of [
      ["file", []],
      ["plugin", ["--exec"]],
    ] as const) {
      const path = join(directory.path, `${name}.kubeconfig`);
      const way = ["--client-cert", "--endpoint", "Platform", ...flags, "--out", path];
      await succeed(postern("kubeconfig", "remote", ...way, ...from));
      expect(parse(await readFile(path, "utf8")).clusters[0].cluster.server).toBe(`${near.process.url}${REMOTE}`);
      // The plugin keeps its credential below the home directory.
      const kubectl = ["env", `HOME=${join(directory.path, name)}`, "kubectl", "--kubeconfig", path] as const;
      const [program, ...args] = [...kubectl, "get", "namespace", "default", "-o", "name"];
      expect(await succeed(tool(program, args))).toContain("namespace/default");
    }
    const both = await postern("kubeconfig", "remote", "--endpoint", "Platform", "--cluster-server", "x", ...from);
    expect(both.code).not.toBe(0);
  });

  test("openssl keeps the private key, and curl uses it", async () => {
    const [key, csr, leaf] = ["client.key", "request.pem", "client.pem"].map((file) => join(directory.path, file)) as [
      string,
      string,
      string,
    ];
    const request = ["req", "-new", "-newkey", "ed25519", "-nodes", "-keyout", key, "-subj", "/CN=x", "-out", csr];
    execFileSync("openssl", request, { stdio: "ignore" });
    const config = await kubeconfig({ certificateSigningRequest: await readFile(csr, "utf8") });
    expect(config.users[0].user["client-key-data"]).toBeUndefined();
    await writeFile(leaf, Buffer.from(config.users[0].user["client-certificate-data"], "base64"));
    const url = `${near.process.url}${NAMESPACES}/default`;
    const flags = ["--silent", "--fail", "--cacert", near.process.caFile, "--cert", leaf, "--key", key];
    expect(JSON.parse(execFileSync("curl", [...flags, url], { encoding: "utf8" })).metadata.name).toBe("default");
  });
});

describe("where a certificate leads", () => {
  test("one file has both contexts, and kubectl uses each", async () => {
    const answer = await ask({ endpoint: "Both" });
    expect(answer.status, answer.text).toBe(201);
    const config = parse(answer.body.status.kubeConfig);
    expect(config.contexts.map(({ name }: { name: string }) => name)).toEqual([
      "default-remote",
      "default-remote-direct",
    ]);
    expect(config["current-context"]).toBe("default-remote");
    expect(config.clusters[1].cluster.server).toBe(`${far.process.url}${clusterPath("demo")}`);
    const file = join(directory.path, "both.kubeconfig");
    await writeFile(file, answer.body.status.kubeConfig, { mode: 0o600 });
    const kubectl = kubectlWith(file, join(directory.path, "cache"));
    for (const context of ["default-remote", "default-remote-direct"]) {
      const output = await succeed(kubectl(["--context", context, "get", "namespace", "default", "-o", "name"]));
      expect(output).toContain("namespace/default");
    }
  });

  test("spec.server with the platform's address, and the setting of the project", async () => {
    const own = `${near.process.url}${REMOTE}`;
    const byServer = parse((await ask({ server: own })).body.status.kubeConfig);
    expect(await statusWith(certificateIn(byServer), NAMESPACES)).toBe(200);
    expect(keyOf(certificateIn(byServer))).not.toBe("");

    const before = parse((await ask({})).body.status.kubeConfig);
    expect(before.clusters[0].cluster.server).toBe(`${far.process.url}${clusterPath("demo")}`);
    await near.send(PROJECT, { spec: { certificateEndpoint: "Platform" } }, "PATCH");
    const after = parse((await ask({})).body.status.kubeConfig);
    expect(after.clusters[0].cluster.server).toBe(own);
    for (const spec of [{ endpoint: "Cluster" }, { endpoint: "Both" }, { server: "https://198.51.100.1:6443" }]) {
      const refused = await ask(spec);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain("client certificates lead through the platform");
    }
    expect((await ask({ endpoint: "Both", server: own })).status).toBe(422);
  });
});
