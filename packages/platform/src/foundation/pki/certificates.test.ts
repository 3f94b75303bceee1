// Oracles: the openssl command and @peculiar/x509.

import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createCertificateAuthority } from "./certificate-authority.ts";
import { signServingCertificate } from "./serving-certificate.ts";
import { type ClientCertificateRequest, signClientCertificate } from "./sign-client-certificate.ts";
import { createWorkspace, openssl } from "./testing/openssl.ts";

const { clock, random } = systemRuntime;
const DAY_MS = 86_400_000;
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const authority = createCertificateAuthority({ commonName: "test-ca", clock, random });
const caFile = workspace.write("ca.crt", authority.certificatePem);
const publicKey = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey;
const publicKeyInfo = publicKey.export({ type: "spki", format: "der" });

const signClient = (overrides: Partial<ClientCertificateRequest> = {}) =>
  signClientCertificate({
    authority,
    publicKeyInfo,
    commonName: "jane",
    organizations: ["devs", "ops"],
    notAfter: clock.now() + DAY_MS,
    clock,
    random,
    ...overrides,
  });

describe("a certificate authority", () => {
  it("is one in openssl's eyes", () => {
    const text = openssl("x509", "-in", caFile, "-noout", "-text");
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE/);
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Certificate Sign, CRL Sign/);
    expect(openssl("verify", "-x509_strict", "-CAfile", caFile, caFile)).toContain("OK");
  });

  it("reads back through @peculiar/x509", async () => {
    const certificate = new x509.X509Certificate(authority.certificatePem);
    expect(certificate.subject).toBe("CN=test-ca");
    expect(await certificate.verify({ publicKey: certificate.publicKey })).toBe(true);
  });

  it("may expire after 2049, when the encoding of times changes", () => {
    const old = createCertificateAuthority({ commonName: "x", clock, random, lifetimeMs: 40 * 365 * DAY_MS });
    const file = workspace.write("old.crt", old.certificatePem);
    expect(openssl("x509", "-in", file, "-noout", "-enddate")).toContain(
      String(new Date(old.notAfter).getUTCFullYear()),
    );
  });
});

describe("a client certificate", () => {
  it("verifies only for client authentication", () => {
    const file = workspace.write("client.crt", signClient().pem);
    expect(openssl("verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", caFile, file)).toContain("OK");
    expect(() => openssl("verify", "-purpose", "sslserver", "-CAfile", caFile, file)).toThrow(
      /unsuitable certificate purpose/,
    );
  });

  it("names the user and the groups", () => {
    const file = workspace.write("subject.crt", signClient().pem);
    expect(openssl("x509", "-in", file, "-noout", "-subject", "-nameopt", "RFC2253")).toBe(
      "subject=CN=jane,O=ops,O=devs\n",
    );
  });

  it("is not accepted under another authority of the same name (security book 22)", () => {
    const other = createCertificateAuthority({ commonName: "test-ca", clock, random });
    const file = workspace.write("foreign.crt", signClient({ authority: other }).pem);
    expect(() => openssl("verify", "-CAfile", caFile, file)).toThrow(/verification failed|signature failure/);
  });

  it("carries any name exactly as given", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1, maxLength: 80 }),
        fc.array(fc.string({ unit: "binary" })),
        (name, groups) => {
          const read = new x509.X509Certificate(signClient({ commonName: name, organizations: groups }).pem)
            .subjectName;
          expect(read.getField("CN")).toEqual([name]);
          expect(read.getField("O")).toEqual(groups);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("has a unique serial number, in the form of node:crypto", () => {
    const serials = Array.from({ length: 50 }, () => signClient());
    expect(new Set(serials.map(({ serialNumber }) => serialNumber)).size).toBe(50);
    for (const { pem, serialNumber } of serials) {
      expect(new X509Certificate(pem).serialNumber).toBe(serialNumber);
      expect(serialNumber).toHaveLength(32);
    }
  });

  it("takes the serial that it is given", () => {
    const signed = signClient({ serial: Uint8Array.of(0x80, 1, 2) });
    expect(signed.serialNumber).toBe("800102");
    expect(new X509Certificate(signed.pem).serialNumber).toBe("800102");
  });

  describe("its end (security book 56)", () => {
    it.each([
      ["2^31 seconds", clock.now() + 2 ** 31 * 1000],
      ["the largest safe integer", Number.MAX_SAFE_INTEGER],
      ["no end at all", Number.POSITIVE_INFINITY],
    ])("is cut to the authority's and reports it: %s", (_, notAfter) => {
      const signed = signClient({ notAfter });
      expect(signed.clamped).toBe(true);
      expect(signed.notAfter).toBe(authority.notAfter);
      expect(Date.parse(new X509Certificate(signed.pem).validTo)).toBe(authority.notAfter);
    });

    it.each([
      ["not a number", Number.NaN],
      ["now", clock.now()],
      ["in the past", clock.now() - 1000],
      ["minus infinity", Number.NEGATIVE_INFINITY],
    ])("is refused when it is %s", (_, notAfter) => {
      expect(() => signClient({ notAfter })).toThrow(RangeError);
    });

    it("is reported in whole seconds, as encoded", () => {
      const signed = signClient({ notAfter: clock.now() + DAY_MS });
      expect(signed.clamped).toBe(false);
      expect(Date.parse(new X509Certificate(signed.pem).validTo)).toBe(signed.notAfter);
      expect(Date.parse(new X509Certificate(signed.pem).validFrom)).toBe(signed.notBefore);
    });
  });

  it("refuses an empty name", () => {
    expect(() => signClient({ commonName: "" })).toThrow(RangeError);
  });
});

describe("a serving certificate", () => {
  const sign = (names: readonly string[], key: KeyObject = publicKey) =>
    signServingCertificate({
      authority,
      names,
      clock,
      random,
      publicKey: createPublicKey(key.export({ type: "spki", format: "pem" })),
    });

  it("answers to names and addresses", () => {
    const pem = sign(["localhost", "127.0.0.1", "::1", "2001:db8::1:0:0:1", "::ffff:10.1.2.3", "postern.example.com"]);
    const file = workspace.write("server.crt", pem);
    for (const host of ["localhost", "postern.example.com"]) {
      expect(openssl("verify", "-purpose", "sslserver", "-verify_hostname", host, "-CAfile", caFile, file)).toContain(
        "OK",
      );
    }
    for (const address of ["127.0.0.1", "::1", "2001:db8:0:0:1::1", "::ffff:a01:203"]) {
      expect(openssl("verify", "-purpose", "sslserver", "-verify_ip", address, "-CAfile", caFile, file)).toContain(
        "OK",
      );
    }
    expect(() => openssl("verify", "-verify_hostname", "evil.example.com", "-CAfile", caFile, file)).toThrow(
      /hostname mismatch/i,
    );
  });
});
