// Oracles: requests made by the openssl command and by @peculiar/x509. Security book 55.

import { generateKeyPairSync, webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { encodePem } from "@postern/apiserver/x509/pem";
import { afterAll, describe, expect, it } from "vitest";
import { CertificateRequestError, createCertificateRequest, parseCertificateRequest } from "./certificate-request.ts";
import { createWorkspace, openssl } from "./testing/openssl.ts";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let requests = 0;
function opensslRequest(key: readonly string[], ...options: readonly string[]): string {
  const name = `request-${requests++}`;
  const keyFile = workspace.path(`${name}.key`);
  openssl("genpkey", ...key, "-out", keyFile);
  const file = workspace.path(`${name}.csr`);
  openssl("req", "-new", "-key", keyFile, "-out", file, "-subj", "/O=devs/O=ops/CN=jane", ...options);
  return readFileSync(file, "utf8");
}

const EC = (curve: string, ...more: readonly string[]) => [
  "-algorithm",
  "EC",
  "-pkeyopt",
  `ec_paramgen_curve:${curve}`,
  ...more,
];
const RSA = (bits: number, ...more: readonly string[]) => [
  "-algorithm",
  "RSA",
  "-pkeyopt",
  `rsa_keygen_bits:${bits}`,
  ...more,
];

describe("parsing a certificate request", () => {
  it.each([
    ["P-256", EC("P-256"), []],
    ["P-384 with SHA-384", EC("P-384"), ["-sha384"]],
    ["P-521 with SHA-512", EC("P-521"), ["-sha512"]],
    ["RSA 2048", RSA(2048), []],
    ["Ed25519", ["-algorithm", "ED25519"], []],
  ])("accepts %s", (_, key, options) => {
    const request = parseCertificateRequest(opensslRequest(key, ...options));
    expect(request.subject).toEqual({ commonName: "jane", organizations: ["devs", "ops"] });
    expect(request.hasOtherSubjectAttributes).toBe(false);
    expect(request.requestedExtensions).toEqual([]);
    expect(request.publicKey.type).toBe("public");
  });

  it.each([
    ["RSA 1024", RSA(1024), [], /2048 to 8192 bits/],
    ["RSA with exponent 3", RSA(2048, "-pkeyopt", "rsa_keygen_pubexp:3"), [], /exponent/],
    ["a curve outside the list", EC("secp256k1"), [], /curve/],
    [
      "a curve by explicit parameters",
      EC("P-256", "-pkeyopt", "ec_param_enc:explicit"),
      [],
      /curve must be given by name/,
    ],
    ["SHA-1", RSA(2048), ["-sha1"], /signature algorithm/],
    ["Ed448", ["-algorithm", "ED448"], [], /key must be/],
  ])("refuses %s", (_, key, options, message) => {
    const pem = opensslRequest(key, ...options);
    expect(() => parseCertificateRequest(pem)).toThrow(CertificateRequestError);
    expect(() => parseCertificateRequest(pem)).toThrow(message);
  });

  it("passes over the text that openssl may write before it", () => {
    expect(parseCertificateRequest(opensslRequest(EC("P-256"), "-text")).subject.commonName).toBe("jane");
  });

  it("reports asked-for names and other subject attributes", () => {
    const pem = opensslRequest(EC("P-256"), "-subj", "/CN=jane/OU=board", "-addext", "subjectAltName=IP:10.0.0.1");
    const request = parseCertificateRequest(pem);
    expect(request.requestedExtensions).toEqual(["2.5.29.17"]);
    expect(request.hasOtherSubjectAttributes).toBe(true);
  });

  it("refuses a request that another key signed", () => {
    const der = Buffer.from(opensslRequest(EC("P-256")).replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    const spki = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" });
    const at = der.indexOf(spki.subarray(0, 27));
    const swapped = Buffer.concat([der.subarray(0, at), spki, der.subarray(at + spki.length)]);
    expect(() => parseCertificateRequest(encodePem("CERTIFICATE REQUEST", swapped))).toThrow(
      /not signed by its own key/,
    );
  });

  it("refuses every truncation and single-octet change without another kind of error", () => {
    const der = Buffer.from(opensslRequest(EC("P-256")).replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    for (let index = 0; index < der.length; index++) {
      expect(() => parseCertificateRequest(encodePem("CERTIFICATE REQUEST", der.subarray(0, index)))).toThrow(
        CertificateRequestError,
      );
      const flipped = Buffer.from(der);
      flipped[index]! ^= 0x41;
      expect(() => parseCertificateRequest(encodePem("CERTIFICATE REQUEST", flipped))).toThrow(CertificateRequestError);
    }
  });

  it.each([
    ["nothing", ""],
    ["text", "hello"],
    ["another block", encodePem("CERTIFICATE", Buffer.from([0x30, 0]))],
    ["an empty block", encodePem("CERTIFICATE REQUEST", Buffer.alloc(0))],
    ["a huge body", `-----BEGIN CERTIFICATE REQUEST-----\n${"A".repeat(70_000)}\n-----END CERTIFICATE REQUEST-----\n`],
  ])("refuses %s", (_, pem) => {
    expect(() => parseCertificateRequest(pem)).toThrow(CertificateRequestError);
  });

  it("reads what @peculiar/x509 makes", async () => {
    x509.cryptoProvider.set(webcrypto as any);
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const made = await x509.Pkcs10CertificateRequestGenerator.create({
      name: [{ O: ["devs"] }, { CN: ["jane"] }],
      keys: keys as any,
      signingAlgorithm: algorithm,
    });
    expect(parseCertificateRequest(made.toString("pem")).subject).toEqual({
      commonName: "jane",
      organizations: ["devs"],
    });
  });
});

describe("creating a certificate request", () => {
  it("makes one that openssl, @peculiar/x509 and we ourselves accept", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const pem = createCertificateRequest(privateKey, { commonName: "jane", organizations: ["devs", "ops"] });
    const file = workspace.write("own.csr", pem);
    expect(openssl("req", "-in", file, "-noout", "-verify", "-subject", "-nameopt", "RFC2253")).toBe(
      "subject=CN=jane,O=ops,O=devs\n",
    );
    expect(await new x509.Pkcs10CertificateRequest(pem).verify()).toBe(true);
    expect(parseCertificateRequest(pem).subject.commonName).toBe("jane");
  });
});
