import { X509Certificate } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigurationError } from "../config/configuration-error.ts";
import { loadOrCreateAuthority } from "./authority-files.ts";
import { createCertificateAuthority } from "./certificate-authority.ts";
import { readConfiguredCertificate } from "./configured-certificate.ts";
import { createPrivateFile } from "./private-file.ts";
import { createSecret, readSecret } from "./secret-file.ts";
import { loadOrCreateServingCertificate, servingNames } from "./serving-certificate.ts";
import { createWorkspace, type Workspace } from "./testing/openssl.ts";

const DAY_MS = 86_400_000;
const { random } = systemRuntime;
let now: number;
const clock: Clock = { now: () => now, elapsed: () => now };
let workspace: Workspace;
beforeEach(() => {
  now = Date.now();
  workspace = createWorkspace();
});
afterEach(() => workspace[Symbol.dispose]());

const load = () => loadOrCreateAuthority(workspace.path("pki"), { commonName: "test", clock, random });
const read = (name: string) => readFileSync(workspace.path(`pki/${name}`), "utf8");

describe("the files of a certificate authority", () => {
  it("are made once, for the owner alone, and found again", async () => {
    const made = await load();
    expect(readdirSync(workspace.path("pki")).sort()).toEqual(["ca.crt", "ca.key"]);
    expect(statSync(workspace.path("pki/ca.key")).mode & 0o777).toBe(0o600);
    expect(statSync(workspace.path("pki")).mode & 0o777).toBe(0o700);
    const found = await load();
    expect(found.certificatePem).toBe(made.certificatePem);
    expect(found.notAfter).toBe(made.notAfter);
    expect(found.authorityKeyIdentifier).toEqual(made.authorityKeyIdentifier);
  });

  it("are completed with the same key after a start was interrupted between the two", async () => {
    const made = await load();
    unlinkSync(workspace.path("pki/ca.crt"));
    const again = await load();
    expect(again.privateKeyPem).toBe(made.privateKeyPem);
    expect(again.certificate.publicKey.equals(made.certificate.publicKey)).toBe(true);
  });

  it.each([
    ["a certificate without its key", () => unlinkSync(workspace.path("pki/ca.key")), /restore .*ca\.key/],
    [
      "a half-written certificate",
      () => workspace.write("pki/ca.crt", read("ca.crt").slice(0, 100)),
      /not a PEM certificate/,
    ],
    ["an empty certificate", () => workspace.write("pki/ca.crt", ""), /not a PEM certificate/],
    ["a half-written key", () => workspace.write("pki/ca.key", read("ca.key").slice(0, 60)), /not a PEM private key/],
    [
      "a directory in the place of the key",
      () => {
        unlinkSync(workspace.path("pki/ca.key"));
        mkdirSync(workspace.path("pki/ca.key"));
      },
      /EISDIR/,
    ],
  ])("are refused and left alone: %s", async (_, damage, message) => {
    await load();
    damage();
    const before = readdirSync(workspace.path("pki")).sort();
    const certificate = read("ca.crt");
    await expect(load()).rejects.toThrow(ConfigurationError);
    await expect(load()).rejects.toThrow(message);
    expect(readdirSync(workspace.path("pki")).sort()).toEqual(before);
    expect(read("ca.crt")).toBe(certificate);
  });

  it("are refused when they are no pair", async () => {
    await load();
    const other = await loadOrCreateAuthority(workspace.path("other"), { commonName: "x", clock, random });
    workspace.write("pki/ca.key", other.privateKeyPem);
    await expect(load()).rejects.toThrow(/do not match/);
  });

  it("are refused once expired", async () => {
    await load();
    now += 11 * 365 * DAY_MS;
    await expect(load()).rejects.toThrow(/expired at/);
  });

  it.skipIf(process.getuid?.() === 0)("are refused when they may not be read (root reads everything)", async () => {
    await load();
    chmodSync(workspace.path("pki/ca.key"), 0);
    await expect(load()).rejects.toThrow(/EACCES.*readable/);
  });

  it("do not overwrite an existing file", async () => {
    const path = workspace.write("taken", "mine");
    await expect(createPrivateFile(path, "other")).rejects.toThrow(/not overwritten/);
    expect(readFileSync(path, "utf8")).toBe("mine");
  });
});

