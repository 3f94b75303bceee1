// Security book 21 and 22: only a trusted authority, only client usage, and never the printed form of a subject.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readCertificateSubject } from "../x509/certificate.ts";
import { createClientCertificateAuthenticator } from "./client-certificate-authenticator.ts";
import { headerlessRequest } from "./testing/headerless-request.ts";

const pemOf = (name: string): string =>
  readFileSync(new URL(`./testdata/client-certificates/${name}.pem`, import.meta.url), "utf8");
const certificateOf = (name: string): X509Certificate => new X509Certificate(pemOf(name));

const NOW = Date.parse("2030-01-01T00:00:00Z");
const authenticatorAt = (now: number) =>
  createClientCertificateAuthenticator({
    authorities: pemOf("authority"),
    clock: { now: () => now, elapsed: () => now },
  });
const present = (name: string, now = NOW) =>
  authenticatorAt(now).authenticate(headerlessRequest({ peerCertificate: () => certificateOf(name) }));

describe("createClientCertificateAuthenticator", () => {
  it.each([
    ["alice", "alice", ["devs", "ops"]],
    ["multi-valued", "alice", ["devs", "ops"]],
    ["slash-in-name", "alice/O=system:masters", []],
    ["comma-in-name", "alice, O=system:masters", []],
    ["unicode", "zoë", ["größe"]],
  ])("reads %s as user %s in groups %j (security book 21)", async (name, user, groups) => {
    const authentication = await present(name);
    expect(authentication?.user.name).toBe(user);
    expect([...(authentication?.user.groups ?? [])].sort()).toEqual([...groups].sort());
    expect(authentication?.credential?.id).toMatch(/^X509SHA256=[0-9a-f]{64}$/);
  });

  it.each([
    ["two-names", "the subject is ambiguous"],
    ["control-character", "the name holds a line break"],
    ["server-usage", "it is a server's"],
    ["no-usage", "its usage is not told"],
    ["authority-itself", "it may sign others"],
    ["forged", "its issuer only bears the name of the authority"],
    ["other", "another authority signed it"],
  ])("refuses %s because %s (security book 22)", (name) => {
    expect(() => present(name)).toThrow(expect.objectContaining({ code: 401 }));
  });

  it.each(["forged", "other"])("leaves %s to other authenticators where those of unknown CAs pass", (name) => {
    const passing = createClientCertificateAuthenticator({
      authorities: pemOf("authority"),
      clock: { now: () => NOW, elapsed: () => NOW },
      unknown: "pass",
    });
    const request = (of: string) => headerlessRequest({ peerCertificate: () => certificateOf(of) });
    expect([passing.authenticate(request(name)), passing.authenticate(request(name))]).toEqual([undefined, undefined]);
    expect(() => passing.authenticate(request("server-usage"))).toThrow(expect.objectContaining({ code: 401 }));
  });

  it("gives no identity without a certificate or without a common name", async () => {
    expect(await authenticatorAt(NOW).authenticate(headerlessRequest({ peerCertificate: () => undefined }))).toBe(
      undefined,
    );
    expect(await present("no-name")).toBe(undefined);
  });

  it.each([
    ["2020-01-01T00:00:00Z", "before"],
    ["2300-01-01T00:00:00Z", "after"],
  ])("refuses at %s, %s the certificate's time", (time) => {
    expect(() => present("alice", Date.parse(time))).toThrow(expect.objectContaining({ code: 401 }));
  });

  it("looks at the time again on each request of a connection", () => {
    let now = NOW;
    const authenticator = createClientCertificateAuthenticator({
      authorities: pemOf("authority"),
      clock: { now: () => now, elapsed: () => now },
    });
    const certificate = certificateOf("alice");
    const request = headerlessRequest({ peerCertificate: () => certificate });
    expect(authenticator.authenticate(request)).toBeDefined();
    now = Date.parse("2300-01-01T00:00:00Z");
    expect(() => authenticator.authenticate(request)).toThrow(expect.objectContaining({ code: 401 }));
  });

  it("lets the caller resolve the holder of a serial number", async () => {
    const authenticator = createClientCertificateAuthenticator({
      authorities: [pemOf("other-authority"), pemOf("authority")],
      clock: { now: () => NOW, elapsed: () => NOW },
      identify: ({ serialNumber }) => ({ user: { name: serialNumber, groups: [] } }),
    });
    const certificate = certificateOf("alice");
    expect(await authenticator.authenticate(headerlessRequest({ peerCertificate: () => certificate }))).toEqual({
      user: { name: certificate.serialNumber, groups: [] },
    });
  });

  it("refuses to start with an authority that is none", () => {
    const clock = { now: () => NOW, elapsed: () => NOW };
    expect(() => createClientCertificateAuthenticator({ authorities: "", clock })).toThrow(/no certificate authority/);
    expect(() => createClientCertificateAuthenticator({ authorities: pemOf("alice"), clock })).toThrow(
      /is not a certificate authority/,
    );
  });
});

describe("readCertificateSubject", () => {
  it("throws on every certificate that is cut short or has a byte too many", () => {
    const raw = certificateOf("alice").raw;
    for (let length = 0; length < raw.length; length++) {
      expect(() => readCertificateSubject(raw.subarray(0, length))).toThrow(
        expect.objectContaining({ name: "DerError" }),
      );
    }
    expect(() => readCertificateSubject(Buffer.concat([raw, Buffer.from([0])]))).toThrow(/after the element/);
  });

  it("throws nothing but DerError on changed bytes", () => {
    const raw = certificateOf("multi-valued").raw;
    for (let at = 0; at < raw.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const changed = Buffer.from(raw);
        changed.writeUInt8(changed.readUInt8(at) ^ flip, at);
        try {
          readCertificateSubject(changed);
        } catch (error) {
          expect((error as Error).name).toBe("DerError");
        }
      }
    }
  });
});
