// Sections C, D and G of the security book, attacked over the wire: tokens, certificates and kubeconfigs that others made.

import { execFileSync } from "node:child_process";
import { createHmac, X509Certificate } from "node:crypto";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import type { Server } from "node:https";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { tool } from "../../e2e/testing/postern-process.ts";
import { makeSelfSigned } from "../../e2e/testing/self-signed.ts";
import { type BookServer, DEMO, INSTANCES, KEYS, startBookServer } from "../testing/book-server.ts";
import { object, PLATFORM, whenReady } from "../testing/rights-world.ts";

let server: BookServer;
let folder = "";
beforeAll(async () => {
  server = await startBookServer();
  folder = await mkdtemp(join(tmpdir(), "postern-book-"));
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** As kubectl reads it. */
async function parse(kubeConfig: string): Promise<any> {
  const file = join(folder, "read.kubeconfig");
  await writeFile(file, kubeConfig, { mode: 0o600 });
  const { code, stdout, stderr } = await tool("kubectl", [
    "--kubeconfig",
    file,
    "config",
    "view",
    "--raw",
    "-o",
    "json",
  ]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const base64url = (value: string | Buffer): string => Buffer.from(value).toString("base64url");
const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

it("a token of a ServiceAccount is believed as it was signed, and in no other form (security book 20)", async () => {
  const accounts = `${DEMO}/api/v1/namespaces/default/serviceaccounts/default/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const token: string = await vi.waitFor(async () => (await server.send(accounts, request)).status.token, {
    timeout: 30_000,
  });
  const review = (key: string) =>
    server
      .ask(`${DEMO}/apis/authentication.k8s.io/v1/selfsubjectreviews`, { key, body: REVIEW })
      .then(({ status }) => status);
  expect(await review(token)).toBe(201);
  const [head = "", payload = "", signature = ""] = token.split(".");
  const header = JSON.parse(Buffer.from(head, "base64url").toString());
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const jwks = await server.send(`${DEMO}/openid/v1/jwks`);
  const withHead = (changes: object): string => base64url(JSON.stringify({ ...header, ...changes }));
  const withClaims = (changes: object): string => base64url(JSON.stringify({ ...claims, ...changes }));
  const signedBy = (secret: string): string => {
    const text = `${withHead({ alg: "HS256" })}.${payload}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  };
  const forged = [
    `${withHead({ alg: "none" })}.${payload}.`,
    `${withHead({ alg: "None" })}.${payload}.${signature}`,
    signedBy(JSON.stringify(jwks.keys?.[0] ?? jwks)),
    signedBy(""),
    `${withHead({ kid: "../../../../dev/null" })}.${payload}.${signature}`,
    `${withHead({ jku: "https://127.0.0.1/keys" })}.${payload}.${signature}`,
    `${withHead({ crit: ["exp"] })}.${payload}.${signature}`,
    `${head}.${withClaims({ sub: "system:serviceaccount:kube-system:default" })}.${signature}`,
    `${head}.${withClaims({ exp: 2 ** 40 })}.${signature}`,
    `${head}.${withClaims({ aud: ["other"] })}.${signature}`,
    `${head}.${payload}.${signature.slice(0, -4)}AAAA`,
    `${head}.${payload}.`,
    `${head}.${payload}.${signature}.${signature}`,
  ];
  for (const [at, forgery] of forged.entries()) expect(await review(forgery), String(at)).toBe(401);
  // It identifies no user at the platform, and none in another cluster.
  expect((await server.ask(`${PLATFORM}/projects`, { key: token })).status).toBe(401);
});

const openssl = (...args: readonly string[]): void => {
  execFileSync("openssl", [...args], { cwd: folder, stdio: "pipe" });
};

it("a certificate of another CA, for another use or another cluster does not authenticate (security book 21, 22)", async () => {
  await makeSelfSigned({
    certificate: join(folder, "own.crt"),
    key: join(folder, "own.key"),
    subject: "/O=postern:admins/O=system:masters/CN=admin",
  });
  const own = {
    cert: await readFile(join(folder, "own.crt"), "utf8"),
    key: await readFile(join(folder, "own.key"), "utf8"),
  };
  // The management API has no CA for clients and does not look at certificates; a cluster has one, and refuses all others (ADR 224).
  const nowhere = "/kubernetes/project/default/virtualcluster/none/api/v1/namespaces";
  expect(await server.withCertificate(`${PLATFORM}/projects`, own)).toBe(403);
  for (const path of [`${DEMO}/api/v1/namespaces`, `${DEMO}/version`, nowhere]) {
    expect(await server.withCertificate(path, own), path).toBe(401);
  }
  const asked = await server.ask(`${INSTANCES}/demo/kubeconfig`, { body: { spec: { clientCert: true } } });
  const { user } = (await parse(asked.body.status.kubeConfig)).users[0];
  const good = {
    cert: Buffer.from(user["client-certificate-data"], "base64").toString(),
    key: Buffer.from(user["client-key-data"], "base64").toString(),
  };
  expect(await server.withCertificate(`${DEMO}/api/v1/namespaces`, good)).toBe(200);
  expect(await server.withCertificate(`${PLATFORM}/users`, good)).toBe(403);
  await server.send(INSTANCES, object("VirtualClusterInstance", "other", { owner: { user: "admin" } }));
  await whenReady(server, `${INSTANCES}/other`);
  const other = "/kubernetes/project/default/virtualcluster/other/api/v1/namespaces";
  expect(await server.withCertificate(other, good)).toBe(401);
  // Issued below the good one, which is no authority.
  await writeFile(join(folder, "good.crt"), good.cert);
  await writeFile(join(folder, "good.key"), good.key);
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    "/O=system:masters/CN=root",
    "-keyout",
    "leaf.key",
    "-out",
    "leaf.csr",
  );
  openssl(
    "x509",
    "-req",
    "-in",
    "leaf.csr",
    "-CA",
    "good.crt",
    "-CAkey",
    "good.key",
    "-CAcreateserial",
    "-days",
    "1",
    "-out",
    "leaf.crt",
  );
  const leaf = await readFile(join(folder, "leaf.crt"), "utf8");
  const nested = { cert: `${leaf}${good.cert}`, key: await readFile(join(folder, "leaf.key"), "utf8") };
  expect(await server.withCertificate(`${DEMO}/api/v1/namespaces`, nested)).toBe(401);
});

it("values and handles never come twice, however many are made at once (security book 24)", async () => {
  const made = await Promise.all(
    Array.from({ length: 60 }, (_, at) => server.newKey(`twentyfour-${at}`, { user: "admin" })),
  );
  expect(new Set(made).size).toBe(60);
  const [, handles, secrets] = [0, 1, 2].map((part) => new Set(made.map((key) => key.split("_")[part])));
  expect([handles?.size, secrets?.size]).toEqual([60, 60]);
});

it("a client with a kubeconfig sends its token to no other server at the address (security book 36)", async () => {
  const { kubeConfig } = (await server.ask(`${INSTANCES}/demo/kubeconfig`, { body: { spec: {} } })).body.status;
  expect(kubeConfig).not.toContain("insecure");
  const seen: (string | undefined)[] = [];
  const impostor: Server = createServer(createTestCertificate(), ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end("{}");
  });
  await new Promise<void>((resolve) => impostor.listen(0, "127.0.0.1", resolve));
  const { port } = impostor.address() as AddressInfo;
  const file = join(folder, "impostor.kubeconfig");
  await writeFile(file, kubeConfig.replace(/server: https:\/\/[^/]+/, `server: https://127.0.0.1:${port}`), {
    mode: 0o600,
  });
  const { code, stderr } = await tool("kubectl", ["--kubeconfig", file, "get", "namespaces"]);
  await new Promise((resolve) => impostor.close(resolve));
  expect([code, seen]).toEqual([1, []]);
  expect(stderr).toMatch(/certificate/);
});

it("a certificate request for a system name is not signed even if it is approved (security book 55)", async () => {
  const requests = `${DEMO}/apis/certificates.k8s.io/v1/certificatesigningrequests`;
  const subjects = ["/O=system:masters/CN=root", "/CN=system:kube-controller-manager", "/O=a/O=system:nodes/CN=x"];
  for (const [at, subject] of subjects.entries()) {
    openssl(
      "req",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-subj",
      subject,
      "-keyout",
      "csr.key",
      "-out",
      "csr.pem",
    );
    const csr = await readFile(join(folder, "csr.pem"));
    const name = `attack-${at}`;
    const made = await server.ask(requests, {
      body: {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec: {
          request: csr.toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      },
    });
    if (made.status !== 201) continue;
    const condition = { type: "Approved", status: "True", reason: "Attack", message: "" };
    await server.ask(`${requests}/${name}/approval`, {
      method: "PUT",
      body: { ...made.body, status: { conditions: [condition] } },
    });
    const { status } = await vi
      .waitFor(
        async () => {
          const answer = await server.send(`${requests}/${name}`);
          if (answer.status?.certificate === undefined && answer.status?.conditions?.length !== 2)
            throw new Error("not yet");
          return answer;
        },
        { timeout: 10_000, interval: 100 },
      )
      .catch(() => ({ status: {} as { certificate?: string } }));
    if (status.certificate === undefined) continue;
    const certificate = {
      cert: Buffer.from(status.certificate, "base64").toString(),
      key: await readFile(join(folder, "csr.key"), "utf8"),
    };
    expect(
      await server.withCertificate(`${DEMO}/api/v1/namespaces/kube-system/secrets`, certificate),
      subject,
    ).toBeGreaterThanOrEqual(401);
  }
});

it("no lifetime makes a certificate that outlives its authority, or another than is said (security book 56)", async () => {
  for (const certificateTTL of [-1, 1, 599, 600, 2 ** 31, 2 ** 32 + 600, 2 ** 53, 1e300, 600.5]) {
    const asked = await server.ask(`${INSTANCES}/demo/kubeconfig`, {
      body: { spec: { clientCert: true, certificateTTL } },
    });
    expect([201, 400, 422], `${certificateTTL}: ${asked.text}`).toContain(asked.status);
    if (asked.status !== 201) continue;
    expect(certificateTTL).toBeGreaterThanOrEqual(600);
    const { users } = await parse(asked.body.status.kubeConfig);
    const certificate = new X509Certificate(Buffer.from(users[0].user["client-certificate-data"], "base64"));
    const end = new Date(certificate.validTo).getTime();
    expect(end).toBe(new Date(asked.body.status.expirationTimestamp).getTime());
    expect(end).toBeLessThan(Date.now() + 11 * 365 * 86_400_000);
  }
});

it("no name becomes YAML, a command or another member of a kubeconfig (security book 57)", async () => {
  const names = [
    'a"\nusers: []',
    "a: {exec: {command: sh}}",
    "!!js/function 'x'",
    "&a [*a]",
    "a\n- name: b\n  user:\n    exec:\n      command: sh",
    "'",
    '\\"',
    "yes",
    "0x10",
    "null",
    "a\u2028b",
    "a\u0000b",
  ];
  for (const [at, name] of names.entries()) {
    const made = await server.ask(`${PLATFORM}/users`, {
      body: object("User", `odd-${at}`, { subject: name, groups: ["postern:admins"] }),
    });
    const key = made.status === 201 ? await server.newKey(`odd-${at}`, { user: `odd-${at}` }) : server.admin;
    for (const spec of [{ contextName: name }, { clientCert: true }, { server: `https://${name}` }]) {
      const asked = await server.ask(`${INSTANCES}/demo/kubeconfig`, { key, body: { spec } });
      expect([201, 400, 403, 422], `${name}: ${asked.text}`).toContain(asked.status);
      if (asked.status !== 201) continue;
      const config = await parse(asked.body.status.kubeConfig);
      expect([config.clusters.length, config.contexts.length, config.users.length]).toEqual([1, 1, 1]);
      const members = Object.keys(config.users[0].user).sort();
      expect([["token"], ["client-certificate-data", "client-key-data"]]).toContainEqual(members);
      expect(config["current-context"]).toBe(config.contexts[0].name);
      expect(Object.keys(config.contexts[0].context).sort()).toEqual(expect.arrayContaining(["cluster", "user"]));
      expect(new URL(config.clusters[0].cluster.server).protocol).toBe("https:");
    }
  }
  expect((await server.ask(KEYS)).status).toBe(200);
});
