// Programs and abilities of the system that tests need beside Node: how to find and install each, and which tests need it.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { chromiumPath } from "./chromium-path.ts";

export type TestProgram = {
  readonly name: string;
  readonly purpose: string;
  readonly debianPackage?: string;
  readonly homebrewFormula?: string;
  /** How to get it without a package manager. Absent beside it: npm brings the program. */
  readonly command?: string;
  /** Not available for other systems: its absence there is no failure. */
  readonly isForLinux?: true;
  readonly isInstalled: () => boolean;
  /** Found in the source of a test, or of the shared code that it imports, if the test runs the program. */
  readonly use: RegExp;
};

const succeeds = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;
/** Tests start servers and clients on these beside 127.0.0.1. Linux has the whole network, macOS only the addresses that were added. */
const OTHER_ADDRESSES = ["127.0.0.2", "127.0.0.3"] as const;
const canListenOn = (address: string): boolean =>
  succeeds(
    process.execPath,
    "-e",
    `require("node:net").createServer().on("error", () => process.exit(1)).listen(0, "${address}", () => process.exit(0))`,
  );
const FAKE_TIME_ROOT = "/usr/lib";
const hasFakeTime = (): boolean =>
  existsSync(FAKE_TIME_ROOT) &&
  readdirSync(FAKE_TIME_ROOT).some((name) => existsSync(join(FAKE_TIME_ROOT, name, "faketime/libfaketime.so.1")));

/** Abilities of the system, then programs sorted by name. */
export const TEST_PROGRAMS: readonly TestProgram[] = [
  {
    name: "127.0.0.2 and 127.0.0.3",
    purpose: "several machines on one, by address",
    command: OTHER_ADDRESSES.map((address) => `sudo ifconfig lo0 alias ${address} up`).join(" && "),
    isInstalled: () => OTHER_ADDRESSES.every(canListenOn),
    use: /\b127\.0\.0\.[2-9]\b/,
  },
  {
    name: "/proc",
    purpose: "memory, processor time and open files of a process",
    isForLinux: true,
    isInstalled: () => existsSync("/proc/self/stat"),
    use: /["'`]\/proc\//,
  },
  {
    name: "binaries for Linux on x64",
    purpose: "kubectl and helm of several releases, from npm",
    isForLinux: true,
    isInstalled: () => process.platform === "linux" && process.arch === "x64",
    use: /\bkubernetesTools\(|\bkubectlsOnStores\(|\bkubectlClients\(|\bkubectlSession\(/,
  },
  {
    name: "chromium",
    purpose: "people's browser, for the console and for signing in",
    debianPackage: "chromium",
    homebrewFormula: "--cask chromium",
    // The file alone is not enough: Debian's is a script that needs other programs.
    isInstalled: () => succeeds(chromiumPath(), "--version"),
    use: /\bstartBrowser\(/,
  },
  {
    name: "curl",
    purpose: "the commands of guides as written",
    debianPackage: "curl",
    homebrewFormula: "curl",
    isInstalled: () => succeeds("curl", "--version"),
    use: /"curl"|\brunPage\(|\bcurl --/,
  },
  {
    name: "etcd",
    purpose: "the store of several servers",
    debianPackage: "etcd-server",
    homebrewFormula: "etcd",
    isInstalled: () => succeeds("etcd", "--version"),
    use: /\bstartEtcd\(|\brunPage\(/,
  },
  {
    name: "etcdctl",
    purpose: "the guides to etcd as written",
    debianPackage: "etcd-client",
    homebrewFormula: "etcd",
    isInstalled: () => succeeds("etcdctl", "version"),
    use: /\brunPage\(|"etcdctl"/,
  },
  {
    name: "groff",
    purpose: "reads the man pages",
    debianPackage: "groff-base",
    homebrewFormula: "groff",
    isInstalled: () => succeeds("groff", "--version"),
    use: /"groff"/,
  },
  {
    name: "haproxy",
    purpose: "a load balancer in front of the server",
    debianPackage: "haproxy",
    homebrewFormula: "haproxy",
    isInstalled: () => succeeds("haproxy", "-v"),
    use: /\bstartLoadBalancer\(/,
  },
  {
    name: "ip",
    purpose: "cuts the network between servers",
    debianPackage: "iproute2",
    isForLinux: true,
    isInstalled: () => succeeds("ip", "-V"),
    use: /"ip", \[?"?netns|\bcreateNetwork\(|\bspawnSync\("ip"/,
  },
  {
    name: "kubectl",
    purpose: "the client of nearly every user",
    debianPackage: "kubernetes-client",
    homebrewFormula: "kubernetes-cli",
    isInstalled: () => succeeds("kubectl", "version", "--client"),
    use: /"kubectl"|\bkubectlWith\(|\bkubectlSession\(|\bkubectlsOnStores\(|\bkubectlClients\(|\bkubernetesTools\(|Release(s)?\(\)/,
  },
  {
    name: "libfaketime",
    purpose: "sets the clock of one process",
    debianPackage: "libfaketime",
    isForLinux: true,
    isInstalled: hasFakeTime,
    use: /\bcreateFakeTime\(/,
  },
  {
    name: "openssl",
    purpose: "certificates and signatures by other software",
    debianPackage: "openssl",
    homebrewFormula: "openssl",
    isInstalled: () => succeeds("openssl", "version"),
    use: /"openssl"|\brunPage\(|\bmakeSelfSigned\(/,
  },
  {
    name: "promtool",
    purpose: "checks metrics, alert rules and the dashboard",
    debianPackage: "prometheus",
    homebrewFormula: "prometheus",
    isInstalled: () => succeeds("promtool", "--version"),
    use: /"promtool"/,
  },
  {
    name: "python3-kubernetes",
    purpose: "the Python client of Kubernetes",
    debianPackage: "python3-kubernetes",
    isForLinux: true,
    isInstalled: () => succeeds("/usr/bin/python3", "-c", "import kubernetes"),
    use: /\bpythonScript\(/,
  },
  {
    name: "sha256sum",
    purpose: "checks the sums of a release",
    debianPackage: "coreutils",
    homebrewFormula: "coreutils",
    isInstalled: () => succeeds("sha256sum", "--version"),
    use: /"sha256sum"/,
  },
  {
    name: "strace",
    purpose: "shows which writes are on the disk, and makes the disk fail",
    debianPackage: "strace",
    isForLinux: true,
    isInstalled: () => succeeds("strace", "--version"),
    use: /"strace"|\btraceProcess\(/,
  },
  {
    name: "systemd-analyze",
    purpose: "checks the systemd unit",
    debianPackage: "systemd",
    isForLinux: true,
    isInstalled: () => succeeds("systemd-analyze", "--version"),
    use: /"systemd-analyze"/,
  },
  {
    name: "node-24",
    purpose: "the Node of the single executable, from npm for Linux on x64 only",
    isForLinux: true,
    isInstalled: () => existsSync(join(import.meta.dirname, "../nodes/node_modules/node-24/bin/node")),
    use: /\bnodeBinary\(/,
  },
];
