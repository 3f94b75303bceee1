import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createWorkspace, openssl, type Workspace } from "../../../../../foundation/pki/testing/openssl.ts";
import { createTenancy, type Tenancy, userOf } from "../../../../../server/testing/tenancy.ts";
import { accessKey } from "../../../../access-keys/testing/access-key.ts";
import { ask, countOf, dump, withTenancy } from "./testing/ask-kubeconfig.ts";

let shared: Tenancy;
beforeAll(async () => {
  shared = await createTenancy();
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

describe("a kubeconfig with a certificate", () => {
  const certificateOf = (body: any) => {
    const { user } = parse(body.status.kubeConfig).users[0];
    return {
      certificate: Buffer.from(user["client-certificate-data"], "base64").toString(),
      key: Buffer.from(user["client-key-data"], "base64").toString(),
      user,
    };
  };
  const authorityOf = async (tenancy: Tenancy, name = "demo"): Promise<string> => {
    const url = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    return (await tenancy.inside(name, { url })).body.data["client-ca-file"];
  };

  it("verifies with openssl, names the requester and its roles, and expires when it was asked to", async () => {
    const before = Date.now();
    const { body, status } = await ask(shared, { spec: { clientCert: true, certificateTTL: 900 } });
    const after = Date.now();
    expect(status).toBe(201);
    const { certificate, key, user } = certificateOf(body);
    expect(Object.keys(user).sort()).toEqual(["client-certificate-data", "client-key-data"]);

    using workspace = createWorkspace();
    const authority = workspace.write("ca.pem", await authorityOf(shared));
    const leaf = workspace.write("leaf.pem", certificate);
    expect(openssl("verify", "-CAfile", authority, "-purpose", "sslclient", leaf)).toContain("OK");
    const keyOfLeaf = openssl("x509", "-in", leaf, "-noout", "-pubkey");
    expect(openssl("pkey", "-in", workspace.write("key.pem", key), "-pubout")).toBe(keyOfLeaf);

    const subject = openssl("x509", "-in", leaf, "-noout", "-subject", "-nameopt", "multiline");
    expect(subject).toContain("alice@example.test");
    expect(subject).toContain("example:user:alice");
    const end = Date.parse(openssl("x509", "-in", leaf, "-noout", "-enddate").replace("notAfter=", ""));
    // Certificates have whole seconds.
    expect(end).toBeGreaterThan(before + 899_000);
    expect(end).toBeLessThanOrEqual(after + 900_000);
    expect(Date.parse(body.status.expirationTimestamp)).toBe(end);
  });

  describe("for a request of the client's", () => {
    /** A key and a request that openssl makes, and what the server answers. */
    async function askFor(workspace: Workspace, algorithm: readonly string[], subject = "/O=system:masters/CN=root") {
      const [key, csr] = [workspace.path("key.pem"), workspace.path("request.pem")];
      openssl("req", "-new", "-nodes", ...algorithm, "-keyout", key, "-subj", subject, "-out", csr);
      const certificateSigningRequest = readFileSync(csr, "utf8");
      return { key, answer: await ask(shared, { spec: { certificateSigningRequest, certificateTTL: 900 } }) };
    }

    it.each([
      ["EC", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]],
      ["RSA", ["-newkey", "rsa:2048"]],
      ["Ed25519", ["-newkey", "ed25519"]],
    ])(
      "names the requester whatever it says, for its key of kind %s, and sends no private key",
      async (_kind, algorithm) => {
        using workspace = createWorkspace();
        const { key, answer } = await askFor(workspace, algorithm);
        expect(answer.status).toBe(201);
        const { user } = parse(answer.body.status.kubeConfig).users[0];
        expect(Object.keys(user)).toEqual(["client-certificate-data"]);
        expect(answer.body.status.kubeConfig).not.toContain("PRIVATE");
        const leaf = workspace.write("leaf.pem", Buffer.from(user["client-certificate-data"], "base64").toString());
        expect(openssl("x509", "-in", leaf, "-noout", "-pubkey")).toBe(openssl("pkey", "-in", key, "-pubout"));
        const subject = openssl("x509", "-in", leaf, "-noout", "-subject", "-nameopt", "multiline");
        expect(subject).toContain("alice@example.test");
        expect(subject).not.toMatch(/root|system:/);
      },
    );

    it.each([
      ["no PEM", "x", "PEM block type must be CERTIFICATE REQUEST"],
      ["a weak key", ["-newkey", "rsa:1024"], "2048"],
      ["an unknown curve", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"], "curve"],
    ])("refuses %s with 422 that names the field", async (_what, made, message) => {
      using workspace = createWorkspace();
      const refused =
        typeof made === "string" ? ask(shared, { spec: { certificateSigningRequest: made } }) : askFor(workspace, made);
      await expect(refused).rejects.toMatchObject({
        code: 422,
        details: { causes: [{ field: "spec.certificateSigningRequest", message: expect.stringContaining(message) }] },
      });
    });

    it("refuses one that its own key has not signed", async () => {
      using workspace = createWorkspace();
      const [key, csr] = [workspace.path("key.pem"), workspace.path("request.pem")];
      openssl(
        "req",
        "-new",
        "-nodes",
        "-newkey",
        "ed25519",
        "-keyout",
        key,
        "-subj",
        "/CN=a",
        "-outform",
        "DER",
        "-out",
        csr,
      );
      const der = readFileSync(csr);
      der[der.length - 1] = (der.at(-1) ?? 0) ^ 1;
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
      const refused = ask(shared, { spec: { certificateSigningRequest: pem } });
      await expect(refused).rejects.toMatchObject({ code: 422, message: expect.stringContaining("its own key") });
    });
  });

  it("carries no group of the system, and of the roles only what the platform gave (security book 29)", async () => {
    const { body } = await ask(shared, {
      spec: { clientCert: true },
      user: userOf("bob", "system:masters", "example:role:cluster-admin"),
    });
    const { subject } = new X509Certificate(certificateOf(body).certificate);
    expect(subject).not.toContain("system:");
    expect(subject).not.toContain("role:");
  });

  it.each(["system:admin", "system:serviceaccount:default:x", "system:anonymous"])(
    "is not made for %s (security book 29)",
    async (name) => {
      const before = await countOf(shared);
      for (const clientCert of [true, false]) {
        const refused = ask(shared, { spec: { clientCert }, user: { name, groups: ["system:authenticated"] } });
        await expect(refused).rejects.toMatchObject({ code: 403 });
      }
      expect(await countOf(shared)).toBe(before);
    },
  );

  it("leaves its private key nowhere in the store, and no request behind", async () => {
    const before = await countOf(shared);
    const { body } = await ask(shared, { spec: { clientCert: true } });
    const { key } = certificateOf(body);
    expect(await countOf(shared)).toBe(before);
    const everything = await dump(shared);
    const lines = key.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
    for (const line of lines) expect(everything).not.toContain(line);
    expect(everything).not.toContain("PRIVATE KEY");
  });

  it("lasts for the signing duration where no end is asked for, and never longer than the authority (security book 56)", async () => {
    const day = 86_400_000;
    const endOf = async (certificateTTL: number) => {
      const { body } = await ask(shared, { spec: { clientCert: true, certificateTTL } });
      const end = Date.parse(new X509Certificate(certificateOf(body).certificate).validTo);
      expect(Date.parse(body.status.expirationTimestamp)).toBe(end);
      return end;
    };
    expect(Math.abs((await endOf(0)) - Date.now() - 365 * day)).toBeLessThan(day);
    const authority = new X509Certificate(await authorityOf(shared));
    expect(await endOf(2_147_483_647)).toBe(Date.parse(authority.validTo));
  });

  it("ends with the key that asked (security book 14)", async () => {
    const expiresAt = Date.now() + 1_000_000;
    shared.keys.set("ending", accessKey({ id: "ending", expiresAt }));
    const { body } = await ask(shared, { credentialId: "ending", spec: { clientCert: true, certificateTTL: 86_400 } });
    expect(Date.parse(body.status.expirationTimestamp)).toBeLessThanOrEqual(expiresAt);
  });

  it("is refused where the key that asked ends before the shortest certificate would (security book 14)", async () => {
    shared.keys.set("last", accessKey({ id: "last", expiresAt: Date.now() + 60_000 }));
    const refused = ask(shared, { credentialId: "last", spec: { clientCert: true } });
    await expect(refused).rejects.toMatchObject({ code: 403, message: expect.stringContaining("600 seconds") });
  });

  it.each(['a"b', "&a *a !!js/function x", "o=a,cn=b", "ü/+,;=<>#", "-----BEGIN CERTIFICATE-----"])(
    "carries the user name %j unchanged, and adds nothing else to the file (security book 57)",
    async (name) => {
      const user = { name, groups: [name, "system:authenticated"] };
      const { body } = await ask(shared, { spec: { clientCert: true }, user });
      const config = parse(body.status.kubeConfig);
      expect(Object.keys(config.users[0].user)).toEqual(["client-certificate-data", "client-key-data"]);
      const { certificate } = certificateOf(body);
      const authentication = await shared.authenticate("demo", new X509Certificate(certificate));
      expect(authentication?.user).toMatchObject({ name, groups: [name] });
    },
  );

  it("is not made for a name with control characters (security book 57)", async () => {
    const user = { name: "a\nexec: {command: x}", groups: ["system:authenticated"] };
    await expect(ask(shared, { spec: { clientCert: true }, user })).rejects.toMatchObject({ code: 403 });
  });

  it("is valid for the cluster that signed it, and no other (security book 22)", async () => {
    await withTenancy({}, async (tenancy) => {
      await tenancy.create("namespaces/p-default/virtualclusterinstances", { metadata: { name: "other" } });
      await tenancy.settled();
      const { body } = await ask(tenancy, { spec: { clientCert: true } });
      const certificate = new X509Certificate(certificateOf(body).certificate);
      const authentication = await tenancy.authenticate("demo", certificate);
      expect(authentication?.user).toMatchObject({
        name: "alice@example.test",
        groups: ["engineers", "example:user:alice", "example:role:cluster-admin"],
      });
      expect(await tenancy.authenticate("other", certificate)).toBeUndefined();
      const listed = await tenancy.inside("demo", { url: "/api/v1/secrets", user: authentication!.user });
      expect(listed.status).toBe(200);
    });
  });
});
