// The certificate of a company's PKI: kubectl and the CLI verify it by the kubeconfigs alone, on machines that trust the company nowhere.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
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
  it("gives the CA that it remembers to kubeconfigs of a server that names none", async () => {
    await using server = await startPostern(file("unnamed"), flagsOf());
    const environment = [`HOME=${file("home")}`, NODE, ENTRY];
    const key = parse(read(server.adminKubeconfig)).users[0].user.token;
    await succeed(tool("env", [...environment, "login", server.url, "--ca", pki.root], key));
    const kubeconfig = file("remembered.kubeconfig");
    for (const args of [[], ["--client-cert"], ["--exec"]]) {
      await succeed(tool("env", [...environment, "kubeconfig", "demo", ...args, "--out", kubeconfig]));
      expect(authorityIn(read(kubeconfig))).toBe(read(pki.root));
    }
    await succeed(tool("env", [...environment, "kubeconfig", "demo", "--out", kubeconfig]));
    expect(await succeed(kubectl(kubeconfig, "get", "namespaces", "-o", "name"))).toContain("namespace/default");
  });
});
