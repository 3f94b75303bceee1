// Certificates of a real kube-controller-manager are taken for what they are, and those of another person, key or purpose are not.

import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCertificateRequest, parseCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { createWorkspace, openssl } from "../../../foundation/pki/testing/openssl.ts";
import { checkSignedCertificate, type WantedCertificate } from "./check-signed-certificate.ts";
import recorded from "./testdata/signed-by-kube-controller-manager.json" with { type: "json" };

const clockAt = (now: number): Clock => ({ now: () => now, elapsed: () => now });

describe.each(recorded.cases)("the certificate $id of kube-controller-manager 1.32", (recording) => {
  const { csrPem, certificatePem, kubeApiserverSees } = recording;
  const { publicKey, subject } = parseCertificateRequest(csrPem);
  const wanted: WantedCertificate = { publicKey, ...subject };
  const certificate = new X509Certificate(certificatePem);
  const clock = clockAt(Date.parse(certificate.validFrom) + 300_000);
  const faultOf = (change: Partial<WantedCertificate>) =>
    checkSignedCertificate(certificatePem, { ...wanted, ...change }, clock);

  it("is the one that was asked for, by the names that kube-apiserver reads", () => {
    expect(subject.commonName).toBe(kubeApiserverSees.username);
    const groups = kubeApiserverSees.groups.filter((group) => group !== "system:authenticated");
    expect(new Set(subject.organizations)).toEqual(new Set(groups));
    expect(faultOf({})).toEqual({ notAfter: Date.parse(certificate.validTo) });
    expect(faultOf({ organizations: subject.organizations.toReversed() })).toHaveProperty("notAfter");
  });

  it("is not one for another name, other groups or another key", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey;
    expect(faultOf({ commonName: `${subject.commonName}x` })).toEqual({ fault: "it has another common name" });
    const changed = [[...subject.organizations, "more"], ["other"], subject.organizations.slice(0, -1)];
    for (const organizations of changed.filter((set) => new Set(set).size !== new Set(subject.organizations).size)) {
      expect(faultOf({ organizations })).toEqual({ fault: "it has other organizations" });
    }
    expect(faultOf({ publicKey: other })).toEqual({ fault: "it is for another key" });
  });

  it("is valid until it expires", () => {
    const end = clockAt(Date.parse(certificate.validTo));
    expect(checkSignedCertificate(certificatePem, wanted, end)).toEqual({ fault: "it has expired" });
  });
});

describe("a certificate that openssl signs", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

  /** `subject` as openssl writes it: "+" joins attributes of one relative name. */
  function sign(subject: string, extensions: string, key: KeyObject = privateKey): string {
    const workspace = createWorkspace();
    onTestFinished(() => workspace[Symbol.dispose]());
    const csr = workspace.write("csr.pem", createCertificateRequest(key, { commonName: "alice", organizations: [] }));
    const authorityKey = workspace.path("ca.key");
    const authority = workspace.path("ca.pem");
    const own = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", authorityKey];
    openssl("req", "-x509", ...own, "-subj", "/CN=authority", "-days", "2", "-out", authority);
    const ext = workspace.write("ext.cnf", extensions);
    const by = ["-CA", authority, "-CAkey", authorityKey, "-days", "1", "-extfile", ext];
    return openssl("x509", "-req", "-in", csr, "-subj", subject, ...by);
  }

  const CLIENT = "extendedKeyUsage=clientAuth\nbasicConstraints=critical,CA:FALSE\n";
  const check = (pem: string) =>
    checkSignedCertificate(
      pem,
      { publicKey, commonName: "alice", organizations: ["devs", "ops"] },
      clockAt(Date.now()),
    );

  it.each(["/O=devs+O=ops/CN=alice", "/O=ops/O=devs/CN=alice", "/CN=alice/O=ops+O=devs", "/CN=alice+O=ops/O=devs"])(
    "is taken with the subject %s",
    (subject) => {
      expect(check(sign(subject, CLIENT))).toEqual({ notAfter: expect.any(Number) });
    },
  );

  it.each([
    ["/O=devs+O=ops/CN=bob", CLIENT, "it has another common name"],
    ["/O=devs+O=ops+O=system:masters/CN=alice", CLIENT, "it has other organizations"],
    ["/O=devs/CN=alice", CLIENT, "it has other organizations"],
    ["/O=devs+O=ops/CN=alice+UID=0", CLIENT, "its subject has other attributes"],
    [
      "/O=devs+O=ops/CN=bob/CN=alice",
      CLIENT,
      "its subject or extensions cannot be read: subject has more than one common name",
    ],
    ["/O=devs+O=ops/CN=alice", "extendedKeyUsage=serverAuth\n", "it is not for client authentication"],
    ["/O=devs+O=ops/CN=alice", "basicConstraints=CA:FALSE\n", "it is not for client authentication"],
    ["/O=devs+O=ops/CN=alice", "extendedKeyUsage=clientAuth\nbasicConstraints=CA:TRUE\n", "it is a CA certificate"],
  ])("is refused with the subject %s and %j: %s", (subject, extensions, fault) => {
    expect(check(sign(subject, extensions))).toEqual({ fault });
  });

  it("is refused for another key, and where it is no certificate", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    expect(check(sign("/O=devs+O=ops/CN=alice", CLIENT, other.privateKey))).toEqual({ fault: "it is for another key" });
    expect(check("no certificate")).toEqual({ fault: "it cannot be read" });
  });
});
