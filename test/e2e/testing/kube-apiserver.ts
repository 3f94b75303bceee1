// A real kube-apiserver as a cluster: on a host of its own, with an etcd, RBAC and a CA. A kube-controller-manager beside the program signs certificates.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type EtcdHost, startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { vi } from "vitest";
import { agentClient } from "./http-client.ts";
import { succeed, tool } from "./postern-process.ts";
import { singleUseAgent } from "./single-use-agent.ts";
import { writeKubeconfig } from "./write-kubeconfig.ts";

export type KubeApiServer = AsyncDisposable & {
  readonly server: string;
  readonly caFile: string;
  /** Path of a kubeconfig of its administrator. */
  readonly kubeconfig: string;
  /** Whether requests for certificates are signed. */
  readonly signs: boolean;
};

const PORT = 6443;
const TOKEN = "administrator-of-the-cluster";
const START = { timeout: 240_000, interval: 200 };

/** `program`: path of a kube-apiserver. The port is that of its own host, where nothing else listens. */
export async function startKubeApiServer(program: string, host: EtcdHost, directory: string): Promise<KubeApiServer> {
  await mkdir(directory, { recursive: true });
  const path = (name: string): string => join(directory, name);
  await makeFiles(path, host.address);
  const etcd = await startEtcd({ hosts: [{ address: "127.0.0.1", run: host.run }], flags: ["--unsafe-no-fsync"] });
  const started: ChildProcess[] = [];
  const run = (file: string, args: readonly string[]): void => {
    const [first = file, ...more] = [...host.run, file, ...args];
    started.push(spawn(first, more, { stdio: "ignore", cwd: directory }));
  };
  const server = `https://${host.address}:${PORT}`;
  const caFile = path("ca.crt");
  const kubeconfig = await writeKubeconfig(path("admin.kubeconfig"), { server, token: TOKEN, caFile });
  run(program, [
    ...["--etcd-servers", etcd.endpoints.map((endpoint) => `http://${endpoint}`).join(",")],
    ...["--secure-port", String(PORT), "--bind-address", host.address, "--advertise-address", host.address],
    ...["--tls-cert-file", path("tls.crt"), "--tls-private-key-file", path("tls.key"), "--client-ca-file", caFile],
    ...["--token-auth-file", path("tokens.csv"), "--authorization-mode", "RBAC"],
    ...["--service-account-issuer", "https://kubernetes.default.svc"],
    ...["--service-account-key-file", path("sa.pub"), "--service-account-signing-key-file", path("sa.key")],
    ...["--encryption-provider-config", path("encryption.yaml")],
    // No controller makes ServiceAccounts for Pods here.
    ...["--service-cluster-ip-range", "10.96.0.0/16", "--disable-admission-plugins", "ServiceAccount"],
  ]);
  const manager = join(dirname(program), "kube-controller-manager");
  const signs = existsSync(manager);
  if (signs) {
    run(manager, [
      ...["--kubeconfig", kubeconfig, "--controllers", "csrsigning,namespace", "--leader-elect=false"],
      ...["--cluster-signing-cert-file", caFile, "--cluster-signing-key-file", path("ca.key"), "--secure-port", "0"],
    ]);
  }
  const ask = agentClient(server, singleUseAgent(await readFile(caFile)));
  await vi.waitFor(async () => {
    const { status, text } = await ask("/readyz", { key: TOKEN });
    if (status !== 200) throw new Error(text);
  }, START);
  return {
    server,
    caFile,
    kubeconfig,
    signs,
    async [Symbol.asyncDispose]() {
      const exits = started.map((child) => new Promise((resolve) => child.once("exit", resolve)));
      for (const child of started) child.kill("SIGKILL");
      await Promise.all(exits.filter((_, at) => started[at]?.exitCode === null));
      await etcd[Symbol.asyncDispose]();
    },
  };
}

async function makeFiles(path: (name: string) => string, address: string): Promise<void> {
  const openssl = (...args: readonly string[]): Promise<string> => succeed(tool("openssl", args));
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const ca = ["-keyout", path("ca.key"), "-out", path("ca.crt")];
  await openssl("req", "-x509", ...key, "-subj", "/CN=cluster-ca", "-days", "2", ...ca);
  const own = ["-keyout", path("tls.key"), "-out", path("tls.csr")];
  await openssl("req", ...key, "-subj", "/CN=kube-apiserver", ...own);
  await writeFile(path("extensions"), `subjectAltName=IP:${address}\nextendedKeyUsage=serverAuth\n`);
  const signer = ["-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial", "-days", "2"];
  const extensions = ["-extfile", path("extensions")];
  await openssl("x509", "-req", "-in", path("tls.csr"), ...signer, ...extensions, "-out", path("tls.crt"));
  await openssl("genrsa", "-out", path("sa.key"), "2048");
  await openssl("rsa", "-in", path("sa.key"), "-pubout", "-out", path("sa.pub"));
  // The Secret of the agent has a credential of the platform.
  const keys = [{ name: "k", secret: randomBytes(32).toString("base64") }];
  const encryption = {
    ...{ apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration" },
    resources: [{ resources: ["secrets"], providers: [{ secretbox: { keys } }] }],
  };
  await writeFile(path("encryption.yaml"), JSON.stringify(encryption), { mode: 0o600 });
  await writeFile(path("tokens.csv"), `${TOKEN},administrator,administrator,"system:masters"\n`, { mode: 0o600 });
}
