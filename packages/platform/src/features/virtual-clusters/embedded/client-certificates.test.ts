import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { signClientCertificate } from "../../../foundation/pki/sign-client-certificate.ts";
import { createWorkspace, openssl } from "../../../foundation/pki/testing/openssl.ts";
import { createEmbeddedHost, type EmbeddedHost, signal } from "./testing/embedded-host.ts";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

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

  async function approveAndWait(host: EmbeddedHost, body: object, uid = "one") {
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

  it("signs what was approved: name and groups from the request, everything else from us (security book 55)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const begun = Date.now();
    const signed = await approveAndWait(host, csr({ expirationSeconds: 3600 }));
    const certificate = certificateOf(signed);
    expect(certificate.subject).toBe("O=devs\nCN=dev");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(certificate.ca).toBe(false);
    // Certificates tell whole seconds.
    const signedAt = Date.parse(certificate.validTo) - 3_600_000;
    expect(signedAt).toBeGreaterThan(begun - 1_000);
    expect(signedAt).toBeLessThanOrEqual(Date.now() + 1_000);
    const { request } = createTestContext({ url: "/api" });
    const presented = request.with({ peerCertificate: () => certificate });
    const authentication = await host.backend("one").authenticateCertificate(presented);
    expect(authentication?.user).toEqual({ name: "dev", groups: ["devs"] });
    expect(authentication?.credential?.id).toMatch(/^certificate:[0-9a-f]{64}$/);
    expect(await host.backend("one").authenticateCertificate(request)).toBeUndefined();
  });

  it("signs for a year at most, whatever is asked for (security book 55)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const signed = await approveAndWait(host, csr({ expirationSeconds: 2 ** 31 - 1 }));
    const days = (Date.parse(certificateOf(signed).validTo) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(364);
    expect(days).toBeLessThanOrEqual(365);
  });

  it("refuses a life under ten minutes with 422, and the group of the masters with 403", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const post = (body: object) => host.request("one", { method: "POST", url: CSRS, body });
    await expect(post(csr({ expirationSeconds: 599 }))).rejects.toMatchObject({ code: 422 });
    await expect(post(csr({}, { organizations: ["system:masters"] }))).rejects.toMatchObject({ code: 403 });
  });

  it.each([
    ["a usage that is not for clients", csr({ usages: ["client auth", "server auth"] }), "server auth"],
    ["no usage for clients", csr({ usages: ["digital signature"] }), "client auth"],
    ["no common name", csr({}, { commonName: "" }), "common name"],
  ])("fails what was approved with %s, and reports why", async (_what, body, why) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const failed = await approveAndWait(host, body);
    expect(failed.status.certificate).toBeUndefined();
    const condition = failed.status.conditions.find(({ type }: any) => type === "Failed");
    expect(condition).toMatchObject({ status: "True", reason: "SignerValidationFailure" });
    expect(condition.message).toContain(why);
  });

  /** The request of openssl for CN=jane with these extensions. */
  function requestFor(...extensions: readonly string[]): string {
    using workspace = createWorkspace();
    const [file, key] = [workspace.path("a.csr"), workspace.path("a.key")];
    const asked = extensions.flatMap((extension) => ["-addext", extension]);
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key];
    openssl("req", "-new", ...newKey, "-subj", "/CN=jane", ...asked, "-out", file);
    return readFileSync(file).toString("base64");
  }

  it.each([
    ["basicConstraints", ["basicConstraints=critical,CA:TRUE"]],
    ["keyUsage", ["keyUsage=critical,keyCertSign,digitalSignature"]],
    ["extendedKeyUsage", ["extendedKeyUsage=serverAuth"]],
    ["an otherName", ["subjectAltName=otherName:1.2.3.4;UTF8:text"]],
    ["several extensions", ["basicConstraints=CA:FALSE", "keyUsage=digitalSignature", "extendedKeyUsage=clientAuth"]],
  ])("signs a request that asks for %s, and grants the usual extensions alone", async (_what, extensions) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const signed = await approveAndWait(host, csr({ request: requestFor(...extensions) }));
    const certificate = new X509Certificate(Buffer.from(signed.status.certificate, "base64"));
    expect(certificate.ca).toBe(false);
    expect(certificate.subjectAltName).toBeUndefined();
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(certificate.subject).toBe("CN=jane");
  });

  it.each([
    ["DNS:kubernetes.default.svc", "DNS:kubernetes.default.svc"],
    ["IP:10.0.0.1,IP:fd00::1", "IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1"],
    // In the order in which Go writes them, and without the kinds that it leaves out.
    ["URI:spiffe://a/b,email:a@example.com,RID:1.2.3.4,DNS:x", "DNS:x, email:a@example.com, URI:spiffe://a/b"],
    ["critical,DNS:x,DNS:*.x", "DNS:x, DNS:*.x"],
  ])("signs the names of subjectAltName, as the signer of Kubernetes: %s", async (names, granted) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const signed = await approveAndWait(host, csr({ request: requestFor(`subjectAltName=${names}`) }));
    const certificate = new X509Certificate(Buffer.from(signed.status.certificate, "base64"));
    expect(certificate.subjectAltName).toBe(granted);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    const { request } = createTestContext({ url: "/api" });
    const presented = request.with({ peerCertificate: () => certificate });
    const authentication = await host.backend("one").authenticateCertificate(presented);
    expect(authentication?.user.name).toBe("jane");
  });

  it.each([
    ["an address of two octets", "30:04:87:02:01:02", "IP address of a wrong length"],
    ["a line break in a DNS name", "30:05:82:03:61:0A:62", "characters that are not allowed"],
    ["a NUL in a URI", "30:05:86:03:61:00:62", "characters that are not allowed"],
    ["data behind the names", "30:03:82:01:61:05:00", "malformed"],
    ["another type", "02:01:01", "malformed"],
  ])("does not sign a subjectAltName with %s", async (_what, der, message) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const failed = await approveAndWait(host, csr({ request: requestFor(`subjectAltName=DER:${der}`) }));
    expect(failed.status.certificate).toBeUndefined();
    expect(failed.status.conditions.find(({ type }: any) => type === "Failed").message).toContain(message);
  });

  it("does not sign a weak key (security book 55)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    using workspace = createWorkspace();
    const file = workspace.path("weak.csr");
    openssl(
      "req",
      "-new",
      "-newkey",
      "rsa:1024",
      "-nodes",
      "-keyout",
      workspace.path("weak.key"),
      "-subj",
      "/CN=x",
      "-out",
      file,
    );
    const body = csr({ request: readFileSync(file).toString("base64") });
    const failed = await approveAndWait(host, body);
    expect(failed.status.conditions.find(({ type }: any) => type === "Failed").message).toContain("RSA key");
  });

  it("leaves other signers alone", async () => {
    await using host = await createEmbeddedHost();
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
  ])("%s gives no identity (security book 22)", async (_what, { authority, notAfter }: any) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const own = (await host.clusters.open("one")).authority;
    const clock = { ...systemRuntime.clock, now: () => Date.now() - 10_000_000 };
    const { random } = systemRuntime;
    const ours = authority === undefined ? own : createCertificateAuthority({ commonName: "vc-one-ca", clock, random });
    const { pem } = signClientCertificate({
      authority: ours,
      publicKeyInfo: createPublicKey(privateKey).export({ type: "spki", format: "der" }),
      commonName: "eve",
      organizations: [],
      notAfter: notAfter === undefined ? Date.now() + 1e6 : Date.now() - 1_000_000,
      clock,
      random,
    });
    const { request } = createTestContext({ url: "/api" });
    const presented = request.with({ peerCertificate: () => new X509Certificate(pem) });
    expect(await host.backend("one").authenticateCertificate(presented)).toBeUndefined();
  });
});
