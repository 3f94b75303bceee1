// Security book 57. Oracles: the `yaml` library in both versions of YAML, and kubectl where it is installed.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { buildKubeconfig, type KubeconfigParts } from "./kubeconfig.ts";
import { writeYamlScalar } from "./yaml-scalar.ts";

const HOSTILE = [
  "yes",
  "No",
  "ON",
  "off",
  "y",
  "N",
  "true",
  "null",
  "~",
  "=",
  "<<",
  "",
  "1_000",
  "0o7",
  "017",
  "0x1F",
  "1e3",
  ".inf",
  "12:30:45",
  "2001-01-01",
  "+1",
  "1,000",
  "\u0000",
  "\u001b",
  "\u007f",
  "\u0085x",
  "\u2028",
  "\ufeff",
  "\ufffe",
  "😀",
  "ä",
  "\t",
  "\r",
  "tab\tx",
  "a: b",
  "a:",
  ":a",
  "- a",
  "&a",
  "*a",
  "!!js/function 'x'",
  "!!binary aGk=",
  "#c",
  "a #c",
  "'q'",
  '"q"',
  "\\",
  "line\nbreak",
  "a\n    exec:\n      command: sh",
  "a\n---\nkind: Config",
  "  lead",
  "trail ",
  "{a",
  "[a]",
  "| x",
  "> x",
  "? x",
  "%TAG",
  "@x",
  "`x",
  "...",
  "$HOME",
  "long ".repeat(60),
];

const directory = mkdtempSync(join(tmpdir(), "postern-kube-config-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

function kubectlView(text: string): any {
  const file = join(directory, "config");
  writeFileSync(file, text, { mode: 0o600 });
  return JSON.parse(
    execFileSync("kubectl", ["--kubeconfig", file, "config", "view", "--raw", "-o", "json"], { encoding: "utf8" }),
  );
}

const expectedOf = ({ server, credential, namespace, name }: KubeconfigParts) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ cluster: { server }, name }],
  contexts: [{ context: { cluster: name, ...(namespace === undefined ? {} : { namespace }), user: name }, name }],
  "current-context": name,
  preferences: {},
  users: [{ name, user: credential }],
});

describe("a kubeconfig", () => {
  it("has one cluster, one user and one context of one name, and the token on a line of its own", () => {
    const text = buildKubeconfig({
      name: "default-demo",
      server: "https://postern.example.com:8443/kubernetes/project/a/virtualcluster/b",
      certificateAuthorityPem: "-----BEGIN CERTIFICATE-----\n",
      credential: { token: "pst_ab12cd34ef_xyz" },
    });
    expect(text).toBe(`apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
    server: https://postern.example.com:8443/kubernetes/project/a/virtualcluster/b
  name: default-demo
contexts:
- context:
    cluster: default-demo
    user: default-demo
  name: default-demo
current-context: default-demo
preferences: {}
users:
- name: default-demo
  user:
    token: pst_ab12cd34ef_xyz
`);
  });

  it("carries a client certificate and its key", () => {
    const credential = { clientCertificatePem: "CERT", clientKeyPem: "KEY" };
    expect(parse(buildKubeconfig({ name: "default-demo", server: "https://x", credential })).users[0].user).toEqual({
      "client-certificate-data": "Q0VSVA==",
      "client-key-data": "S0VZ",
    });
  });

  it("trusts any server only when the cluster is configured so, and names no authority then", () => {
    const parts = {
      name: "default-demo",
      server: "https://x",
      certificateAuthorityPem: "CA",
      credential: { token: "t" },
    };
    expect(buildKubeconfig(parts)).not.toContain("insecure");
    const { cluster } = parse(buildKubeconfig({ ...parts, insecureSkipTlsVerify: true })).clusters[0];
    expect(cluster).toEqual({ server: "https://x", "insecure-skip-tls-verify": true });
  });

  it.each(["1.1", "1.2"] as const)("reads back as intended in YAML %s whatever its texts are", (version) => {
    const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(text, text, text, text, (server, token, namespace, name) => {
        const parts = { server, credential: { token }, namespace, name };
        expect(parse(buildKubeconfig(parts), { version })).toEqual(expectedOf(parts));
      }),
    );
  });

  it.runIf(hasKubectl)("reads back in kubectl for every hostile text", { timeout: 120_000 }, () => {
    const texts = HOSTILE.filter((text) => text !== "");
    const file = ["apiVersion: v1", "kind: Config", "users:"];
    for (const [index, text] of texts.entries()) {
      file.push(`- name: u${index}`, "  user:", `    token: ${writeYamlScalar(text)}`);
    }
    const { users } = kubectlView(file.join("\n"));
    const byName = new Map(users.map(({ name, user }: any) => [name, user.token]));
    expect(texts.map((_, index) => byName.get(`u${index}`))).toEqual(texts);
    const parts = { server: "https://x:1", credential: { token: HOSTILE.join("") }, name: "a\n  exec: {}" };
    expect(kubectlView(buildKubeconfig(parts))).toEqual({ ...expectedOf(parts), preferences: {} });
  });

  it("replaces half a surrogate pair, which no reader takes", () => {
    expect(writeYamlScalar("a\ud800b")).toBe('"a\\ufffdb"');
  });
});
