import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Parser } from "yaml";
import { KubeconfigError, mergeKubeconfigs, parseKubeconfig, resolveContext } from "./kubeconfig.ts";
import { loadConnection } from "./load-kubeconfig.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-kube-config-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const write = (name: string, text: string) => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

const config = (user: string, cluster = "server: https://a:1") => `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {${cluster}}
contexts:
- name: main
  context: {cluster: c, user: u, namespace: p-default}
current-context: main
users:
- name: u
  user: {${user}}
`;

describe("a kubeconfig", () => {
  it("gives the server, authority and credential of its current context", async () => {
    const path = write(
      "full",
      config(
        "client-certificate-data: Q0VSVA==, client-key-data: S0VZ",
        "server: https://a:1/base, certificate-authority-data: Q0E=, tls-server-name: b",
      ),
    );
    expect(await loadConnection({ path, environment: {} })).toEqual({
      transport: {
        server: "https://a:1/base",
        certificateAuthorityPem: "CA",
        insecureSkipTlsVerify: false,
        tlsServerName: "b",
        clientCertificatePem: "CERT",
        clientKeyPem: "KEY",
      },
      namespace: "p-default",
      contextName: "main",
    });
  });

  it("reads files relative to itself", async () => {
    write("ca.crt", "CA");
    write("token", "secret\n");
    const path = write("files", config("tokenFile: token", "server: https://a, certificate-authority: ca.crt"));
    const connection = await loadConnection({ path, environment: {} });
    expect(connection.token).toBe("secret");
    expect(connection.transport.certificateAuthorityPem).toBe("CA");
  });

  it("is found by KUBECONFIG, a list of which missing files are passed over and the first entry counts", async () => {
    const first = write("first", config("token: one"));
    const second = write("second", config("token: two"));
    const environment = { KUBECONFIG: [join(directory, "missing"), first, second].join(":") };
    expect((await loadConnection({ environment })).token).toBe("one");
  });

  it("is found in the home directory otherwise", async () => {
    await expect(loadConnection({ environment: { HOME: join(directory, "nobody") } })).rejects.toThrow(
      /no kubeconfig found in .*nobody\/\.kube\/config/,
    );
  });

  it.each([
    ["a missing file", { path: "/nowhere/config" }, /cannot read \/nowhere\/config \(ENOENT\)/],
    ["no mapping", { path: write("list", "- a") }, /not a kubeconfig/],
    ["broken YAML", { path: write("broken", "a: [") }, /is not valid YAML/],
    ["aliases", { path: write("alias", "a: &a [1]\nb: *a\n") }, /is not valid YAML/],
    ["an unknown context", { path: write("ok", config("token: x")), context: "other" }, /no context "other"/],
    ["no current context", { path: write("none", "kind: Config") }, /no current context/],
    [
      "bad base64",
      { path: write("b64", config("token: x", "server: https://a, certificate-authority-data: '%%'")) },
      /not base64/,
    ],
    [
      "an exec plugin",
      { path: write("exec", config("exec: {command: sh}")) },
      /authenticates with exec, which is not supported/,
    ],
    ["no server", { path: write("noserver", config("token: x", "server: ''")) }, /no cluster with a server/],
  ])("is refused with %s", async (_, options, message) => {
    const attempt = loadConnection({ environment: {}, ...options });
    await expect(attempt).rejects.toThrow(KubeconfigError);
    await expect(attempt).rejects.toThrow(message);
  });

  it("never shows a credential in an error", () => {
    expect(() => parseKubeconfig('users: [{name: u, user: {token: "hunter2}}', "file")).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining("hunter2") }),
    );
  });

  it.each([
    ["flow", "[".repeat(100_000)],
    ["block", `${"- ".repeat(100_000)}x\nb: c`],
    ["JSON", `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`],
  ])("refuses deep %s before the stack is used for each level", (_, text) => {
    const read = vi.spyOn(Parser.prototype, "next");
    expect(() => parseKubeconfig(text, "file")).toThrow("file is not valid YAML");
    expect(read.mock.calls.length).toBeLessThan(1_000);
    read.mockRestore();
  });

  it("merges by first entry", () => {
    const one = parseKubeconfig(config("token: one"), "one");
    const two = parseKubeconfig(config("token: two").replaceAll("main", "other"), "two");
    const merged = mergeKubeconfigs([one, two]);
    expect(merged.currentContext).toBe("main");
    expect([...merged.contexts.keys()].sort()).toEqual(["main", "other"]);
    expect(resolveContext(merged, "other").user.token).toBe("one");
  });
});
