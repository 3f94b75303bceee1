// The programs that tests run and that Node does not bring: how to find each, the Debian package that has it, and the tests that need it.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export type TestProgram = {
  readonly name: string;
  readonly purpose: string;
  /** Absent: npm brings it, for Linux on x64 only. */
  readonly debianPackage?: string;
  readonly isInstalled: () => boolean;
  /** Found in the source of a test, or of the shared code that it imports, if the test runs the program. */
  readonly use: RegExp;
};

const succeeds = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;
const FAKE_TIME_ROOT = "/usr/lib";
const hasFakeTime = (): boolean =>
  existsSync(FAKE_TIME_ROOT) &&
  readdirSync(FAKE_TIME_ROOT).some((name) => existsSync(join(FAKE_TIME_ROOT, name, "faketime/libfaketime.so.1")));

/** Sorted by name. */
export const TEST_PROGRAMS: readonly TestProgram[] = [
  {
    name: "chromium",
    purpose: "people's browser, for the console and for signing in",
    debianPackage: "chromium",
    isInstalled: () => succeeds("/usr/bin/chromium", "--version"),
    use: /\bstartBrowser\(/,
  },
  {
    name: "curl",
    purpose: "the commands of guides as written",
    debianPackage: "curl",
    isInstalled: () => succeeds("curl", "--version"),
    use: /"curl"|\brunPage\(|\bcurl --/,
  },
  {
    name: "etcd",
    purpose: "the store of several servers",
    debianPackage: "etcd-server",
    isInstalled: () => succeeds("etcd", "--version"),
    use: /\bstartEtcd\(|\brunPage\(/,
  },
  {
    name: "etcdctl",
    purpose: "the guides to etcd as written",
    debianPackage: "etcd-client",
    isInstalled: () => succeeds("etcdctl", "version"),
    use: /\brunPage\(|"etcdctl"/,
  },
  {
    name: "groff",
    purpose: "reads the man pages",
    debianPackage: "groff-base",
    isInstalled: () => succeeds("groff", "--version"),
    use: /"groff"/,
  },
  {
    name: "ip",
    purpose: "cuts the network between servers",
    debianPackage: "iproute2",
    isInstalled: () => succeeds("ip", "-V"),
    use: /"ip", \[?"?netns|\bcreateNetwork\(|\bspawnSync\("ip"/,
  },
  {
    name: "kubectl",
    purpose: "the client of nearly every user",
    debianPackage: "kubernetes-client",
    isInstalled: () => succeeds("kubectl", "version", "--client"),
    use: /"kubectl"|\bkubectlWith\(|\bkubectlSession\(|\bkubectlsOnStores\(|\bkubectlClients\(|\bkubernetesTools\(|Release(s)?\(\)/,
  },
  {
    name: "libfaketime",
    purpose: "sets the clock of one process",
    debianPackage: "libfaketime",
    isInstalled: hasFakeTime,
    use: /\bcreateFakeTime\(/,
  },
  {
    name: "openssl",
    purpose: "certificates and signatures by other software",
    debianPackage: "openssl",
    isInstalled: () => succeeds("openssl", "version"),
    use: /"openssl"|\brunPage\(|\bmakeSelfSigned\(/,
  },
  {
    name: "promtool",
    purpose: "checks metrics, alert rules and the dashboard",
    debianPackage: "prometheus",
    isInstalled: () => succeeds("promtool", "--version"),
    use: /"promtool"/,
  },
  {
    name: "python3-kubernetes",
    purpose: "the Python client of Kubernetes",
    debianPackage: "python3-kubernetes",
    isInstalled: () => succeeds("/usr/bin/python3", "-c", "import kubernetes"),
    use: /\bpythonScript\(/,
  },
  {
    name: "strace",
    purpose: "shows which writes are on the disk, and makes the disk fail",
    debianPackage: "strace",
    isInstalled: () => succeeds("strace", "--version"),
    use: /"strace"|\btraceProcess\(/,
  },
  {
    name: "systemd-analyze",
    purpose: "checks the systemd unit",
    debianPackage: "systemd",
    isInstalled: () => succeeds("systemd-analyze", "--version"),
    use: /"systemd-analyze"/,
  },
  {
    name: "node-24",
    purpose: "the Node of the single executable, from npm for Linux on x64 only",
    isInstalled: () => existsSync(join(import.meta.dirname, "../nodes/node_modules/node-24/bin/node")),
    use: /\bnodeBinary\(/,
  },
];
