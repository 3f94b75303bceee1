// The certificate of a company's PKI: kubectl and the CLI verify it by the kubeconfigs alone, on machines that trust the company nowhere.

import { spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runCommand } from "../../packages/cli/src/testing/run-command.ts";
import { type CompanyPki, makeCompanyPki } from "./testing/company-pki.ts";
import { doctor } from "./testing/doctor.ts";
import {
  ENTRY,
  NODE,
  type Outcome,
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let pki: CompanyPki;
let other: CompanyPki;
const file = (name: string): string => join(directory.path, name);
const read = (path: string): string => readFileSync(path, "utf8");
const flagsOf = (ca?: string): readonly string[] => [
  ...["--tls-cert-file", pki.chain, "--tls-private-key-file", pki.key],
  ...(ca === undefined ? [] : ["--tls-ca-file", ca]),
];
const authorityIn = (kubeconfig: string): string | undefined => {
  const data = parse(kubeconfig).clusters[0].cluster["certificate-authority-data"];
  return data === undefined ? undefined : Buffer.from(data, "base64").toString();
};
let homes = 0;
/** kubectl with a home of its own. */
const kubectl = (kubeconfig: string, ...args: readonly string[]): Promise<Outcome> =>
  tool("env", [`HOME=${file(`kubectl-${++homes}`)}`, "kubectl", "--kubeconfig", kubeconfig, ...args]);

beforeAll(async () => {
  directory = await temporaryDirectory();
  pki = await makeCompanyPki(directory.path, "acme");
  other = await makeCompanyPki(directory.path, "other");
});
afterAll(() => directory?.[Symbol.asyncDispose]());

describe("with --tls-ca-file", () => {
  let server: PosternProcess;
  beforeAll(async () => {
    server = await startPostern(file("data"), flagsOf(pki.root));
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("admin.kubeconfig verifies the platform", async () => {
    expect(authorityIn(read(server.adminKubeconfig))).toBe(read(pki.root));
    expect(await succeed(kubectl(server.adminKubeconfig, "get", "projects", "-o", "name"))).toContain("default");
  });

  it("its CA is rotated where it comes from", async () => {
    const refused = await kubectl(server.adminKubeconfig, "get", "--raw", "/certificateauthority");
    expect(refused.stderr).toContain("its CA is rotated where it comes from");
  });

  it.each([{ role: undefined }, { role: "view" }])(
    "the kubeconfig subresource verifies the virtual cluster (%j)",
    async (spec) => {
      const body = { apiVersion: "management.postern/v1", kind: "VirtualClusterInstanceKubeConfig", spec };
      const path = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
      const request = file("request.json");
      writeFileSync(request, JSON.stringify(body));
      const answer = JSON.parse(await succeed(kubectl(server.adminKubeconfig, "create", "--raw", path, "-f", request)));
      const kubeconfig = file("subresource.kubeconfig");
      writeFileSync(kubeconfig, answer.status.kubeConfig, { mode: 0o600 });
      expect(authorityIn(answer.status.kubeConfig)).toBe(read(pki.root));
      expect(await succeed(kubectl(kubeconfig, "get", "namespaces", "-o", "name"))).toContain("namespace/default");
    },
  );

  it.each([[], ["--client-cert"], ["--exec"]])(
    "postern kubeconfig %s verifies the virtual cluster",
    async (...args) => {
      const kubeconfig = file("cli.kubeconfig");
      const admin = ["--kubeconfig", server.adminKubeconfig];
      await succeed(postern("kubeconfig", "demo", ...args, ...admin, "--out", kubeconfig));
      expect(authorityIn(read(kubeconfig))).toBe(read(pki.root));
      expect(await succeed(kubectl(kubeconfig, "get", "namespaces", "-o", "name"))).toContain("namespace/default");
    },
  );

  it("pods and clusters are shown the CA", async () => {
    const admin = ["--kubeconfig", server.adminKubeconfig];
    const kubeconfig = file("pods.kubeconfig");
    await succeed(postern("kubeconfig", "demo", ...admin, "--out", kubeconfig));
    const map = JSON.parse(await succeed(kubectl(kubeconfig, "get", "cm", "kube-root-ca.crt", "-o", "json")));
    expect(map.data["ca.crt"]).toBe(read(pki.root));
  });

  it("another CA of a renewed certificate replaces it in admin.kubeconfig at the next start", async () => {
    const dataDir = file("renewed");
    {
      await using first = await startPostern(dataDir, flagsOf(pki.root));
      await first.stop();
    }
    const flags = ["--tls-cert-file", other.chain, "--tls-private-key-file", other.key, "--tls-ca-file", other.root];
    await using second = await startPostern(dataDir, flags);
    expect(authorityIn(read(second.adminKubeconfig))).toBe(read(other.root));
  });
});

describe("a CA file", () => {
  const makeFile = (name: string, text: string): string => {
    writeFileSync(file(name), text);
    return file(name);
  };
  const refused: readonly (readonly [what: string, make: () => string, message: RegExp])[] = [
    [
      "of another company",
      () => other.root,
      /other-root\.crt does not verify \S+acme-chain\.crt, issued by .*acme intermediate/,
    ],
    [
      "without a certificate",
      () => makeFile("text", "none"),
      /text contains no PEM certificate: correct --tls-ca-file/,
    ],
  ];
  it.each(refused)("%s is refused at the start, and by the doctor", async (_, make, message) => {
    const flags = flagsOf(make());
    const outcome = await postern(
      "serve",
      "--data-dir",
      file("never"),
      "--store",
      "memory",
      "--secure-port",
      "0",
      ...flags,
    );
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    const { of } = await doctor(file("never"), flags);
    expect(of("certificate authority")).toEqual([
      expect.objectContaining({ status: "error", message: expect.stringMatching(message) }),
    ]);
  });

  it("that is absent counts as none, as the ca.crt of a Secret for a public CA", async () => {
    await using server = await startPostern(file("public"), flagsOf(file("absent")));
    expect(authorityIn(read(server.adminKubeconfig))).toBeUndefined();
    expect(server.output()).toContain("kubeconfigs name no CA");
    const { of } = await doctor(file("public"), flagsOf(file("absent")));
    expect(of("certificate authority")).toEqual([expect.objectContaining({ status: "warning" })]);
  });
});

describe("postern login", () => {
  let server: PosternProcess;
  let own: PosternProcess;
  let key: string;
  let ownKey: string;
  let home: string;
  const keyIn = (path: string): string => parse(read(path)).users[0].user.token;
  beforeAll(async () => {
    // It names no CA, so that kubeconfigs have that of the login.
    server = await startPostern(file("unnamed"), flagsOf());
    own = await startPostern(file("own"));
    key = keyIn(server.adminKubeconfig);
    ownKey = keyIn(own.adminKubeconfig);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    home = file(`home-${++homes}`);
  });
  const cli = (args: readonly string[], input?: string): Promise<Outcome> =>
    tool("env", [`HOME=${home}`, NODE, ENTRY, ...args], input);
  /** On a terminal, which `script` makes; a person types the lines. */
  const onTerminal = (address: string, ...lines: readonly string[]): Promise<Outcome> =>
    tool(
      "env",
      [`HOME=${home}`, "script", "--quiet", "--return", "--command", `${NODE} ${ENTRY} login ${address}`, "/dev/null"],
      lines.map((line) => `${line}\n`).join(""),
    );
  const fingerprintOf = async (path: string): Promise<string> =>
    (await succeed(tool("openssl", ["x509", "-in", path, "-noout", "-fingerprint", "-sha256"]))).trim();
  const hexOf = async (path: string): Promise<string> => (await fingerprintOf(path)).replace(/^.*=/, "");
  const remembered = (): string | undefined => authorityIn(read(join(home, ".config/postern/platforms.yaml")));

  it("gives the CA that it remembers to kubeconfigs of a server that names none", async () => {
    await succeed(cli(["login", server.url, "--ca", pki.root], key));
    const kubeconfig = file("remembered.kubeconfig");
    for (const args of [["--client-cert"], ["--exec"], []]) {
      await succeed(cli(["kubeconfig", "demo", ...args, "--out", kubeconfig]));
      expect(authorityIn(read(kubeconfig))).toBe(read(pki.root));
    }
    expect(await succeed(kubectl(kubeconfig, "get", "namespaces", "-o", "name"))).toContain("namespace/default");
  });

  it.each([
    ["of a company", () => ({ address: server.url, ca: pki.intermediate, secret: key })],
    ["of the server", () => ({ address: own.url, ca: own.caFile, secret: ownKey })],
  ])("without a terminal says the fingerprint of an unknown CA %s, and takes it", async (_, given) => {
    const { address, ca, secret } = given();
    const hex = await hexOf(ca);
    const refused = await cli(["login", address], secret);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(new RegExp(`does not trust.*--ca;.*--ca-fingerprint SHA256:${hex}\n$`));
    for (const written of [`SHA256:${hex}`, await fingerprintOf(ca), hex.replaceAll(":", "").toLowerCase()]) {
      await succeed(cli(["login", address, "--ca-fingerprint", written], secret));
      expect(new X509Certificate(remembered() ?? "").fingerprint256).toBe(hex);
    }
    const kubeconfig = file("pinned.kubeconfig");
    await succeed(cli(["kubeconfig", "demo", "--out", kubeconfig]));
    expect(await succeed(kubectl(kubeconfig, "get", "namespaces", "-o", "name"))).toContain("namespace/default");
  });

  it("takes the fingerprint of the certificate itself as well", async () => {
    await succeed(cli(["login", server.url, "--ca-fingerprint", await hexOf(pki.leaf)], key));
    expect(await succeed(cli(["whoami"]))).toContain("user admin");
  });

  it("refuses a fingerprint that the platform does not present, and text that is none, and remembers nothing", async () => {
    const wrong = await cli(["login", server.url, "--ca-fingerprint", await hexOf(other.root)], key);
    expect(wrong.stderr).toMatch(
      /presents no certificate with the fingerprint SHA256:\S+, but SHA256:\S+ \(CN=platform\)/,
    );
    expect((await cli(["login", server.url, "--ca-fingerprint", "abc"], key)).stderr).toContain(
      "64 hexadecimal digits",
    );
    const both = await cli(["login", server.url, "--ca-fingerprint", "abc", "--ca", pki.root], key);
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be used with option '--ca <file>'"),
    });
    expect(remembered).toThrow(/ENOENT/);
  });

  it("does not trust a stranger that shows the company's CA beside a certificate of its own", async () => {
    const strange = file("strange.crt");
    writeFileSync(strange, read(other.leaf) + read(pki.intermediate));
    await using stranger = await startPostern(file("strange"), [
      "--tls-cert-file",
      strange,
      "--tls-private-key-file",
      other.key,
    ]);
    const refused = await cli(["login", stranger.url, "--ca-fingerprint", await hexOf(pki.intermediate)], key);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/presents no certificate|does not trust/);
  });

  it("refuses another certificate than the remembered CA's, and takes its CA when that is named", async () => {
    const mistaken = await cli(["login", server.url, "--ca", other.root, "--name", "here"], key);
    expect(mistaken.stderr).toMatch(/the CA that was passed with --ca .*--ca-fingerprint SHA256:/);
    await succeed(cli(["login", server.url, "--ca", pki.root, "--name", "here"], key));
    const file = join(home, ".config/postern/platforms.yaml");
    const [right, wrong] = [pki.root, other.root].map((path) => Buffer.from(read(path)).toString("base64"));
    writeFileSync(file, read(file).replace(right ?? "", wrong ?? ""));
    const changed = await cli(["login", "here"], key);
    expect(changed.stderr).toMatch(/that a login remembers did not issue it.*--ca-fingerprint SHA256:/);
    await succeed(cli(["login", "here", "--ca-fingerprint", await hexOf(pki.intermediate)], key));
    expect(await succeed(cli(["whoami"]))).toContain("user admin");
  });

  it("on a terminal ends with Ctrl-D and with Ctrl-C instead of a key", async ({ skip }) => {
    if (spawnSync("script", ["--version"]).status !== 0) return skip("no script makes a terminal here");
    const command = `${NODE} ${ENTRY} login ${own.url} --ca ${own.caFile}`;
    /** Typed at the prompt: before it, the terminal would act on the key by itself. */
    const typed = async (text: string): Promise<{ readonly code: unknown; readonly shown: string }> => {
      const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
        env: { PATH: process.env["PATH"], HOME: home },
        stdio: ["pipe", "pipe", "ignore"],
      });
      const exited = once(child, "exit");
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (part) => (shown += part));
      await expect.poll(() => shown).toMatch(/Access key for /);
      child.stdin.write(text);
      const [code] = await exited;
      return { code, shown };
    };
    const ended = await typed("\u0004");
    expect(ended.shown).toMatch(/Access key for .*no access key/s);
    expect(ended.code).toBe(1);
    expect((await typed("\u0003")).code).not.toBe(0);
    expect(remembered).toThrow(/ENOENT/);
  });

  it("on a terminal shows the fingerprint of an unknown CA, and asks to trust it", async ({ skip }) => {
    if (spawnSync("script", ["--version"]).status !== 0) return skip("no script makes a terminal here");
    const refused = await onTerminal(own.url, "n");
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(`Fingerprint: SHA256:${await hexOf(own.caFile)}`);
    expect(refused.stdout).toContain("not signed in: the certificate of the platform is not trusted");
    expect(remembered).toThrow(/ENOENT/);
    // No key: a terminal shows what is typed before the program asks for it.
    expect((await onTerminal(own.url, "y", "no-key")).stdout).toContain("(401)");
    expect(remembered).toThrow(/ENOENT/);
    const { code, stderr } = await runCommand(["login", own.url], { HOME: home }, ownKey, "y");
    expect(stderr).toContain(`Signed in to ${own.url} as user admin`);
    expect(code).toBe(0);
    expect(remembered()).toBe(read(own.caFile));
    expect(await succeed(cli(["whoami"]))).toContain("user admin");
  });
});