describe("the files of the serving certificate", () => {
  const names = ["localhost", "127.0.0.1", "::1"];
  const serve = async (wanted: readonly string[] = names) =>
    loadOrCreateServingCertificate(workspace.path("pki"), { authority: await load(), names: wanted, clock, random });

  it("are created once and reused while they are valid", async () => {
    const made = await serve();
    expect(statSync(workspace.path("pki/tls.key")).mode & 0o777).toBe(0o600);
    expect(await serve()).toEqual(made);
  });

  it("are renewed, with the same key, when a third of their life is left", async () => {
    const made = await serve();
    expect(made.renewAt).toBeGreaterThan(now + 200 * DAY_MS);
    now = made.renewAt;
    const renewed = await serve();
    expect(renewed.certificatePem).not.toBe(made.certificatePem);
    expect(renewed.privateKeyPem).toBe(made.privateKeyPem);
    expect(renewed.renewAt).toBeGreaterThan(now);
  });

  it("are made again, with the same key, where the clock was ahead when they were signed", async () => {
    await load();
    const right = now;
    now += 300 * DAY_MS;
    const ahead = await serve();
    expect(ahead.validFrom).toBeGreaterThan(right);
    now = right;
    const made = await serve();
    expect(made.validFrom).toBeLessThanOrEqual(right);
    expect(made.privateKeyPem).toBe(ahead.privateKeyPem);
    expect(await serve()).toEqual(made);
  });

  it("are good where the clock was ahead when the authority was made", async () => {
    const right = now;
    now += 300 * DAY_MS;
    await load();
    now = right;
    expect((await load()).notBefore).toBeLessThan(right);
    expect((await serve()).validFrom).toBeLessThanOrEqual(right);
  });

  it("stay while the authority is not valid yet either", async () => {
    const right = now;
    now += 400 * DAY_MS;
    await load();
    now = right;
    const made = await serve();
    expect(made.validFrom).toBeGreaterThan(right);
    expect(await serve()).toEqual(made);
  });

  it("are renewed for a new name", async () => {
    await serve();
    const { certificatePem } = await serve([...names, "postern.example.com", "192.0.2.7"]);
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.checkHost("postern.example.com")).toBeDefined();
    expect(certificate.checkIP("192.0.2.7")).toBeDefined();
  });

  it("are renewed when the authority is another", async () => {
    await serve();
    unlinkSync(workspace.path("pki/ca.crt"));
    unlinkSync(workspace.path("pki/ca.key"));
    const { certificatePem } = await serve();
    expect(new X509Certificate(certificatePem).verify((await load()).certificate.publicKey)).toBe(true);
  });

  it("are refused when the key is damaged", async () => {
    await serve();
    workspace.write("pki/tls.key", "half");
    await expect(serve()).rejects.toThrow(/tls\.key is not a PEM private key: move it away/);
  });
});

describe("a serving certificate that an operator brings along", () => {
  const bring = async (certificate: string, key: string) =>
    readConfiguredCertificate(workspace.write("my.crt", certificate), workspace.write("my.key", key), clock);
  const make = async () =>
    loadOrCreateServingCertificate(workspace.path("pki"), { authority: await load(), names: ["x"], clock, random });

  it("is used unchanged", async () => {
    const { certificatePem, privateKeyPem } = await make();
    const chain = certificatePem + (await load()).certificatePem;
    expect(await bring(chain, privateKeyPem)).toEqual({ certificatePem: chain, privateKeyPem });
  });

  it("is refused when it is damaged, expired or has another key", async () => {
    const { certificatePem, privateKeyPem } = await make();
    await expect(bring("x", privateKeyPem)).rejects.toThrow(/my\.crt is not a PEM certificate.*--tls-cert-file/);
    await expect(bring(certificatePem, "x")).rejects.toThrow(/my\.key is not .*--tls-private-key-file/);
    await expect(bring(certificatePem, (await load()).privateKeyPem)).rejects.toThrow(/do not match/);
    await expect(readConfiguredCertificate("/nowhere/a", "/nowhere/b", clock)).rejects.toThrow(
      /\/nowhere\/a does not exist/,
    );
    now += 400 * DAY_MS;
    await expect(bring(certificatePem, privateKeyPem)).rejects.toThrow(/expired at .*: renew it/);
  });
});

describe("a secret file", () => {
  const loadSecret = async () =>
    (await readSecret(workspace.path("server.key"), "the server key")) ??
    (await createSecret(workspace.path("server.key"), random));

  it("is made once, for the owner alone, and found again", async () => {
    const secret = await loadSecret();
    expect(secret).toHaveLength(32);
    expect(statSync(workspace.path("server.key")).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await loadSecret())).toEqual(Buffer.from(secret));
  });

  it.each(["", "short", "x".repeat(64), "a".repeat(65)])("is refused and left alone when it holds %j", async (text) => {
    const path = workspace.write("server.key", text);
    await expect(loadSecret()).rejects.toThrow(
      /server\.key does not contain the server key.*restore your separate copy/,
    );
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("is made once by two servers that start at the same time", async () => {
    const outcomes = await Promise.allSettled([loadSecret(), loadSecret()]);
    const secrets = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const kept = Buffer.from(await loadSecret());
    for (const secret of secrets) expect(Buffer.from(secret)).toEqual(kept);
  });
});

describe("serving names", () => {
  it("hold the local names, the bind address and the extra ones, once each", () => {
    const names = servingNames("10.0.0.5", ["Postern.example.com", "postern.example.com", "0:0:0:0:0:0:0:1"]);
    expect(names).toEqual(expect.arrayContaining(["localhost", "127.0.0.1", "10.0.0.5", "postern.example.com"]));
    expect(names.filter((name) => name.toLowerCase() === "postern.example.com")).toHaveLength(1);
    expect(names.filter((name) => name === "::1" || name === "0:0:0:0:0:0:0:1")).toHaveLength(1);
  });

  it("never hold an unspecified address", () => {
    expect(servingNames("0.0.0.0")).not.toContain("0.0.0.0");
    expect(servingNames("::")).not.toContain("::");
  });
});

describe("a file with the certificates of two authorities", () => {
  it("is read as the one that belongs to the key, and as the bundle", async () => {
    const [one, other] = ["one", "other"].map((commonName) =>
      createCertificateAuthority({ commonName, clock, random }),
    );
    if (one === undefined || other === undefined) throw new Error("there are two");
    mkdirSync(workspace.path("pki"));
    const write = (name: string, text: string): void => writeFileSync(workspace.path(`pki/${name}`), text);
    const bundle = one.certificatePem + other.certificatePem;
    write("ca.crt", bundle);
    for (const { privateKeyPem, certificatePem } of [one, other]) {
      write("ca.key", privateKeyPem);
      const loaded = await load();
      expect([loaded.certificatePem, loaded.bundlePem]).toEqual([certificatePem, bundle]);
    }
    write("ca.key", createCertificateAuthority({ commonName: "x", clock, random }).privateKeyPem);
    await expect(load()).rejects.toThrow("do not match");
  });
});
