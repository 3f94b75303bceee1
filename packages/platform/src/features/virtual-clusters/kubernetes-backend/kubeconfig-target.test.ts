// Fields that the platform takes from a kubeconfig in a Secret, and those it refuses.

import { describe, expect, test } from "vitest";
import { targetOfKubeconfig } from "./kubeconfig-target.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function kubeConfig(cluster: object, user: object): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://tenant.example.com:6443", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

describe("a kubeconfig", () => {
  test("gives server, trust and credential", () => {
    const text = kubeConfig(
      { "certificate-authority-data": base64("CA"), "tls-server-name": "kubernetes" },
      { token: "abc.def-_==", "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") },
    );
    expect(targetOfKubeconfig(text)).toEqual({
      server: "https://tenant.example.com:6443",
      certificateAuthorityPem: "CA",
      tlsServerName: "kubernetes",
      credential: {
        bearerToken: "abc.def-_==",
        clientCertificate: { certificatePem: "CERT", privateKeyPem: "KEY" },
      },
    });
  });

  test("turns checks off only where configured", () => {
    expect(targetOfKubeconfig(kubeConfig({}, { token: "a" })).insecureSkipTlsVerify).toBeUndefined();
    const insecure = kubeConfig({ "insecure-skip-tls-verify": true }, { token: "a" });
    expect(targetOfKubeconfig(insecure).insecureSkipTlsVerify).toBe(true);
  });

  test.each([
    ["tenant.example.com", "https://tenant.example.com"],
    ["https://tenant.example.com/k8s/c-1/", "https://tenant.example.com/k8s/c-1"],
    ["HTTPS://TENANT.example.com:443", "https://tenant.example.com"],
  ])("names its server as %s", (server, expected) => {
    expect(targetOfKubeconfig(kubeConfig({ server }, { token: "a" })).server).toBe(expected);
  });

  test.each(["https://localhost:8443", "https://127.0.0.1", "https://127.9.9.9:1", "https://[::1]:8443"])(
    "that means a port-forward at %s is reached elsewhere",
    (server) => {
      const elsewhere = "https://web.tenants.svc";
      expect(targetOfKubeconfig(kubeConfig({ server }, { token: "a" }), elsewhere).server).toBe(elsewhere);
      expect(targetOfKubeconfig(kubeConfig({}, { token: "a" }), elsewhere).server).not.toBe(elsewhere);
    },
  );

  test.each([
    ["a file for its authority", { "certificate-authority": "/etc/passwd" }, { token: "a" }],
    ["a file for its token", {}, { tokenFile: "/var/run/secrets/token" }],
    ["a file for its certificate", {}, { "client-certificate": "/a", "client-key": "/b" }],
    ["a program to run", {}, { exec: { command: "sh", args: ["-c", "id"] } }],
    ["a program to run beside a token", {}, { token: "a", exec: { command: "sh" } }],
    ["an auth provider", {}, { "auth-provider": { name: "gcp" } }],
    ["a password", {}, { username: "a", password: "b" }],
    ["a certificate without its key", {}, { "client-certificate-data": base64("CERT") }],
    ["no credential", {}, {}],
    ["a token that would end its header", {}, { token: "a\r\nImpersonate-User: admin" }],
    ["a token with a space", {}, { token: "a b" }],
    ["another scheme", { server: "file:///etc/passwd" }, { token: "a" }],
    ["a password in its server", { server: "https://a:b@tenant.example.com" }, { token: "a" }],
    ["no server", { server: "" }, { token: "a" }],
    ["no URL", { server: "https://" }, { token: "a" }],
  ])("with %s is refused with 502", (_what, cluster, user) => {
    expect(() => targetOfKubeconfig(kubeConfig(cluster, user))).toThrow(
      expect.objectContaining({
        code: 502,
        details: { causes: [expect.objectContaining({ reason: "KubeConfigInvalid" })] },
      }),
    );
  });

  test.each(["", "{", "[]", "a: &a [*a, *a]", "current-context: nowhere"])("that is none is refused: %j", (text) => {
    expect(() => targetOfKubeconfig(text)).toThrow(expect.objectContaining({ code: 502 }));
  });

  test("never shows its credential in a refusal", () => {
    const text = kubeConfig({}, { token: "secret with spaces", password: "secret" });
    expect(() => targetOfKubeconfig(text)).toThrow(expect.not.stringMatching(/secret with/));
    try {
      targetOfKubeconfig(text);
    } catch (error) {
      expect(JSON.stringify(error)).not.toContain("secret with");
    }
  });
});

describe("a kubeconfig of many values", () => {
  test.each([
    ["keys", Array.from({ length: 20_000 }, (_, at) => `k${at}:`).join("\n")],
    ["items", `a: [${"b,".repeat(20_000)}]`],
    ["comments", `${"# a\n".repeat(20_000)}a: b`],
    ["documents", "---\n".repeat(20_000)],
  ])("is refused before it is parsed: %s", (_what, text) => {
    expect(() => targetOfKubeconfig(text)).toThrow(
      expect.objectContaining({
        code: 502,
        details: { causes: [expect.objectContaining({ message: expect.stringContaining("too many values") })] },
      }),
    );
  });

  test("may have long ones", () => {
    const certificate = "CERT".repeat(100_000);
    const text = kubeConfig({ "certificate-authority-data": base64(certificate) }, { token: "a" });
    expect(targetOfKubeconfig(text).certificateAuthorityPem).toBe(certificate);
  });
});
